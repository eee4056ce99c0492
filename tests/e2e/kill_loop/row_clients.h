#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/e2e/kill_loop/row_oracle.h"

namespace nvmdb::test {

struct RowLife {
  std::string armed;  ///< fail points; may be empty
  std::uint64_t commits = 0;
  std::uint64_t seed = 0;
};

/// The engine's process: opens the pool, notes what it finds in the journal, waits until that was checked,
/// runs the clients until `commits` transactions were committed, closes the pool and ends. Memory is scarce,
/// so that rows overflow, are evicted and moved all the time.
[[noreturn]] void live(const std::filesystem::path& pool, RowJournal& journal, const RowLife& life);

}  // namespace nvmdb::test
