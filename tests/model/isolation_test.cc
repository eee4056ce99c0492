// Goal:   concurrent transactions are strictly serializable, also over kill -9 and recovery, while
// checkpoints, eviction
//         and collection work.
// Method: list-append histories of 16 clients of a database in another process; see tests/support/isolation.
// Four
//         faults planted in the engine must each be found. NVMDB_ISOLATION_TRANSACTIONS and
//         NVMDB_ISOLATION_SEED make the run longer or another one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "tests/model/list_append_run.h"

namespace nvmdb::test {
namespace {

constexpr std::uint64_t kRound = 100'000;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

RunResult run_and_print(const RunOptions& options) {
  const RunResult result = run_list_append(options);
  std::cout << "seed " << options.seed << ": " << result.committed << " committed, " << result.aborted
            << " aborted, " << result.unknown << " unknown, " << result.kills << " kills, "
            << result.checkpoints << " checkpoints; " << result.report.edges << " dependencies, "
            << result.report.anomalies.size() << " anomalies\n";
  return result;
}

TEST(Isolation, IsStrictlySerializableOverKills) {
  std::uint64_t left = setting("NVMDB_ISOLATION_TRANSACTIONS", kRound);
  std::uint64_t seed = setting("NVMDB_ISOLATION_SEED", 1);
  for (; left > 0; ++seed) {
    const std::uint64_t round = std::min(left, kRound);
    const RunResult result = run_and_print({.transactions = round, .seed = seed, .kill_every = round / 10});
    EXPECT_TRUE(result.report.anomalies.empty()) << result.report.to_string();
    EXPECT_GE(result.report.transactions, round * 9 / 10);
    EXPECT_GT(result.kills, 0U);
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
