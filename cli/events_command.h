#pragma once

#include "cli/arguments.h"
#include "server/client.h"

namespace nvmdb::cli {

/// `events`: tells of each event, does what is asked for each (--exec, --post), and returns the exit code. When it follows,
/// a server that goes away is waited for, and no event is left out.
[[nodiscard]] int run_events(const Arguments& arguments, server::Client& client);

}  // namespace nvmdb::cli
