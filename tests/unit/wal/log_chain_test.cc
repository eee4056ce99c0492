#include "wal/log_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nvmdb::wal {
namespace {

/// Builds block lists as scans find them; numbers each stream's blocks within a session.
class Blocks {
 public:
  /// A group with `count` blocks in each of `streams`.
  Blocks& group(std::uint64_t session, std::uint64_t epoch, std::uint64_t previous,
                const std::vector<std::uint32_t>& streams, std::uint32_t count = 1) {
    std::uint64_t mask = 0;
    for (const std::uint32_t stream : streams) mask |= 1ULL << stream;
    for (const std::uint32_t stream : streams) {
      for (std::uint32_t i = 1; i <= count; ++i) {
        const std::uint64_t sequence = next_[session][stream]++;
        const std::uint64_t place = 4096 + 256 * blocks_.size();
        blocks_.push_back({session, epoch, previous, sequence, i == count ? mask : 0, place, 0, stream, 100,
                           i == count ? count : 0});
      }
    }
    return *this;
  }
  /// Takes away the `index`-th block of the group and stream.
  Blocks& lose(std::uint64_t session, std::uint64_t epoch, std::uint32_t stream, std::size_t index = 0) {
    for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
      if (at->session == session && at->epoch == epoch && at->stream == stream && index-- == 0) {
        blocks_.erase(at);
        return *this;
      }
    }
    ADD_FAILURE() << "no such block";
    return *this;
  }
  [[nodiscard]] Result<LogChain> follow(std::uint64_t covered = 0) const {
    std::vector<BlockFound> sorted = blocks_;
    std::reverse(sorted.begin(), sorted.end());
    sort_blocks(sorted);
    return follow_chain(sorted, Epoch{covered});
  }
  [[nodiscard]] std::vector<std::uint64_t> epochs(std::uint64_t covered = 0) const {
    const auto chain = follow(covered);
    EXPECT_TRUE(chain.is_ok()) << chain.status().to_string();
    std::vector<std::uint64_t> found;
    if (chain.is_ok()) {
      for (const GroupFound& group : chain->groups) found.push_back(group.epoch);
    }
    return found;
  }

 private:
  std::vector<BlockFound> blocks_;
  std::uint64_t next_[16][4] = {};
};

using Epochs = std::vector<std::uint64_t>;

TEST(LogChain, IsEmptyForAnEmptyLog) {
  const auto chain = Blocks().follow();
  ASSERT_TRUE(chain.is_ok());
  EXPECT_EQ(chain->durable, Epoch{0});
  EXPECT_EQ(chain->highest_seen, Epoch{0});
}

TEST(LogChain, FollowsGroupsOverEpochsWithoutRecords) {
  EXPECT_EQ(Blocks().group(1, 3, 0, {0}).group(1, 7, 3, {1}).group(1, 8, 7, {0, 1}, 3).epochs(),
            (Epochs{3, 7, 8}));
}

TEST(LogChain, StopsAtAGroupThatLacksAStream) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0}).group(1, 4, 3, {0, 1}).lose(1, 4, 1);
  EXPECT_EQ(blocks.epochs(), (Epochs{3}));
  EXPECT_EQ(blocks.follow()->discarded_blocks, 1U);
  EXPECT_EQ(blocks.follow()->highest_seen, Epoch{4});
}

TEST(LogChain, StopsAtAGroupThatLacksAnyOfItsBlocks) {
  for (std::size_t lost = 0; lost < 4; ++lost) {
    Blocks blocks;
    blocks.group(1, 3, 0, {0, 1}).group(1, 4, 3, {0, 1}, 4).lose(1, 4, 1, lost);
    EXPECT_EQ(blocks.epochs(), (Epochs{3})) << lost;
  }
}

TEST(LogChain, GoesOnWithTheLaterSessionAfterADiscardedGroup) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0}).group(1, 4, 3, {0, 1}).lose(1, 4, 1).group(2, 5, 3, {1}).group(2, 6, 5, {0});
  EXPECT_EQ(blocks.epochs(), (Epochs{3, 5, 6}));
  EXPECT_EQ(blocks.follow()->discarded_blocks, 1U);
}

TEST(LogChain, NeverTakesAGroupThatALaterSessionHadDiscarded) {
  // Both groups are whole, but session 2 began behind epoch 3: it had seen that epoch 4 was not whole.
  EXPECT_EQ(Blocks().group(1, 3, 0, {0}).group(1, 4, 3, {0}).group(2, 5, 3, {0}).epochs(), (Epochs{3, 5}));
  // Also when the group of session 2 is itself torn.
  Blocks torn;
  torn.group(1, 3, 0, {0}).group(1, 4, 3, {0}).group(2, 5, 3, {0, 1}).lose(2, 5, 0);
  EXPECT_EQ(torn.epochs(), (Epochs{3}));
}

TEST(LogChain, SurvivesACrashInTheFirstGroupOfEachSession) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0}).group(1, 4, 3, {0, 1}).lose(1, 4, 0);
  blocks.group(2, 5, 3, {0, 1}).lose(2, 5, 1);
  blocks.group(3, 6, 3, {0, 1}).lose(3, 6, 0);
  EXPECT_EQ(blocks.epochs(), (Epochs{3}));
  blocks.group(4, 7, 3, {1}).group(4, 9, 7, {0});
  EXPECT_EQ(blocks.epochs(), (Epochs{3, 7, 9}));
}

TEST(LogChain, BeginsBehindTheCheckpointWhateverIsLeftOfCoveredGroups) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0}).group(1, 5, 3, {0, 1}).group(1, 9, 5, {0}).group(1, 12, 9, {1});
  EXPECT_EQ(blocks.epochs(9), (Epochs{12}));
  EXPECT_EQ(blocks.epochs(7), (Epochs{9, 12}));
  EXPECT_EQ(blocks.epochs(20), Epochs{});
  EXPECT_EQ(blocks.follow(20)->durable, Epoch{20});
  EXPECT_EQ(blocks.follow(20)->highest_seen, Epoch{20});
  blocks.lose(1, 5, 1).lose(1, 3, 0);
  EXPECT_EQ(blocks.epochs(5), (Epochs{9, 12}));
  EXPECT_EQ(blocks.epochs(7), (Epochs{9, 12}));
}

TEST(LogChain, BeginsBehindACheckpointThatASessionTookOver) {
  // All of session 1 was freed; session 2 began at the checkpoint's epoch, which no group has.
  Blocks blocks;
  blocks.group(2, 12, 10, {0}).group(2, 14, 12, {1});
  EXPECT_EQ(blocks.epochs(10), (Epochs{12, 14}));
}

TEST(LogChain, CallsAHoleBelowALaterGroupCorruption) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0}).group(1, 4, 3, {0, 1}, 3).group(1, 5, 4, {0}).lose(1, 4, 0, 1);
  const auto chain = blocks.follow();
  ASSERT_EQ(chain.status().code(), Code::Corruption);
  // The block before the hole is the first of epoch 4 in stream 0: the second block built.
  EXPECT_NE(chain.status().message().find("epoch 4 "), std::string::npos) << chain.status().message();
  EXPECT_NE(chain.status().message().find("region 0 offset 4352"), std::string::npos)
      << chain.status().message();
}

TEST(LogChain, CallsALostGroupBelowALaterSessionCorruption) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0}).group(1, 4, 3, {0}).group(2, 6, 4, {0, 1}).lose(1, 4, 0).lose(2, 6, 1);
  EXPECT_EQ(blocks.follow().status().code(), Code::Corruption);
  EXPECT_TRUE(blocks.follow(4).is_ok());
}

TEST(LogChain, CallsTheSameBlockTwiceCorruption) {
  Blocks blocks;
  blocks.group(1, 3, 0, {0});
  std::vector<BlockFound> twice = {{1, 3, 0, 0, 1, 256, 0, 0, 10, 1}, {1, 3, 0, 0, 1, 512, 0, 0, 10, 1}};
  EXPECT_EQ(follow_chain(twice, {}).status().code(), Code::Corruption);
}

}  // namespace
}  // namespace nvmdb::wal
