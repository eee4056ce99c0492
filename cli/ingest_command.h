#pragma once

#include "cli/arguments.h"
#include "server/client.h"

namespace nvmdb::cli {

/// `ingest`: stores each file, tells of each step as it becomes durable, and returns the exit code: done,
/// partly done (something was rejected, or some of several files failed), or that of the failure.
[[nodiscard]] int run_ingest(const Arguments& arguments, server::Client& client);

}  // namespace nvmdb::cli
