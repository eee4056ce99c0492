#include "ingest/worker/worker.h"
#include "scripted_decoder.h"

namespace nvmdb::ingest {
namespace {

Status scripted(int fd, const DecodeLimits&, FieldSink& sink) {
  return is_script(fd) ? run_script(fd, sink) : Status::invalid_argument("this worker reads scripts only");
}

bool nothing(std::size_t) {
  return false;
}

}  // namespace
}  // namespace nvmdb::ingest

int main(int argument_count, char** arguments) {
  using namespace nvmdb::ingest;
  return run_worker(argument_count, arguments, {.grib = &scripted, .netcdf = &scripted, .warm_up = &nothing});
}
