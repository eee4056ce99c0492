#include "cli/arguments.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  const nvmdb::cli::ParseOutcome outcome = nvmdb::cli::parse_arguments(argc, argv);
  if (outcome.done) return outcome.exit_code;
  if (outcome.arguments.command == nvmdb::cli::Command::Serve)
    return nvmdb::cli::run_serve(outcome.arguments);
  if (outcome.arguments.command == nvmdb::cli::Command::Calibrate)
    return nvmdb::cli::run_calibrate(outcome.arguments);
  if (outcome.arguments.command == nvmdb::cli::Command::Tpcc) return nvmdb::cli::run_tpcc(outcome.arguments);
  return nvmdb::cli::run_command(outcome.arguments);
}
