#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/recorded_media.h"

namespace nvmdb::test {

/// What a recording shows without any crash.
struct TraceLint {
  /// Stores of the acknowledging thread that were not durable at its acknowledgement, and stores of any
  /// thread that are not durable at the end. One line for each source line.
  std::vector<std::string> errors;
  std::uint64_t flushes = 0;
  std::uint64_t fences = 0;
  std::uint64_t useless_flushes = 0;  ///< of clean lines, or again before a fence: performance warnings
  std::uint64_t useless_fences = 0;   ///< with nothing to wait for
};
[[nodiscard]] TraceLint lint_trace(const Recording& recording);

}  // namespace nvmdb::test
