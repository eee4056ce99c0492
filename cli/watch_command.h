#pragma once

#include "cli/arguments.h"
#include "server/client.h"

namespace nvmdb::cli {

/// `watch`: stores files as they become complete, until SIGTERM or SIGINT, which let the present file end; a second one
/// does not. Returns the exit code.
[[nodiscard]] int run_watch(const Arguments& arguments, server::Client& client);

}  // namespace nvmdb::cli
