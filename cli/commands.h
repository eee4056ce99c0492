#pragma once

#include "cli/arguments.h"

namespace nvmdb::cli {

/// Runs a command and returns the exit code; failures are told in one line on stderr.
[[nodiscard]] int run_command(const Arguments& arguments);
/// `serve`: until SIGTERM or SIGINT.
[[nodiscard]] int run_serve(const Arguments& arguments);
/// `calibrate`: measures the device of a pool that nobody has open.
[[nodiscard]] int run_calibrate(const Arguments& arguments);

/// `check`: reads a pool that nobody has open, and changes nothing.
[[nodiscard]] int run_check(const Arguments& arguments);
/// `tpcc`: the benchmark, in this process.
[[nodiscard]] int run_tpcc(const Arguments& arguments);

}  // namespace nvmdb::cli
