// Goal:   no power cut loses an acknowledged record of the log, or leaves a part of a group, or breaks the
// next start. Method: one to four threads append and commit in a seeded order over several sessions while the
// media records; the
//         power is cut at every fence, acknowledgement and many other events; each state is recovered,
//         compared with the history, used for a new session and recovered again; some of those are cut again.
//         Three bugs planted behind a switch must be found.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <string>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/crash/wal/log_workload.h"
#include "tests/support/crash_states.h"
#include "tests/support/trace_lint.h"

namespace nvmdb::wal {
namespace {

using test::CrashReport;
using test::CrashState;
using test::CrashStates;
using test::RecordedMedia;
using test::Recording;

constexpr std::uint64_t kPages = 6;
#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kStatesDivisor =
    10;  // twenty times slower, and what it looks for is not in the states
#else
constexpr std::uint64_t kStatesDivisor = 1;
#endif

WorkloadOptions workload(std::size_t threads, std::uint64_t seed) {
  WorkloadOptions options;
  options.threads = threads;
  options.seed = seed;
  options.log.streams = static_cast<std::uint32_t>(std::min<std::size_t>(threads, 2));
  options.log.log_bytes_max = kPages * storage::kPageBytes;
  options.log.block_bytes_max = 1024;
  options.log.ring_bytes = 8192;
  options.log.writer_threads = false;
  return options;
}

struct Recorded {
  Recording recording;
  History history;
};

Recorded record(const WorkloadOptions& options, std::vector<std::string> drop_sites = {}) {
  RecordedMedia media({.pages = kPages, .record = true, .drop_sites = std::move(drop_sites)});
  History history = run_workload(media, options);
  return {media.take_recording(), std::move(history)};
}

Epoch covered_of(RecordedMedia& media) {
  return {storage::load_root_number(media.root_words(), storage::kCheckpointEpochWord).value()};
}

/// Appends `count` records in one thread, each durable and acknowledged with an id above all of the history.
std::string commit_more(RecordedMedia& media, const LogOptions& log_options, int count, Epoch* first_epoch) {
  auto pages = storage::PageAllocator::open(media);
  if (!pages.is_ok()) return pages.status().to_string();
  auto reader = LogReader::open(media, **pages);
  if (!reader.is_ok()) return reader.status().to_string();
  EpochClock clock((*reader)->horizon().highest_seen.next());
  *first_epoch = clock.current();
  auto log = Log::start(media, **pages, clock, log_options, reader->get());
  if (!log.is_ok()) return log.status().to_string();
  EpochClock::Slot& slot = *clock.acquire_slot();
  auto appender = std::move((*log)->new_appender()).value();
  for (int i = 0; i < count; ++i) {
    const std::string text = "more " + std::to_string(i);
    if (const Status status = appender->reserve(text.size()); !status.is_ok()) return status.to_string();
    const Epoch epoch = clock.enter_commit(slot);
    std::memcpy(appender->payload(), text.data(), text.size());
    appender->publish(Tid::make(epoch, 1));
    clock.leave_commit(slot);
    if (const Status status = (*log)->wait_durable(epoch); !status.is_ok()) return status.to_string();
    media.ack(1'000'000 + static_cast<std::uint64_t>(i));
  }
  return {};
}

/// The history as a recovery found it, with the groups of commit_more() behind.
History continued(const History& history, std::size_t durable_groups, int count, Epoch first_epoch) {
  History all = history;
  all.groups.resize(durable_groups);
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    all.group_of[1'000'000 + number] = all.groups.size();
    all.groups.push_back({Epoch{first_epoch.value + number}, {"more " + std::to_string(i)}});
  }
  return all;
}

std::string check_log(RecordedMedia& media, const History& history, std::span<const std::uint64_t> acks,
                      std::size_t* durable_groups) {
  auto pages = storage::PageAllocator::open(media);
  if (!pages.is_ok()) return pages.status().to_string();
  const auto reader = LogReader::open(media, **pages);
  if (!reader.is_ok()) return reader.status().to_string();
  return compare(**reader, history, acks, covered_of(media), durable_groups);
}

class Explorer {
 public:
  Explorer(const WorkloadOptions& options, const Recorded& recorded)
      : options_(options), recorded_(recorded) {}

  [[nodiscard]] CrashReport explore(std::uint64_t states) {
    return CrashStates(recorded_.recording, test::crash_options(states)).explore([this](CrashState& state) {
      return check(state);
    });
  }
  [[nodiscard]] std::uint64_t nested_states() const { return nested_states_; }

 private:
  static constexpr int kMore = 3;
  static constexpr std::uint64_t kNestedEvery = 100;

  std::string check(CrashState& state) {
    std::size_t durable = 0;
    if (std::string wrong = check_log(state.media, recorded_.history, state.acks, &durable); !wrong.empty()) {
      return wrong;
    }
    const bool nested = ++checked_ % kNestedEvery == 0;
    if (nested) state.media.start_recording();
    Epoch first_epoch;
    if (std::string wrong = commit_more(state.media, options_.log, kMore, &first_epoch); !wrong.empty()) {
      return "next session: " + wrong;
    }
    const History all = continued(recorded_.history, durable, kMore, first_epoch);
    if (nested) {
      if (std::string wrong = check_nested(state.media.take_recording(), durable, first_epoch);
          !wrong.empty()) {
        return wrong;
      }
    }
    const std::uint64_t last = 1'000'000 + kMore - 1;
    std::string wrong = check_log(state.media, all, std::span(&last, 1), nullptr);
    return wrong.empty() ? wrong : "after the next session: " + wrong;
  }

  /// Cuts the power in the session after the cut. What the first recovery found must still be there.
  std::string check_nested(const Recording& recording, std::size_t durable, Epoch first_epoch) {
    const History all = continued(recorded_.history, durable, kMore, first_epoch);
    const CrashReport report =
        CrashStates(recording, test::crash_options(40)).explore([&](CrashState& state) {
          std::size_t found = 0;
          std::string wrong = check_log(state.media, all, state.acks, &found);
          if (wrong.empty() && found < durable) wrong = "what a recovery had found is gone";
          return wrong;
        });
    nested_states_ += report.states;
    return report.failures == 0 ? "" : "crash after the crash: " + report.to_string();
  }

  const WorkloadOptions& options_;
  const Recorded& recorded_;
  std::uint64_t checked_ = 0;
  std::uint64_t nested_states_ = 0;
};

void expect_sound(const WorkloadOptions& options, std::uint64_t states_wanted) {
  const std::uint64_t states = states_wanted / kStatesDivisor;
  const Recorded recorded = record(options);
  Explorer explorer(options, recorded);
  const CrashReport report = explorer.explore(states);
  std::cout << options.threads << " threads, workload seed " << options.seed << ", "
            << recorded.history.groups.size() << " groups: " << report.to_string() << " and "
            << explorer.nested_states() << " states after a second cut\n";
  EXPECT_EQ(report.failures, 0U) << report.to_string();
  EXPECT_GT(report.states, states / 4);
  EXPECT_EQ(recorded.history.group_of.size(), recorded.history.records);
  const test::TraceLint lint = test::lint_trace(recorded.recording);
  EXPECT_TRUE(lint.errors.empty()) << lint.errors.front();
}

class LogCommit : public testing::TestWithParam<std::size_t> {};

TEST_P(LogCommit, LosesNothingAcknowledgedAtAnyCut) {
  WorkloadOptions options = workload(GetParam(), 10 + GetParam());
  options.sessions = 3;
  options.steps = 25;
  expect_sound(options, 3'500);
}

INSTANTIATE_TEST_SUITE_P(Threads, LogCommit, testing::Values(1, 2, 3, 4));

TEST(LogCommitSegments, LoseNothingWhenSegmentsFillAndAreFreedAndReused) {
  WorkloadOptions options = workload(2, 77);
  options.longest = 300'000;
  options.steps = 60;
  options.sessions = 2;
  options.checkpoints = true;
  options.log.block_bytes_max = 64ULL << 10U;
  options.log.ring_bytes = 1ULL << 20U;
  expect_sound(options, 500);
}

TEST(LogCommitPlanted, FindsEachPlantedBug) {
  for (const PlantedBug bug :
       {PlantedBug::CopyWithoutFlush, PlantedBug::MissingFence, PlantedBug::AcknowledgeBeforeFence}) {
    for (const std::size_t threads : {1U, 2U, 4U}) {
      WorkloadOptions options = workload(threads, 5);
      options.log.planted_bug = bug;
      const Recorded recorded = record(options);
      const CrashReport report =
          CrashStates(recorded.recording, test::crash_options(1'000)).explore([&](CrashState& state) {
            return check_log(state.media, recorded.history, state.acks, nullptr);
          });
      std::cout << "planted bug " << static_cast<int>(bug) << ", " << threads << " threads: seed "
                << report.seed << ", " << report.states << " states, " << report.failures << " failures\n";
      EXPECT_GT(report.failures, 0U) << "bug " << static_cast<int>(bug) << " with " << threads << " threads";
    }
  }
}

// A segment's header is fenced by the thread that prepares it; another thread's fence does not do it.
TEST(LogCommitPlanted, FindsALostFenceOfASegmentHeader) {
  const WorkloadOptions options = workload(3, 21);
  const Recorded whole = record(options);
  std::string header_fence;
  for (const std::string& site : whole.recording.fence_and_flush_sites) {
    if (site.find("log_space.cc") != std::string::npos && header_fence.empty()) header_fence = site;
  }
  ASSERT_FALSE(header_fence.empty());
  const Recorded broken = record(options, {header_fence});
  const CrashReport report =
      CrashStates(broken.recording, test::crash_options(2'000)).explore([&](CrashState& state) {
        return check_log(state.media, broken.history, state.acks, nullptr);
      });
  std::cout << "without " << header_fence << ": seed " << report.seed << ", " << report.states << " states, "
            << report.failures << " failures\n";
  EXPECT_GT(report.failures, 0U);
}

}  // namespace
}  // namespace nvmdb::wal
