#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace nvmdb::test {

/// Fail points that the engine's process reaches without a server.
[[nodiscard]] inline bool is_engine_point(std::string_view name) {
  constexpr std::array<std::string_view, 8> kParts = {"checkpoint", "close", "commit",   "evict",
                                                      "gc",         "page",  "recovery", "wal"};
  return std::find(kParts.begin(), kParts.end(), name.substr(0, name.find('.'))) != kParts.end();
}

/// Of these, the ones that a server with a few small files reaches by chance only: it has memory enough.
[[nodiscard]] inline bool needs_small_memory(std::string_view name) {
  constexpr std::array<std::string_view, 3> kParts = {"checkpoint", "evict", "gc"};
  constexpr std::array<std::string_view, 9> kNames = {"recovery.overflow", "recovery.page", "recovery.patch",
                                                      "recovery.record",   "recovery.room", "recovery.unlink",
                                                      "wal.release",       "wal.released",  "wal.seal"};
  return std::find(kParts.begin(), kParts.end(), name.substr(0, name.find('.'))) != kParts.end() ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace nvmdb::test
