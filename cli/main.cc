#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "storage/base/fail_point.h"

namespace {

/// Only where fail points are compiled in: NVMDB_FAIL_POINT_LIST=1 prints their names and ends,
/// NVMDB_FAIL_POINT_ARM arms some. True: the program is to end with `exit_code`.
bool answer_fail_points(int& exit_code) {
  if (nvmdb::FailPoint::names().empty()) return false;
  if (std::getenv("NVMDB_FAIL_POINT_LIST") != nullptr) {
    for (const std::string& name : nvmdb::FailPoint::names()) std::printf("%s\n", name.c_str());
    return true;
  }
  const char* order = std::getenv("NVMDB_FAIL_POINT_ARM");
  if (order == nullptr) return false;
  const nvmdb::Status armed = nvmdb::FailPoint::arm(order);
  if (armed.is_ok()) return false;
  std::fprintf(stderr, "nvmdb: %s\n", armed.message().c_str());
  exit_code = nvmdb::cli::kWrongUsage;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  if (answer_fail_points(exit_code)) return exit_code;
  const nvmdb::cli::ParseOutcome outcome = nvmdb::cli::parse_arguments(argc, argv);
  if (outcome.done) return outcome.exit_code;
  if (outcome.arguments.command == nvmdb::cli::Command::Serve)
    return nvmdb::cli::run_serve(outcome.arguments);
  if (outcome.arguments.command == nvmdb::cli::Command::Calibrate)
    return nvmdb::cli::run_calibrate(outcome.arguments);
  if (outcome.arguments.command == nvmdb::cli::Command::Check) return nvmdb::cli::run_check(outcome.arguments);
  if (outcome.arguments.command == nvmdb::cli::Command::Tpcc) return nvmdb::cli::run_tpcc(outcome.arguments);
  return nvmdb::cli::run_command(outcome.arguments);
}
