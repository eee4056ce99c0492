#include "wal/log_space.h"

#include <algorithm>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/unit/wal/log_rig.h"

namespace nvmdb::wal {
namespace {

using test::RecordedMedia;
using test::RecordedOptions;

void set_checkpoint(RecordedMedia& media, Epoch epoch) {
  storage::store_root_number(media.root_words(), storage::kCheckpointEpochWord, epoch.value);
}

TEST(LogSpace, SaysHowFullTheLogIsWhenItRefuses) {
  RecordedMedia media;
  LogOptions options = quiet_options(1);
  options.log_bytes_max = 4ULL << 20U;
  LogSession session(media, options);
  Worker worker(session);
  Status status;
  for (int i = 0; i < 10'000 && status.is_ok(); ++i) status = worker.commit(std::string(2000, 'x'));
  ASSERT_EQ(status.code(), Code::OutOfSpace);
  EXPECT_NE(status.message().find("4 MiB"), std::string::npos) << status.message();
  EXPECT_EQ(session.log().statistics().log_bytes, 4ULL << 20U);
  // Not sticky: what was accepted is still written.
  EXPECT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
}

TEST(LogSpace, SaysThatThePoolIsFullWhenItsPagesRunOut) {
  RecordedMedia media(RecordedOptions{.pages = 2});
  LogSession session(media, quiet_options(1));
  Worker worker(session);
  Status status;
  for (int i = 0; i < 10'000 && status.is_ok(); ++i) status = worker.commit(std::string(2000, 'x'));
  EXPECT_EQ(status.code(), Code::OutOfSpace);
  EXPECT_EQ(session.pages().free_pages(), 0U);
}

struct Shape {
  std::uint32_t unit;
  std::uint64_t block;
  std::uint64_t longest;
};

class LogSpaceFilled : public testing::TestWithParam<Shape> {};

// Whatever sizes records have and however they fall into groups: what was accepted can be written.
TEST_P(LogSpaceFilled, WritesAllThatItAccepted) {
  const Shape shape = GetParam();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    RecordedMedia media;
    media.mutable_device().write_unit_bytes = shape.unit;
    LogOptions options = quiet_options(2);
    options.log_bytes_max = 8ULL << 20U;
    options.block_bytes_max = shape.block;
    options.ring_bytes = 256ULL << 10U;
    std::vector<std::string> accepted;
    const double wait_chance = random.unit() * random.unit();
    {
      LogSession session(media, options);
      std::vector<std::unique_ptr<Worker>> workers;
      for (int i = 0; i < 5; ++i) workers.push_back(std::make_unique<Worker>(session));
      for (int refused = 0; refused < 20;) {
        Worker& worker = *workers[random.below(workers.size())];
        std::string record(random.below(random.chance(0.5) ? shape.longest : 64), 'r');
        if (record.size() >= 8) record.replace(0, 8, std::to_string(10'000'000 + accepted.size()));
        const Status status = worker.append(record);
        if (status.is_ok()) {
          accepted.push_back(std::move(record));
        } else {
          ASSERT_EQ(status.code(), Code::OutOfSpace) << status.to_string();
          ++refused;
        }
        if (random.chance(wait_chance)) {
          ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
        }
      }
      ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
      EXPECT_EQ(session.log().statistics().log_bytes, 8ULL << 20U);
      EXPECT_EQ(session.log().statistics().records, accepted.size());
    }
    auto records = records_of(*std::move(reopen(media)).value());
    std::sort(records.begin(), records.end());
    std::sort(accepted.begin(), accepted.end());
    ASSERT_TRUE(records == accepted);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LogSpaceFilled,
                         testing::Values(Shape{256, 256, 3000}, Shape{256, 4096, 3000},
                                         Shape{256, 65'536, 100'000}, Shape{4096, 4096, 3000},
                                         Shape{4096, 65'536, 20'000}));

TEST(LogSpace, FreesSegmentsThatACheckpointCovers) {
  RecordedMedia media;
  LogOptions options = quiet_options(1);
  options.log_bytes_max = 6ULL << 20U;
  Epoch last;
  {
    LogSession session(media, options);
    Worker worker(session);
    Tid tid;
    for (int i = 0; i < 2500; ++i) {
      ASSERT_TRUE(worker.append(std::string(2000, 'o'), &tid).is_ok());
      ASSERT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
    }
    ASSERT_EQ(session.log().statistics().segments, 3U);
    EXPECT_EQ(session.log().release_through(tid.epoch()).status().code(), Code::InvalidArgument);
    set_checkpoint(media, tid.epoch());
    const auto freed = session.log().release_through(tid.epoch());
    ASSERT_TRUE(freed.is_ok()) << freed.status().to_string();
    EXPECT_EQ(*freed, 2U);  // the one being written stays
    EXPECT_EQ(session.log().statistics().segments, 1U);
    EXPECT_EQ(session.pages().pages_of(storage::PageKind::Log), 1U);
    for (int i = 0; i < 1200; ++i) ASSERT_TRUE(worker.commit("new").is_ok());
    for (int i = 0; i < 1500; ++i) ASSERT_TRUE(worker.commit(std::string(2000, 'n')).is_ok());
    last = session.log().durable_epoch();
  }
  const auto reader = std::move(reopen(media)).value();
  EXPECT_EQ(reader->horizon().durable, last);
  const auto records = records_of(*reader);
  EXPECT_EQ(records.size(), 2700U);
  EXPECT_EQ(std::count(records.begin(), records.end(), std::string(2000, 'o')), 0);
}

TEST(LogSpace, KeepsASegmentWithOneGroupAboveTheCheckpoint) {
  RecordedMedia media;
  LogSession session(media, quiet_options(1));
  Worker worker(session);
  std::vector<Epoch> epochs;
  while (session.log().statistics().segments < 3) {
    Tid tid;
    ASSERT_TRUE(worker.append(std::string(10'000, 'x'), &tid).is_ok());
    ASSERT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
    epochs.push_back(tid.epoch());
  }
  set_checkpoint(media, epochs.back());
  std::uint64_t freed = 0;
  Epoch first_freed_at;
  for (const Epoch epoch : epochs) {
    const auto count = session.log().release_through(epoch);
    ASSERT_TRUE(count.is_ok());
    if (*count > 0 && freed == 0) first_freed_at = epoch;
    freed += *count;
  }
  EXPECT_GE(freed, 1U);
  // A segment of 2 MiB holds about 200 such records: it goes when the group that fills it is covered, not
  // before.
  const auto place =
      static_cast<std::uint64_t>(std::find(epochs.begin(), epochs.end(), first_freed_at) - epochs.begin());
  EXPECT_GE(place, 190U);
  EXPECT_LE(place, 210U);
}

TEST(LogSpace, ContinuesTheLastSegmentOfEachStreamAfterARestart) {
  RecordedMedia media;
  for (int round = 0; round < 50; ++round) {
    LogSession session(media);
    EXPECT_EQ(records_of(session.found()).size(), static_cast<std::size_t>(2 * round));
    Worker first(session);
    Worker second(session);
    ASSERT_TRUE(first.append("a").is_ok());
    ASSERT_TRUE(second.append("b").is_ok());
    ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
    ASSERT_EQ(session.log().statistics().segments, 2U);
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 100U);
}

}  // namespace
}  // namespace nvmdb::wal
