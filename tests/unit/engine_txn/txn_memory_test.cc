#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "storage/base/random.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;

TEST(TxnMemory, AFullBudgetRefusesWritesAndKeepsReading) {
  RecordedMedia media;
  engine::DatabaseOptions options = small_options();
  options.dram_bytes = 4ULL << 20U;
  options.placement.overflow = false;
  const auto database = open_database(media, options);
  std::uint64_t written = 0;
  Status status;
  while (status.is_ok() && written < 100000) {
    status = database->run([&](Transaction& t) { return t.put(1, key1(written), Bytes(900)); }).status();
    written += status.is_ok() ? 1U : 0U;
  }
  ASSERT_EQ(status.code(), Code::OutOfSpace) << status.to_string();
  EXPECT_NE(status.message().find("4 MiB"), std::string::npos) << status.to_string();
  EXPECT_GT(written, 1000U);
  EXPECT_TRUE(database->run([&](Transaction& t) { return t.read(1, key1(written - 1)).status(); }).is_ok());
  // Deleting makes room again.
  for (std::uint64_t i = 0; i < written; ++i) {
    ASSERT_TRUE(database->run([&](Transaction& t) { return t.erase(1, key1(i)); }).is_ok()) << i;
  }
  database->reclaim();
  database->reclaim();
  EXPECT_TRUE(database->run([&](Transaction& t) { return t.put(1, key1(7), Bytes(900)); }).is_ok());
}

/// A transaction's pin keeps memory from being freed: its commit must not wait for memory, but end and say so.
TEST(TxnMemory, ACommitWithoutRoomEndsBeforeAnybodyWaits) {
  RecordedMedia media;
  engine::DatabaseOptions options = small_options();
  options.dram_bytes = 4ULL << 20U;
  options.placement.overflow = false;
  const auto database = open_database(media, options);
  ASSERT_TRUE(database->run([](Transaction& t) { return t.put(1, key1(0), Bytes(10)); }).is_ok());
  std::uint64_t written = 1;
  while (database->run([&](Transaction& t) { return t.put(1, key1(written), Bytes(900)); }).is_ok()) ++written;
  auto session = std::move(database->session()).value();
  const auto grow = [&] {
    Transaction transaction = session.begin();
    EXPECT_TRUE(transaction.put(1, key1(0), Bytes(900)).is_ok());
    return transaction.commit().status();
  };
  const engine::CheckpointStatistics before = database->statistics().checkpoint;
  EXPECT_EQ(grow().code(), Code::OutOfSpace);
  const engine::CheckpointStatistics after = database->statistics().checkpoint;
  EXPECT_EQ(after.cycles + after.failures, before.cycles + before.failures) << "waited while pinned";
  for (std::uint64_t i = 1; i < written; ++i) {
    ASSERT_TRUE(database->run([&](Transaction& t) { return t.erase(1, key1(i)); }).is_ok()) << i;
  }
  const Status room = database->make_room();
  ASSERT_TRUE(room.is_ok()) << room.to_string();
  EXPECT_TRUE(grow().is_ok());
}

TEST(TxnMemory, DeletedAndReplacedRowsAreReused) {
  RecordedMedia media({.pages = 32});
  engine::DatabaseOptions options = small_options();
  options.dram_bytes = 8ULL << 20U;
  options.log.log_bytes_max = 60ULL << 20U;
  const auto database = open_database(media, options);
  SeededRandom random(5);
  // About 30 MB of row versions go through 8 MiB.
  for (int round = 0; round < 15000; ++round) {
    const std::uint64_t key = random.below(500);
    const std::size_t bytes = random.below(4000);
    const Status status = database->run([&](Transaction& t) -> Status {
      if (random.chance(0.3)) {
        const Status erased = t.erase(1, key1(key));
        return erased.code() == Code::NotFound ? Status::ok() : erased;
      }
      return t.put(1, key1(key), Bytes(bytes));
    }).status();
    ASSERT_TRUE(status.is_ok()) << status.to_string() << " in round " << round;
    if (round % 100 == 0) database->reclaim();
  }
}

TEST(TxnMemory, RetiredMemoryWaitsForPins) {
  RecordedMedia media;
  const auto database = open_database(media, small_options());
  bool freed = false;
  auto session = std::move(database->session()).value();
  {
    const engine::Session::Pin pin = session.pin();
    database->retire([&] { freed = true; });
    database->reclaim();
    database->reclaim();
    EXPECT_FALSE(freed);
    // A transaction inside the pin does not end it.
    Transaction transaction = session.begin();
    EXPECT_TRUE(transaction.commit().is_ok());
    database->reclaim();
    EXPECT_FALSE(freed);
  }
  database->reclaim();
  EXPECT_TRUE(freed);
}

TEST(TxnMemory, WhatIsStillRetiredRunsWhenTheDatabaseCloses) {
  RecordedMedia media;
  bool freed = false;
  {
    const auto database = open_database(media, small_options());
    database->retire([&] { freed = true; });
  }
  EXPECT_TRUE(freed);
}

TEST(TxnMemory, SessionsArePooledAndBounded) {
  RecordedMedia media;
  const auto database = open_database(media, small_options());
  std::vector<engine::Session> sessions;
  Status status;
  while (status.is_ok() && sessions.size() < 1000) {
    auto session = database->session();
    status = session.status();
    if (status.is_ok()) sessions.push_back(std::move(session).value());
  }
  EXPECT_EQ(status.code(), Code::Overloaded) << status.to_string();
  EXPECT_GE(sessions.size(), 128U);
  sessions.pop_back();
  EXPECT_TRUE(database->session().is_ok());
}

/// Readers copy rows of changing size while writers replace, delete and insert them and memory is reused under them:
/// every row read must be whole.
TEST(TxnMemory, ReadersNeverSeeTornRowsWhileMemoryIsReused) {
  RecordedMedia media({.pages = 32});
  engine::DatabaseOptions options = small_options(true);
  options.log.log_bytes_max = 60ULL << 20U;
  const auto database = open_database(media, options);
  const auto make_row = [](std::uint64_t value) { return Bytes(8 + value % 900, static_cast<std::byte>(value)); };
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> torn{0}, rows_read{0};
  std::vector<std::thread> threads;
  ASSERT_TRUE(database->run([&](Transaction& t) { return t.put(1, key1(1), make_row(1)); }).is_ok());
  for (std::uint64_t id = 0; id < 2; ++id) {
    threads.emplace_back([&, id] {
      while (rows_read.load() == 0) std::this_thread::yield();
      SeededRandom random(id);
      for (int i = 0; i < 8000; ++i) {
        const std::uint64_t key = random.below(64);
        (void)database->run([&](Transaction& t) -> Status {
          if (random.chance(0.3)) {
            const Status erased = t.erase(1, key1(key));
            return erased.code() == Code::NotFound ? Status::ok() : erased;
          }
          return t.put(1, key1(key), make_row(random.below(100000)));
        });
      }
      stop.store(true);
    });
  }
  for (std::uint64_t id = 0; id < 2; ++id) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        (void)database->run([&](Transaction& t) {
          return t.scan(1, key1(0), key1(64), [&](const index::Key&, ByteSpan row) {
            ++rows_read;
            for (const std::byte byte : row) {
              if (byte != row.front()) ++torn;
            }
            return true;
          });
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_GT(rows_read.load(), 0U);
}

}  // namespace
}  // namespace nvmdb::test
