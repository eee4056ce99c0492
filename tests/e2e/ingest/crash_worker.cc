#include "ingest/worker/worker.h"
#include "tests/unit/ingest_worker/scripted_decoder.h"

namespace nvmdb::ingest {
namespace {

Status script_or_grib(int fd, const DecodeLimits& limits, FieldSink& sink) {
  return is_script(fd) ? run_script(fd, sink) : decode_grib(fd, limits, sink);
}

/// Part 0 is NetCDF's.
bool warm_up(std::size_t part) {
  if (part > 0) return warm_up_grib(part - 1);
  warm_up_netcdf();
  return true;
}

}  // namespace
}  // namespace nvmdb::ingest

int main(int argument_count, char** arguments) {
  using namespace nvmdb::ingest;
  return run_worker(argument_count, arguments,
                    {.grib = &script_or_grib, .netcdf = &decode_netcdf, .warm_up = &warm_up});
}
