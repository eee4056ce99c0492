#pragma once

#include <cstdint>

namespace nvmdb::storage {

// Layout of the root words, in 8-byte words. Words not named are zero and reserved.

/// 1 when the pool was closed cleanly, 0 while it is open or after a crash.
inline constexpr std::uint64_t kCleanShutdownWord = 0;
/// All log records with an epoch at or below this one are covered by checkpoint pages (0: no checkpoint yet).
inline constexpr std::uint64_t kCheckpointEpochWord = 1;
/// First epoch that was never used before the last open; a new session starts at or above it.
inline constexpr std::uint64_t kEpochFloorWord = 2;
/// Number of the last session of the log: raised durably before the session writes anything.
inline constexpr std::uint64_t kLogSessionWord = 3;
/// The words above lie in one line: what an opening stores becomes durable with the session number.
inline constexpr std::uint64_t kOpenWordsBytes = 64;
static_assert((kLogSessionWord + 1) * 8 <= kOpenWordsBytes);
/// The page directory: one word per 2 MiB page, region after region.
inline constexpr std::uint64_t kPageDirectoryWord = 64;

}  // namespace nvmdb::storage
