// Goal:   a fence of one thread makes nothing durable that another thread flushed, and the recorder knows.
// Method: a broken group commit: followers store and flush their records, then the leader alone fences and
// all are
//         acknowledged. A recorder that takes each fence for all threads finds nothing wrong; ours must. The
//         right version, where each follower fences, must pass under both.

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <thread>

#include "tests/support/crash_states.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::test {
namespace {

constexpr std::uint64_t kGroups = 20;
constexpr std::uint64_t kFollowers = 3;

std::uint64_t value_of(std::uint64_t record) {
  return record * 0x0101010101010101ULL;
}

Recording commit_groups(bool followers_fence) {
  RecordedMedia media({.pages = 1, .record = true});
  storage::Door& door = media.region(0);
  for (std::uint64_t group = 0; group < kGroups; ++group) {
    for (std::uint64_t follower = 0; follower < kFollowers; ++follower) {
      std::thread([&] {
        const std::uint64_t record = 1 + group * kFollowers + follower;
        door.store8(record * kLineBytes, value_of(record));
        door.flush(record * kLineBytes, 8);
        if (followers_fence) {
          ASSERT_TRUE(door.fence().is_ok());
        }
      }).join();
    }
    EXPECT_TRUE(door.fence().is_ok());
    media.ack((group + 1) * kFollowers);
  }
  return media.take_recording();
}

std::string check_groups(CrashState& state) {
  const std::uint64_t acknowledged = state.acks.empty() ? 0 : state.acks.back();
  for (std::uint64_t record = 1; record <= acknowledged; ++record) {
    if (state.media.region(0).load8(record * kLineBytes) != value_of(record)) {
      return "record " + std::to_string(record) + " was acknowledged and is lost";
    }
  }
  return {};
}

std::uint64_t failures(bool followers_fence, FenceModel fences) {
  const Recording recording = commit_groups(followers_fence);
  CrashOptions options = crash_options(2'000);
  options.fences = fences;
  const CrashReport report = CrashStates(recording, options).explore(check_groups);
  std::cout << report.to_string() << "\n";
  return report.failures;
}

TEST(GroupFence, ALeaderCannotFenceForFollowers) {
  EXPECT_GT(failures(false, FenceModel::PerThread), 0U);
  EXPECT_EQ(failures(false, FenceModel::Global), 0U) << "a global fence should hide this mistake";
}

TEST(GroupFence, EachThreadFencingForItselfIsSound) {
  EXPECT_EQ(failures(true, FenceModel::PerThread), 0U);
  EXPECT_EQ(failures(true, FenceModel::Global), 0U);
}

}  // namespace
}  // namespace nvmdb::test
