#pragma once

#include "storage/base/status.h"

namespace nvmdb::ingest {

/// Lets only those system calls through that decoding needs; any other ends the process with
/// kForbiddenCallExit, after telling its number on `channel_descriptor`. Cannot be undone. Errors:
/// PermissionDenied.
[[nodiscard]] Status filter_system_calls(int channel_descriptor);

}  // namespace nvmdb::ingest
