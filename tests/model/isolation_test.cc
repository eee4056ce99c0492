// Goal:   concurrent transactions are strictly serializable, also over kill -9 and recovery, while
//         checkpoints, eviction and collection work.
// Method: list-append histories of 16 clients of a database in another process; see tests/support/isolation.
//         A run in which one of these did not happen fails. Four faults planted in the engine must each be
//         found. NVMDB_ISOLATION_TRANSACTIONS and NVMDB_ISOLATION_SEED make the run longer or another one.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/model/list_append_run.h"
#include "tests/support/settings.h"

namespace nvmdb::test {
namespace {

constexpr std::uint64_t kRound = 100'000;

RunResult run_and_print(const RunOptions& options) {
  const RunResult result = run_list_append(options);
  std::cout << "seed " << options.seed << ": " << result.committed << " committed, " << result.aborted
            << " aborted, " << result.unknown << " unknown, " << result.kills << " kills, "
            << result.work.recoveries << " recoveries, " << result.work.checkpoints << " checkpoints, "
            << result.work.tuples_adopted << " tuples adopted, " << result.work.tuples_evicted << " evicted, "
            << result.work.tuples_moved << " moved, " << result.work.pages_collected << " pages collected; "
            << result.report.edges << " dependencies, " << result.report.anomalies.size() << " anomalies\n";
  return result;
}

/// Else the run has not shown what it is for.
void expect_all_work_done(const RunResult& result) {
  EXPECT_GE(result.kills, 3U);
  EXPECT_GE(result.work.recoveries, 3U);
  EXPECT_GE(result.work.checkpoints, 20U);
  EXPECT_GE(result.work.tuples_adopted, 100U);
  EXPECT_GE(result.work.tuples_evicted, 100U);
  EXPECT_GE(result.work.tuples_moved, 100U);
  EXPECT_GE(result.work.pages_collected, 3U);
}

TEST(Isolation, IsStrictlySerializableOverKills) {
  std::uint64_t left = setting("NVMDB_ISOLATION_TRANSACTIONS", kRound);
  std::uint64_t seed = setting("NVMDB_ISOLATION_SEED", 1);
  for (; left > 0; ++seed) {
    const std::uint64_t round = std::min(left, kRound);
    // Some more, for kills leave commits of which nobody learns.
    const RunResult result =
        run_and_print({.transactions = round + round / 20, .seed = seed, .kill_every = round / 10});
    EXPECT_TRUE(result.report.anomalies.empty()) << result.report.to_string();
    EXPECT_GE(result.report.transactions, round);
    EXPECT_GE(result.report.transactions, result.committed);
    if (round == kRound) expect_all_work_done(result);
    left -= round;
  }
}

/// Runs a broken engine until the check finds it.
void expect_found(const engine::PlantedFaults& faults) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RunResult result = run_and_print({.transactions = 5000, .seed = seed, .faults = faults});
    if (result.report.anomalies.empty()) continue;
    std::cout << result.report.anomalies.front().name << ": " << result.report.anomalies.front().witness
              << "\n";
    return;
  }
  ADD_FAILURE() << "the fault was not found";
}

TEST(Isolation, FindsAnEngineThatDoesNotValidateReads) {
  expect_found({.skip_read_validation = true});
}
TEST(Isolation, FindsAnEngineThatDoesNotValidateLeaves) {
  expect_found({.skip_leaf_validation = true});
}
TEST(Isolation, FindsAnEngineThatUnlocksTooEarly) {
  expect_found({.unlock_before_store = true});
}
TEST(Isolation, FindsAnEngineThatShowsUncommittedRows) {
  expect_found({.store_before_validation = true});
}

}  // namespace
}  // namespace nvmdb::test
