#pragma once

#include <cstdint>

#include "engine/database_state.h"
#include "tests/support/isolation/history_checker.h"

namespace nvmdb::test {

struct RunOptions {
  std::uint64_t transactions = 100'000;  ///< committed, at least
  std::uint64_t seed = 1;
  std::uint64_t kill_every =
      0;  ///< committed transactions between kill -9 of the database's process; 0: never
  engine::PlantedFaults faults{};
};

/// What the engine did meanwhile, of all its processes; what a process did in its last milliseconds before a
/// kill is not counted.
struct EngineWork {
  std::uint64_t checkpoints = 0;
  std::uint64_t tuples_adopted = 0;
  std::uint64_t tuples_evicted = 0;
  std::uint64_t tuples_moved = 0;
  std::uint64_t pages_collected = 0;
  std::uint64_t recoveries = 0;  ///< starts that applied records of the log
};

struct RunResult {
  isolation::Report report;
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t kills = 0;
  EngineWork work;
};

/// 16 clients work on lists in a process of its own, which is killed now and then and starts again on the
/// same pool; what they saw is in memory that this process shares, and is checked here. Threads: to be called
/// while the process has one thread (it forks).
[[nodiscard]] RunResult run_list_append(const RunOptions& options);

}  // namespace nvmdb::test
