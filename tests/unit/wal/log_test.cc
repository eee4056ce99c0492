#include "wal/log.h"

#include <chrono>
#include <thread>

#include "tests/unit/wal/log_rig.h"

namespace nvmdb::wal {
namespace {

using test::RecordedMedia;

TEST(Log, WritesOneBlockAndOneFenceForALoneCommit) {
  RecordedMedia media;
  LogSession session(media);
  Worker worker(session);
  ASSERT_TRUE(worker.commit("first").is_ok());  // prepares the segment too
  const LogStatistics before = session.log().statistics();
  const std::uint64_t fences = media.fence_count();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(worker.commit("0123456789").is_ok());
  EXPECT_EQ(media.fence_count() - fences, 10U);
  const LogStatistics after = session.log().statistics();
  EXPECT_EQ(after.fences - before.fences, 10U);
  EXPECT_EQ(after.blocks - before.blocks, 10U);
  EXPECT_EQ(after.media_bytes - before.media_bytes, 10U * 256);
  EXPECT_EQ(after.records - before.records, 10U);
  EXPECT_EQ(after.payload_bytes - before.payload_bytes, 100U);
  EXPECT_EQ(after.epochs_closed - before.epochs_closed, 10U);
  EXPECT_EQ(after.segments, 1U);
  EXPECT_EQ(after.log_bytes, 2ULL << 20U);
}

TEST(Log, WritesAGroupOfManyAppendersWithOneFencePerStream) {
  RecordedMedia media;
  LogSession session(media);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Worker>(session));
    ASSERT_TRUE(workers.back()->append("warm up").is_ok());
  }
  ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
  const std::uint64_t fences = media.fence_count();
  Tid tid;
  for (int round = 0; round < 5; ++round) {
    for (const auto& worker : workers) ASSERT_TRUE(worker->append("record", &tid).is_ok());
  }
  EXPECT_EQ(media.fence_count(), fences);
  ASSERT_TRUE(session.log().wait_durable(tid.epoch()).is_ok());
  EXPECT_EQ(media.fence_count() - fences, 2U);
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 24U);
}

TEST(Log, WritesNothingForAnEpochWithoutRecords) {
  RecordedMedia media;
  LogSession session(media);
  const std::uint64_t fences = media.fence_count();
  const Epoch epoch = session.clock().current();
  ASSERT_TRUE(session.log().wait_durable(epoch).is_ok());
  EXPECT_GE(session.log().durable_epoch(), epoch);
  EXPECT_EQ(media.fence_count(), fences);
  EXPECT_EQ(session.log().statistics().media_bytes, 0U);
}

TEST(Log, RefusesToWaitForAnEpochThatHasNotBegun) {
  RecordedMedia media;
  LogSession session(media);
  EXPECT_EQ(session.log().wait_durable(session.clock().current().next()).code(), Code::InvalidArgument);
}

TEST(Log, KeepsRecordsThatSpanManyBlocks) {
  RecordedMedia media;
  LogOptions options = quiet_options(1);
  options.ring_bytes = 1ULL << 20U;
  std::vector<std::string> written;
  {
    LogSession session(media, options);
    Worker worker(session);
    for (const std::size_t size : {0U, 1U, 4000U, 4016U, 4095U, 4096U, 100'000U, 524'256U}) {
      written.emplace_back(size, static_cast<char>('a' + written.size()));
      ASSERT_TRUE(worker.append(written.back()).is_ok());
    }
    ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
    EXPECT_EQ(worker.append(std::string(524'257, 'x')).code(), Code::InvalidArgument);
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()), written);
}

TEST(Log, AlignsBlocksToTheWriteUnitOfTheDevice) {
  RecordedMedia media;
  media.mutable_device().write_unit_bytes = 4096;
  LogOptions options = quiet_options(1);
  options.block_bytes_max = 10'000;  // two units
  std::vector<std::string> written;
  {
    LogSession session(media, options);
    Worker worker(session);
    ASSERT_TRUE(worker.commit("x").is_ok());
    const std::uint64_t before = session.log().statistics().media_bytes;
    ASSERT_TRUE(worker.commit(std::string(9000, 'y')).is_ok());
    EXPECT_EQ(session.log().statistics().media_bytes - before, 8192U + 4096);
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 2U);
}

TEST(Log, LeavesNoTraceOfACancelledRecord) {
  RecordedMedia media;
  {
    LogSession session(media);
    Worker worker(session);
    ASSERT_TRUE(worker.appender().reserve(1000).is_ok());
    worker.appender().cancel();
    ASSERT_TRUE(worker.commit("kept").is_ok());
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()), std::vector<std::string>{"kept"});
}

TEST(Log, MakesRoomInAFullRingByWritingAGroup) {
  RecordedMedia media;
  LogOptions options = quiet_options(1);
  options.ring_bytes = 4096;
  {
    LogSession session(media, options);
    Worker worker(session);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(worker.append(std::string(1000, 'r')).is_ok());
    EXPECT_GT(session.log().statistics().epochs_closed, 20U);
    ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 100U);
}

TEST(Log, AcknowledgesNothingAfterAFenceFailed) {
  RecordedMedia media;
  {
    LogSession session(media);
    Worker worker(session);
    Tid good;
    ASSERT_TRUE(worker.append("good", &good).is_ok());
    ASSERT_TRUE(session.log().wait_durable(good.epoch()).is_ok());
    Tid lost;
    ASSERT_TRUE(worker.append("lost", &lost).is_ok());
    media.fail_fences(0, 1);
    const Status status = session.log().wait_durable(lost.epoch());
    EXPECT_EQ(status.code(), Code::IoError);
    EXPECT_LT(session.log().durable_epoch(), lost.epoch());
    media.fail_fences(0, 0);
    EXPECT_EQ(session.log().wait_durable(lost.epoch()).code(), Code::IoError);
    EXPECT_EQ(session.log().wait_durable(session.clock().current()).code(), Code::IoError);
    EXPECT_EQ(worker.append("more").code(), Code::IoError);
    EXPECT_TRUE(session.log().wait_durable(good.epoch()).is_ok());
    EXPECT_LT(session.log().durable_epoch(), lost.epoch());
  }
  const auto records = records_of(*std::move(reopen(media)).value());
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.front(), "good");
}

TEST(Log, StopsWhenASegmentCannotBePrepared) {
  RecordedMedia media;
  LogSession session(media);
  Worker worker(session);
  media.fail_fences(1, 1);  // the page directory's fence is good, the segment header's is not
  EXPECT_EQ(worker.append("record").code(), Code::IoError);
  EXPECT_EQ(worker.append("record").code(), Code::IoError);
  EXPECT_EQ(session.log().wait_durable(session.clock().current()).code(), Code::IoError);
}

TEST(Log, RefusesAClockBehindTheEpochsInTheLog) {
  RecordedMedia media;
  {
    LogSession session(media);
    Worker worker(session);
    ASSERT_TRUE(worker.commit("record").is_ok());
  }
  auto pages = storage::PageAllocator::open(media);
  EpochClock clock(Epoch{1});
  EXPECT_EQ(Log::start(media, **pages, clock, quiet_options()).status().code(), Code::InvalidArgument);
}

TEST(Log, RefusesOptionsOutOfRange) {
  RecordedMedia media;
  auto pages = storage::PageAllocator::open(media);
  EpochClock clock(Epoch{1});
  const auto code = [&](auto change) {
    LogOptions options = quiet_options();
    change(options);
    return Log::start(media, **pages, clock, options).status().code();
  };
  EXPECT_EQ(code([](LogOptions& o) { o.streams = 0; }), Code::InvalidArgument);
  EXPECT_EQ(code([](LogOptions& o) { o.streams = 65; }), Code::InvalidArgument);
  EXPECT_EQ(code([](LogOptions& o) { o.log_bytes_max = (4ULL << 20U) - 1; }), Code::InvalidArgument);
  EXPECT_EQ(code([](LogOptions& o) { o.epoch_interval_us = 0; }), Code::InvalidArgument);
  EXPECT_EQ(code([](LogOptions& o) { o.ring_bytes = 1ULL << 40U; }), Code::InvalidArgument);
  EXPECT_EQ(code([](LogOptions&) {}), Code::Ok);
}

TEST(Log, RefusesMoreAppendersThanEpochSlots) {
  RecordedMedia media;
  LogOptions options = quiet_options(1);
  options.ring_bytes = 4096;
  LogSession session(media, options);
  std::vector<std::unique_ptr<Log::Appender>> appenders;
  for (std::size_t i = 0; i < EpochClock::kMaxSlots; ++i) {
    auto appender = session.log().new_appender();
    ASSERT_TRUE(appender.is_ok());
    appenders.push_back(std::move(appender).value());
  }
  EXPECT_EQ(session.log().new_appender().status().code(), Code::Overloaded);
  appenders.pop_back();
  EXPECT_TRUE(session.log().new_appender().is_ok());
}

TEST(Log, KeepsRecordsOfAnAppenderThatIsGone) {
  RecordedMedia media;
  {
    LogSession session(media);
    for (int i = 0; i < 5; ++i) {
      Worker worker(session);
      ASSERT_TRUE(worker.append("orphan").is_ok());
    }
    ASSERT_TRUE(session.log().wait_durable(session.clock().current()).is_ok());
  }
  EXPECT_EQ(records_of(*std::move(reopen(media)).value()).size(), 5U);
}

TEST(Log, ClosesAnEpochInTheBackgroundWhenNobodyWaits) {
  RecordedMedia media;
  LogOptions options = quiet_options();
  options.writer_threads = true;
  options.epoch_interval_us = 200;
  LogSession session(media, options);
  Worker worker(session);
  for (int round = 0; round < 20; ++round) {
    Tid tid;
    ASSERT_TRUE(worker.append("record", &tid).is_ok());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (session.log().durable_epoch() < tid.epoch() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    ASSERT_GE(session.log().durable_epoch(), tid.epoch()) << "round " << round;
    if (round % 4 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the flusher goes to sleep
  }
}

}  // namespace
}  // namespace nvmdb::wal
