#include "ingest/worker/worker.h"

namespace {

/// Part 0 is NetCDF's.
bool warm_up(std::size_t part) {
  if (part > 0) return nvmdb::ingest::warm_up_grib(part - 1);
  nvmdb::ingest::warm_up_netcdf();
  return true;
}

}  // namespace

int main(int argument_count, char** arguments) {
  return nvmdb::ingest::run_worker(
      argument_count, arguments,
      {.grib = &nvmdb::ingest::decode_grib, .netcdf = &nvmdb::ingest::decode_netcdf, .warm_up = &warm_up});
}
