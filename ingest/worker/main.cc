#include "ingest/worker/worker.h"

namespace {

void warm_up() {
  nvmdb::ingest::warm_up_grib();
  nvmdb::ingest::warm_up_netcdf();
}

}  // namespace

int main(int argument_count, char** arguments) {
  return nvmdb::ingest::run_worker(argument_count, arguments,
                                   {.grib = &nvmdb::ingest::decode_grib,
                                    .netcdf = &nvmdb::ingest::decode_netcdf,
                                    .warm_up = &warm_up});
}
