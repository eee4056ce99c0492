#include <algorithm>
#include <cstring>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/unit/wal/log_rig.h"
#include "wal/log_format.h"
#include "wal/log_scan.h"

namespace nvmdb::wal {
namespace {

using test::RecordedMedia;
using Records = std::vector<std::string>;

std::vector<BlockFound> blocks_of(RecordedMedia& media) {
  const auto pages = storage::PageAllocator::open(media);
  auto scan = scan_log(media, **pages, {});
  EXPECT_TRUE(scan.is_ok()) << scan.status().to_string();
  return std::move(scan).value().blocks;
}

std::vector<BlockFound> blocks_of(RecordedMedia& media, std::uint64_t epoch) {
  std::vector<BlockFound> blocks = blocks_of(media);
  std::erase_if(blocks, [&](const BlockFound& block) { return block.epoch != epoch; });
  return blocks;
}

void flip(RecordedMedia& media, const BlockFound& block, std::uint64_t byte) {
  const std::byte old = media.bytes(block.region + 1)[block.offset + byte];
  const std::byte flipped = old ^ std::byte{0x10};
  media.poke(block.region + 1, block.offset + byte, std::span(&flipped, 1));
}

Bytes copy_of(RecordedMedia& media, const BlockFound& block) {
  const ByteSpan bytes =
      media.bytes(block.region + 1).subspan(block.offset, sizeof(BlockHeader) + block.payload_bytes);
  return {bytes.begin(), bytes.end()};
}

void put_back(RecordedMedia& media, const BlockFound& block, const Bytes& bytes) {
  media.poke(block.region + 1, block.offset, bytes);
}

Records sorted(Records records) {
  std::sort(records.begin(), records.end());
  return records;
}

/// Three groups: "one" in stream 0, "two" in stream 1, and one in both streams with several blocks in each.
struct ThreeGroups {
  explicit ThreeGroups(RecordedMedia& media) {
    LogOptions options = quiet_options(2);
    options.block_bytes_max = 512;
    LogSession session(media, options);
    Worker a(session);
    Worker b(session);
    Tid tid;
    EXPECT_TRUE(a.append("one", &tid).is_ok());
    EXPECT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
    first = tid.epoch();
    EXPECT_TRUE(b.append("two", &tid).is_ok());
    EXPECT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
    second = tid.epoch();
    EXPECT_TRUE(a.append(std::string(900, 'a'), &tid).is_ok());
    EXPECT_TRUE(b.append(std::string(700, 'b'), &tid).is_ok());
    EXPECT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
    third = tid.epoch();
  }
  Epoch first, second, third;
};

TEST(LogReader, FindsNothingInAnEmptyPool) {
  RecordedMedia media;
  const auto reader = std::move(reopen(media)).value();
  EXPECT_EQ(reader->horizon().durable, Epoch{0});
  EXPECT_EQ(reader->horizon().highest_seen, Epoch{0});
  EXPECT_EQ(reader->stream_count(), 0U);
}

TEST(LogReader, ReadsAllGroupsOfAnUndamagedLog) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  const auto reader = std::move(reopen(media)).value();
  EXPECT_EQ(reader->horizon().durable, groups.third);
  EXPECT_EQ(reader->horizon().highest_seen, groups.third);
  EXPECT_EQ(reader->horizon().discarded_blocks, 0U);
  EXPECT_EQ(reader->horizon().blocks, blocks_of(media).size());
  EXPECT_EQ(records_of(*reader), (Records{"one", std::string(900, 'a'), "two", std::string(700, 'b')}));
}

// Every 8 bytes of every block of the last group: a tear there discards the whole group, in both streams.
TEST(LogReader, DiscardsTheLastGroupTornAtAnyPlace) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  const auto last = blocks_of(media, groups.third.value);
  ASSERT_GE(last.size(), 5U);
  for (const BlockFound& block : last) {
    for (std::uint64_t byte = 0; byte < sizeof(BlockHeader) + block.payload_bytes; byte += 8) {
      flip(media, block, byte);
      const auto reader = reopen(media);
      ASSERT_TRUE(reader.is_ok()) << reader.status().to_string();
      ASSERT_EQ((*reader)->horizon().durable, groups.second)
          << "block at " << block.offset << " byte " << byte;
      ASSERT_EQ((*reader)->horizon().discarded_blocks, last.size() - 1);
      ASSERT_EQ(records_of(**reader), (Records{"one", "two"}));
      flip(media, block, byte);
    }
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 4U);
}

TEST(LogReader, DoesNotMindDamageInThePaddingOfABlock) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  for (const BlockFound& block : blocks_of(media)) {
    const std::uint64_t end = sizeof(BlockHeader) + block.payload_bytes;
    if (end % 256 != 0) flip(media, block, end);
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 4U);
}

TEST(LogReader, DiscardsTheLastGroupWhenOneStreamIsMissing) {
  for (const std::uint32_t stream : {0U, 1U}) {
    RecordedMedia media;
    const ThreeGroups groups(media);
    for (const BlockFound& block : blocks_of(media, groups.third.value)) {
      if (block.stream == stream) put_back(media, block, Bytes(sizeof(BlockHeader) + block.payload_bytes));
    }
    EXPECT_EQ(records_of(*std::move(reopen(media)).value()), (Records{"one", "two"}));
  }
}

TEST(LogReader, CallsADamagedBlockBelowALaterGroupCorruption) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  for (const Epoch epoch : {groups.first, groups.second}) {
    const BlockFound block = blocks_of(media, epoch.value).front();
    for (std::uint64_t byte = 0; byte < sizeof(BlockHeader) + block.payload_bytes; byte += 8) {
      flip(media, block, byte);
      const auto reader = reopen(media);
      ASSERT_EQ(reader.status().code(), Code::Corruption) << byte;
      ASSERT_NE(reader.status().message().find("region 0 offset"), std::string::npos)
          << reader.status().message();
      flip(media, block, byte);
    }
  }
}

TEST(LogReader, CallsADamagedSegmentHeaderCorruption) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  const std::byte junk{0x77};
  media.poke(1, 16, std::span(&junk, 1));
  const auto reader = reopen(media);
  ASSERT_EQ(reader.status().code(), Code::Corruption);
  EXPECT_NE(reader.status().message().find("region 0 offset 0"), std::string::npos)
      << reader.status().message();
}

TEST(LogReader, SurvivesHostileBytesEverywhereInASegment) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  SeededRandom random(7);
  for (int round = 0; round < 300; ++round) {
    media.keep_undo();
    for (std::uint64_t i = 0; i <= random.below(4); ++i) {
      Bytes junk(random.below(64) + 1);
      for (std::byte& byte : junk) byte = static_cast<std::byte>(random.next());
      media.poke(1, random.below(2) * storage::kPageBytes + random.below(4000), junk);
    }
    const auto reader = reopen(media);
    if (reader.is_ok()) {
      for (const std::string& record : records_of(**reader)) {
        EXPECT_TRUE(record == "one" || record == "two" || record == std::string(900, 'a') ||
                    record == std::string(700, 'b'));
      }
    } else {
      EXPECT_EQ(reader.status().code(), Code::Corruption);
    }
    media.roll_back();
  }
}

TEST(LogRecovery, NeverReplaysADiscardedGroupAfterALaterSession) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  const BlockFound torn = blocks_of(media, groups.third.value).back();
  ASSERT_EQ(torn.stream, 1U);
  const Bytes good = copy_of(media, torn);
  flip(media, torn, 100);
  {
    LogSession session(media);
    EXPECT_EQ(records_of(session.found()), (Records{"one", "two"}));
    EXPECT_GT(session.clock().current(), groups.third);
    Worker worker(session);  // stream 0
    ASSERT_TRUE(worker.commit("three").is_ok());
  }
  EXPECT_EQ(sorted(records_of(*std::move(reopen(media)).value())), (Records{"one", "three", "two"}));
  // Should the torn block become whole by whatever chance, it stays dead.
  put_back(media, torn, good);
  EXPECT_EQ(sorted(records_of(*std::move(reopen(media)).value())), (Records{"one", "three", "two"}));
}

TEST(LogRecovery, SurvivesSessionsThatWriteNothing) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  flip(media, blocks_of(media, groups.third.value).front(), 200);
  for (int i = 0; i < 3; ++i) {
    LogSession session(media);
    EXPECT_EQ(session.found().horizon().durable, groups.second);
    EXPECT_EQ(session.found().horizon().highest_seen, groups.third);
    EXPECT_EQ(records_of(session.found()), (Records{"one", "two"}));
  }
  LogSession session(media);
  Worker worker(session);
  ASSERT_TRUE(worker.commit("three").is_ok());
  EXPECT_EQ(sorted(records_of(*std::move(reopen(media)).value())), (Records{"one", "three", "two"}));
}

TEST(LogRecovery, SurvivesACrashInTheFirstGroupOfTheNextSession) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  flip(media, blocks_of(media, groups.third.value).front(), 200);
  Epoch lost;
  {
    LogSession session(media);
    Worker a(session);
    Worker b(session);
    Tid tid;
    ASSERT_TRUE(a.append("torn in the second session", &tid).is_ok());
    ASSERT_TRUE(b.append("torn in the second session", &tid).is_ok());
    ASSERT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
    lost = tid.epoch();
  }
  flip(media, blocks_of(media, lost.value).front(), 90);
  {
    LogSession session(media);
    EXPECT_EQ(records_of(session.found()), (Records{"one", "two"}));
    Worker worker(session);
    ASSERT_TRUE(worker.commit("three").is_ok());
    ASSERT_TRUE(worker.commit("four").is_ok());
  }
  EXPECT_EQ(sorted(records_of(*std::move(reopen(media)).value())), (Records{"four", "one", "three", "two"}));
}

TEST(LogRecovery, ErasesTornBlocksBeforeItWritesWhereTheyWere) {
  RecordedMedia media;
  const ThreeGroups groups(media);
  const auto last = blocks_of(media, groups.third.value);
  for (const BlockFound& block : last) flip(media, block, 8);
  { LogSession session(media); }
  for (const BlockFound& block : last) {
    const Bytes now = copy_of(media, block);
    EXPECT_TRUE(std::all_of(now.begin(), now.end(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(LogRecovery, IgnoresBlocksOfAnEarlierLifeOfAPage) {
  RecordedMedia media;
  LogOptions options = quiet_options(1);
  Epoch old;
  {
    LogSession session(media, options);
    Worker worker(session);
    while (session.log().statistics().segments < 3) {
      Tid tid;
      ASSERT_TRUE(worker.append(std::string(150, 'o'), &tid).is_ok());
      ASSERT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
      old = tid.epoch();
    }
    storage::store_root_number(media.root_words(), storage::kCheckpointEpochWord, old.value);
    ASSERT_EQ(*session.log().release_through(old), 1U);
    // Fills what is left, then goes on in the page that was freed.
    while (session.log().statistics().segments < 3)
      ASSERT_TRUE(worker.commit(std::string(5000, 'n')).is_ok());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(worker.commit(std::string(5000, 'n')).is_ok());
  }
  const auto reader = std::move(reopen(media)).value();
  for (const std::string& record : records_of(*reader)) ASSERT_EQ(record[0], 'n');
  const auto segment = std::find_if(reader->segments().begin(), reader->segments().end(),
                                    [](const LogSegmentFound& s) { return s.page.index == 0; });
  ASSERT_NE(segment, reader->segments().end());
  EXPECT_GT(segment->used_bytes, 256U);
  EXPECT_LT(segment->used_bytes, 256ULL << 10U);  // its page was full of valid blocks before
}

TEST(LogRecovery, FreesAPageWhoseSegmentWasNeverPrepared) {
  RecordedMedia media;
  {
    const auto pages = storage::PageAllocator::open(media);
    ASSERT_TRUE((*pages)->allocate(1, storage::PageKind::Log, 1).is_ok());
  }
  LogSession session(media);
  EXPECT_EQ(session.found().abandoned_pages().size(), 1U);
  EXPECT_EQ(session.pages().pages_of(storage::PageKind::Log), 0U);
  EXPECT_EQ(session.log().statistics().segments, 0U);
}

TEST(LogRecovery, ReadsStreamsThatANewSessionHasNotAnyMore) {
  RecordedMedia media;
  {
    LogSession session(media, quiet_options(4));
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < 4; ++i) {
      workers.push_back(std::make_unique<Worker>(session));
      ASSERT_TRUE(workers.back()->commit("wide").is_ok());
    }
  }
  {
    LogSession session(media, quiet_options(1));
    EXPECT_EQ(session.found().stream_count(), 4U);
    EXPECT_EQ(session.log().statistics().segments, 4U);
    Worker worker(session);
    ASSERT_TRUE(worker.commit("narrow").is_ok());
    EXPECT_EQ(session.log().statistics().segments, 4U);
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 5U);
}

TEST(LogRecovery, UsesANewSessionNumberEachTime) {
  RecordedMedia media;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    LogSession session(media);
    EXPECT_EQ(storage::load_root_number(media.root_words(), storage::kLogSessionWord).value(), i);
  }
}

}  // namespace
}  // namespace nvmdb::wal
