#pragma once

#include <cstdint>

#include "storage/base/result.h"
#include "storage/nvm/door.h"

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


/// Epochs and session numbers as their words hold them: the number in 48 bits, 16 bits of CRC32C over word and number above
/// it, so that a flipped bit does not make the log look covered. 0 stands for itself: never stored.
[[nodiscard]] std::uint64_t encode_root_number(std::uint64_t word, std::uint64_t number);
/// Errors: Corruption (the check bits do not match; the message names the word).
[[nodiscard]] Result<std::uint64_t> load_root_number(const Door& root, std::uint64_t word);
/// One store; needs flush() and fence().
void store_root_number(Door& root, std::uint64_t word, std::uint64_t number, Door::Site site = Door::Site::current());

}  // namespace nvmdb::storage
