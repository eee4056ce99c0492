#pragma once

#include "storage/base/status.h"

namespace nvmdb::cli {

// What the process tells scripts. Fixed: scripts rely on them.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kPartlyDone = 3;
inline constexpr int kTimedOut = 4;
inline constexpr int kUnreachable = 5;
inline constexpr int kRefused = 6;
inline constexpr int kNothingMatches = 7;

/// The exit code for a failure of the database.
[[nodiscard]] constexpr int exit_code_of(Code code) {
  switch (code) {
    case Code::Ok:
      return kDone;
    case Code::NotFound:
      return kNothingMatches;
    case Code::InvalidArgument:
    case Code::Conflict:
    case Code::PermissionDenied:
    case Code::AlreadyExists:
      return kRefused;
    case Code::DeadlineExceeded:
      return kTimedOut;
    case Code::Corruption:
    case Code::IoError:
    case Code::OutOfSpace:
    case Code::Overloaded:
      return kFailed;
  }
  return kFailed;
}

}  // namespace nvmdb::cli
