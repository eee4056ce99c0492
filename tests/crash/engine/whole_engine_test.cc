// Goal:   a power cut at any moment of mixed work on the whole engine loses nothing that was acknowledged, shows no half of
//         anything, and leaves a pool that recovers, also when recovery is cut itself; and each flush and fence is needed.
// Method: see whole_engine.h. NVMDB_CRASH_STATES and NVMDB_CRASH_SEED make it as long as one likes: a million states are
//         a night's work. NVMDB_CRASH_REPLAY=token runs one state again.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "tests/crash/engine/whole_engine.h"
#include "tests/support/settings.h"
#include "tests/support/trace_lint.h"

namespace nvmdb::test {
namespace {

/// A workload in which each of them matters: segments are freed, and continued behind an end that is not empty.
constexpr std::uint64_t kMutationSeed = 1;  ///< NVMDB_MUTATION_SEED: another one

TEST(CrashWholeEngine, MixedWorkSurvivesAnyPowerCut) {
  for (const MixedShape& shape : {kMixedInDram, kMixedInNvm}) {
    const CrashOptions options = crash_options(7000);
    const std::vector<MixedOperation> operations = mixed_operations(shape, options.seed);
    const MixedRecording recorded = record_mixed(shape, operations, {});
    ASSERT_EQ(recorded.failure, "") << shape.name;
    EXPECT_EQ(lint_log_restart(recorded.recording), "") << shape.name;
    EXPECT_GT(recorded.pages_collected, 0U) << shape.name;
    EXPECT_GT(recorded.segments_reused, 0U) << shape.name;
    const CrashReport report = CrashStates(recorded.recording, options).explore([&](CrashState& state) {
      return check_mixed(state, shape, operations, {.depth = 3, .one_in = 64, .states = 12});
    });
    std::cout << shape.name << ": " << report.to_string() << "\n";
    EXPECT_EQ(report.failures, 0U);
    EXPECT_GT(report.states, options.states_max / 3);
  }
}

/// How the loss of a flush or fence shows, or "".
std::string find_fault(const MixedShape& shape, const std::vector<MixedOperation>& operations, const std::string& site,
                       std::uint64_t states, const MixedNesting& nesting) {
  const MixedRecording recorded = record_mixed(shape, operations, {site});
  if (!recorded.failure.empty()) return recorded.failure;
  if (std::string wrong = lint_log_restart(recorded.recording); !wrong.empty()) return wrong;
  // Overflow pages are not durable by design.
  if (shape.tuple_percent != 0) {
    const TraceLint lint = lint_trace(recorded.recording);
    if (!lint.errors.empty()) return lint.errors.front();
  }
  CrashOptions options;
  options.states_max = states;
  options.stop_at_failure = true;
  const CrashReport report = CrashStates(recorded.recording, options).explore([&](CrashState& state) {
    return check_mixed(state, shape, operations, nesting);
  });
  return report.failures > 0 ? report.first_failures.front().message : "";
}

/// Mutation score: each place that flushes or fences is switched off in turn.
TEST(CrashWholeEngine, FlushesAndFencesAreNeeded) {
  std::set<std::string> sites;
  std::set<std::string> caught;
  for (const MixedShape& shape : {kMixedInDram, kMixedInNvm}) {
    const std::vector<MixedOperation> operations = mixed_operations(shape, setting("NVMDB_MUTATION_SEED", kMutationSeed));
    const MixedRecording whole = record_mixed(shape, operations, {});
    ASSERT_EQ(whole.failure, "");
    if (shape.tuple_percent != 0) {
      EXPECT_TRUE(lint_trace(whole.recording).errors.empty()) << lint_trace(whole.recording).errors.front();
    }
    for (const std::string& site : whole.recording.fence_and_flush_sites) {
      sites.insert(site);
      if (caught.contains(site)) continue;
      // The order of checkpoint word and freed segments matters at the few moments when a segment is freed.
      const std::uint64_t states = site.find("engine/checkpointer") == std::string::npos ? 600 : 5000;
      std::string how = find_fault(shape, operations, site, states, {.depth = 1, .one_in = 1, .states = 0});
      // A fault in the opening shows at the next opening but one, if the first group of the session was torn.
      if (how.empty()) {
        const std::vector<MixedOperation> few(operations.begin(), operations.begin() + 4);
        how = find_fault(shape, few, site, 600, {.depth = 2, .one_in = 2, .states = 30});
      }
      if (how.empty()) continue;
      caught.insert(site);
      std::cout << "without " << site << ": " << how << "\n";
    }
  }
  std::size_t missed = 0;
  for (const std::string& site : sites) {
    if (caught.contains(site)) continue;
    ++missed;
    std::cout << "not caught: " << site << "\n";
  }
  std::cout << "mutation score: " << sites.size() - missed << " of " << sites.size() << " places\n";
  EXPECT_GE((sites.size() - missed) * 100, sites.size() * 95);
}

}  // namespace
}  // namespace nvmdb::test
