#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "ingest/ingestor.h"
#include "server/client.h"

namespace nvmdb::cli {

/// What became of a file.
struct FileOutcome {
  int exit_code = 0;
  Status why;  ///< of a file that was not stored at all
};
/// Stores one file and tells of it, as `ingest` does.
[[nodiscard]] FileOutcome ingest_file(const std::string& file, const Arguments& arguments, server::Client& client);
/// The exit code of several files: `worst` so far and that of one more.
[[nodiscard]] int combine_exit_codes(int worst, int code);

/// `ingest`: stores each file, tells of each step as it becomes durable, and returns the exit code: done,
/// partly done (something was rejected, or some of several files failed), or that of the failure.
[[nodiscard]] int run_ingest(const Arguments& arguments, server::Client& client);

/// What is told of one variable, or message, that was not stored.
struct RejectionLine {
  std::string where;
  std::string reason;       ///< of the first one
  std::uint64_t count = 0;  ///< rejections that it stands for
};
/// One line for all levels of a variable that were rejected one after the other.
[[nodiscard]] std::vector<RejectionLine> rejection_lines(const std::vector<ingest::Rejection>& rejections);

}  // namespace nvmdb::cli
