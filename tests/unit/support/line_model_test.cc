// The recorder decides what every crash test can find, so its model is tested against sets written down by
// hand.

#include "tests/support/line_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/crash_states.h"
#include "tests/support/recorded_media.h"
#include "tests/support/trace_lint.h"

namespace nvmdb::test {
namespace {

using Words = std::vector<std::uint64_t>;

/// All contents that words 0 .. count-1 of region 0 may have when the power fails after `work`.
std::set<Words> outcomes(std::uint64_t count, const std::function<void(storage::Door&)>& work) {
  RecordedMedia media({.pages = 1, .record = true});
  work(media.region(0));
  const Recording recording = media.take_recording();
  std::set<Words> seen;
  CrashStates states(recording, {.states_max = 100'000, .random_points = 0});
  const std::string end = "1:" + std::to_string(recording.events.size()) + ":enum-";
  for (std::uint64_t number = 0; number < 256; ++number) {
    const auto outcome = states.replay(end + std::to_string(number), [&](CrashState& state) {
      Words words;
      for (std::uint64_t word = 0; word < count; ++word)
        words.push_back(state.media.region(0).load8(word * 8));
      seen.insert(words);
      return std::string();
    });
    EXPECT_TRUE(outcome.is_ok());
  }
  return seen;
}

TEST(LineModel, StoresOfOneLineReachTheMediaInOrder) {
  EXPECT_EQ(outcomes(2,
                     [](storage::Door& door) {
                       door.store8(0, 1);
                       door.store8(8, 2);
                       door.store8(0, 3);
                     }),
            (std::set<Words>{{0, 0}, {1, 0}, {1, 2}, {3, 2}}));
}

TEST(LineModel, LinesAreIndependent) {
  const auto seen = outcomes(9, [](storage::Door& door) {
    door.store8(0, 1);
    door.store8(64, 2);
  });
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const Words& words : seen) pairs.emplace(words[0], words[8]);
  EXPECT_EQ(pairs, (std::set<std::pair<std::uint64_t, std::uint64_t>>{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(LineModel, NontemporalUnitsComeInAnyOrder) {
  const std::uint64_t values[2] = {1, 2};
  EXPECT_EQ(
      outcomes(2, [&](storage::Door& door) { door.copy_nontemporal(0, std::as_bytes(std::span(values))); }),
      (std::set<Words>{{0, 0}, {1, 0}, {0, 2}, {1, 2}}));
}

TEST(LineModel, ACopyIsNotOrderedInItselfButAgainstOtherStores) {
  const std::uint64_t values[2] = {1, 2};
  EXPECT_EQ(outcomes(3,
                     [&](storage::Door& door) {
                       door.copy(0, std::as_bytes(std::span(values)));
                       door.store8(16, 3);
                     }),
            (std::set<Words>{{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {1, 2, 0}, {1, 2, 3}}));
}

TEST(LineModel, AFenceKeepsWhatWasFlushedBeforeItAndNoLaterStore) {
  EXPECT_EQ(outcomes(2,
                     [](storage::Door& door) {
                       door.store8(0, 1);
                       door.flush(0, 8);
                       door.store8(8, 2);
                       ASSERT_TRUE(door.fence().is_ok());
                     }),
            (std::set<Words>{{1, 0}, {1, 2}}));
}

TEST(LineModel, AFlushCoversItsWholeLineAndNoOther) {
  EXPECT_EQ(outcomes(9,
                     [](storage::Door& door) {
                       door.store8(56, 1);
                       door.store8(64, 2);
                       door.flush(0, 64);
                       ASSERT_TRUE(door.fence().is_ok());
                     }),
            (std::set<Words>{{0, 0, 0, 0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 1, 2}}));
}

TEST(LineModel, AFenceOfAnotherThreadKeepsNothing) {
  EXPECT_EQ(outcomes(1,
                     [](storage::Door& door) {
                       std::thread([&] {
                         door.store8(0, 1);
                         door.flush(0, 8);
                       }).join();
                       ASSERT_TRUE(door.fence().is_ok());
                     }),
            (std::set<Words>{{0}, {1}}));
}

TEST(LineModel, AFlushWritesBackStoresOfAllThreads) {
  EXPECT_EQ(outcomes(1,
                     [](storage::Door& door) {
                       std::thread([&] { door.store8(0, 1); }).join();
                       door.flush(0, 8);
                       ASSERT_TRUE(door.fence().is_ok());
                     }),
            (std::set<Words>{{1}}));
}

TEST(LineModel, ADurableStoreHidesOlderOnesOfTheSameWord) {
  const std::uint64_t older = 1;
  EXPECT_EQ(outcomes(1,
                     [&](storage::Door& door) {
                       door.copy_nontemporal(0, std::as_bytes(std::span(&older, 1)));
                       door.store8(0, 2);
                       std::thread([&] {
                         door.flush(0, 8);
                         ASSERT_TRUE(door.fence().is_ok());
                       }).join();
                     }),
            (std::set<Words>{{2}}));
}

TEST(LineModel, PartsOfAWordAreStoredAlone) {
  const std::uint16_t low = 0x1111;
  EXPECT_EQ(outcomes(1,
                     [&](storage::Door& door) {
                       door.copy(0, std::as_bytes(std::span(&low, 1)));
                       door.copy(4, std::as_bytes(std::span(&low, 1)));
                     }),
            (std::set<Words>{{0}, {0x1111}, {0x111100001111}}));
}

TEST(TraceLint, NamesTheStoreThatWasNotDurableAtItsAcknowledgement) {
  RecordedMedia media({.pages = 1, .record = true});
  storage::Door& door = media.region(0);
  door.store8(0, 1);
  door.flush(0, 8);
  ASSERT_TRUE(door.fence().is_ok());
  media.ack(1);
  door.flush(0, 8);
  ASSERT_TRUE(door.fence().is_ok());
  ASSERT_TRUE(door.fence().is_ok());
  door.store8(8, 1);
  const int line = __LINE__ - 1;
  media.ack(2);
  const TraceLint lint = lint_trace(media.take_recording());
  ASSERT_EQ(lint.errors.size(), 1U);
  EXPECT_EQ(lint.errors[0], "tests/unit/support/line_model_test.cc:" + std::to_string(line) +
                                ": stored and not durable at acknowledgement 2");
  EXPECT_EQ(lint.flushes, 2U);
  EXPECT_EQ(lint.useless_flushes, 1U);
  EXPECT_EQ(lint.useless_fences, 2U);
}

TEST(RecordedMedia, UndoesAllStoresOfACheck) {
  RecordedMedia media({.pages = 1});
  media.region(0).store8(0, 1);
  media.keep_undo();
  media.region(0).fill(0, 100'000, std::byte{9});
  media.root_words().store8(8, 9);
  media.region(0).store8(0, 8);
  media.roll_back();
  EXPECT_EQ(media.region(0).load8(0), 1U);
  EXPECT_EQ(media.region(0).load8(8), 0U);
  EXPECT_EQ(media.root_words().load8(8), 0U);
}

TEST(RecordedMedia, RecordsARecoveryInsideACheck) {
  RecordedMedia media({.pages = 1, .record = true});
  media.region(0).store8(0, 1);
  const Recording recording = media.take_recording();
  std::uint64_t nested = 0;
  const CrashReport report = CrashStates(recording, {}).explore([&](CrashState& state) {
    state.media.start_recording();
    state.media.region(0).store8(64, 5);
    const Recording recovery = state.media.take_recording();
    nested += CrashStates(recovery, {}).explore([](CrashState&) { return std::string(); }).states;
    return std::string();
  });
  EXPECT_EQ(report.states, 2U);
  EXPECT_EQ(nested, 4U);
}

TEST(RecordedMediaDeathTest, NoticesAStoreAroundTheDoors) {
  RecordedMedia media({.pages = 1, .record = true});
  const_cast<std::byte*>(media.region(0).data())[5] = std::byte{1};
  EXPECT_DEATH((void)media.take_recording(), "a store went around the doors: area 1 block 0");
}

}  // namespace
}  // namespace nvmdb::test
