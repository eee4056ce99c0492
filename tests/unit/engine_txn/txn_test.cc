#include <gtest/gtest.h>

#include <map>

#include "storage/base/random.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;

class Txn : public ::testing::Test {
 protected:
  RecordedMedia media_;
  std::unique_ptr<engine::Database> database_ = open_database(media_, small_options());
};

TEST_F(Txn, ReadsItsOwnWritesBeforeAndAfterCommit) {
  auto session = std::move(database_->session()).value();
  {
    Transaction transaction = session.begin();
    EXPECT_EQ(transaction.read(1, key1(1)).status().code(), Code::NotFound);
    ASSERT_TRUE(transaction.insert(1, key1(1), row_of(10)).is_ok());
    EXPECT_EQ(get(transaction, 1), 10U);
    ASSERT_TRUE(put(transaction, 1, 11).is_ok());
    EXPECT_EQ(get(transaction, 1), 11U);
    ASSERT_TRUE(transaction.erase(1, key1(1)).is_ok());
    EXPECT_EQ(get(transaction, 1), std::nullopt);
    EXPECT_EQ(transaction.erase(1, key1(1)).code(), Code::NotFound);
    ASSERT_TRUE(transaction.insert(1, key1(1), row_of(12)).is_ok());
    ASSERT_TRUE(transaction.commit().is_ok());
  }
  Transaction transaction = session.begin();
  EXPECT_EQ(get(transaction, 1), 12U);
  EXPECT_TRUE(transaction.commit().is_ok());
  EXPECT_EQ(database_->statistics().rows, 1U);
}

TEST_F(Txn, InsertOfAnExistingKeyIsRefusedWithoutRetry) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return put(t, 1, 1); }).is_ok());
  int attempts = 0;
  const auto receipt = database_->run([&](Transaction& t) {
    ++attempts;
    return t.insert(1, key1(1), row_of(2));
  });
  EXPECT_EQ(receipt.status().code(), Code::AlreadyExists);
  EXPECT_EQ(attempts, 1);
}

/// One of two rows is there at any time. Who looks at one before it comes and at the other after it went has seen a
/// state that never was, and must not say that there is none.
TEST_F(Txn, AnErrorOfTheBodyIsBelievedOnlyWhenItsReadsFitTogether) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return put(t, 2, 1); }).is_ok());
  int attempts = 0;
  const auto receipt = database_->run([&](Transaction& t) -> Status {
    if (t.read(1, key1(1)).is_ok()) return Status::ok();
    if (++attempts == 1) {
      const auto moved = database_->run([](Transaction& rival) -> Status {
        NVMDB_TRY(rival.erase(1, key1(2)));
        return put(rival, 1, 1);
      });
      EXPECT_TRUE(moved.is_ok());
    }
    return t.read(1, key1(2)).status();
  });
  EXPECT_TRUE(receipt.is_ok()) << receipt.status().to_string();
  EXPECT_EQ(attempts, 1);
}

TEST_F(Txn, AnErrorOfTheBodyIsToldWhenWhatItReadIsDurable) {
  for (std::uint64_t key = 1; key <= 200; ++key) {
    const auto written = database_->run([&](Transaction& t) { return put(t, key, 1); });
    ASSERT_TRUE(written.is_ok());
    const auto refused = database_->run([&](Transaction& t) { return t.insert(1, key1(key), row_of(2)); });
    EXPECT_EQ(refused.status().code(), Code::AlreadyExists);
    ASSERT_GE(database_->durable_epoch(), written->epoch) << "told before it was durable";
  }
}

TEST_F(Txn, AbortLeavesNoTrace) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return put(t, 1, 1); }).is_ok());
  auto session = std::move(database_->session()).value();
  {
    Transaction transaction = session.begin();
    ASSERT_TRUE(put(transaction, 1, 2).is_ok());
    ASSERT_TRUE(put(transaction, 2, 2).is_ok());
    ASSERT_TRUE(transaction.insert(1, key1(3), row_of(2)).is_ok());
  }
  Transaction transaction = session.begin();
  EXPECT_EQ(range(transaction, 0, 100), (Pairs{{1, 1}}));
  EXPECT_TRUE(transaction.commit().is_ok());
  EXPECT_EQ(database_->statistics().aborts, 1U);
}

TEST_F(Txn, ScanMergesOwnWritesInOrder) {
  ASSERT_TRUE(database_->run([](Transaction& t) -> Status {
    for (std::uint64_t i = 10; i <= 50; i += 10) NVMDB_TRY(put(t, i, i));
    return Status::ok();
  }).is_ok());
  auto session = std::move(database_->session()).value();
  Transaction transaction = session.begin();
  ASSERT_TRUE(put(transaction, 15, 1).is_ok());
  ASSERT_TRUE(transaction.insert(1, key1(55), row_of(2)).is_ok());
  ASSERT_TRUE(put(transaction, 30, 3).is_ok());
  ASSERT_TRUE(transaction.erase(1, key1(40)).is_ok());
  const Pairs expected = {{10, 10}, {15, 1}, {20, 20}, {30, 3}, {50, 50}, {55, 2}};
  EXPECT_EQ(range(transaction, 0, 100), expected);
  EXPECT_EQ(range(transaction, 0, 100, true), Pairs(expected.rbegin(), expected.rend()));
  EXPECT_EQ(range(transaction, 15, 30), (Pairs{{15, 1}, {20, 20}, {30, 3}}));
  EXPECT_EQ(range(transaction, 30, 15), Pairs{});
  EXPECT_TRUE(transaction.commit().is_ok());
}

TEST_F(Txn, ScanStopsWhenTold) {
  ASSERT_TRUE(database_->run([](Transaction& t) -> Status {
    for (std::uint64_t i = 0; i < 500; ++i) NVMDB_TRY(put(t, i, i));
    return Status::ok();
  }).is_ok());
  auto session = std::move(database_->session()).value();
  Transaction transaction = session.begin();
  for (const bool reverse : {false, true}) {
    std::vector<std::uint64_t> keys;
    ASSERT_TRUE(transaction.scan(1, key1(100), key1(400), [&](const index::Key& key, ByteSpan) {
      keys.push_back(key.words[0]);
      return keys.size() < 3;
    }, reverse).is_ok());
    EXPECT_EQ(keys, reverse ? (std::vector<std::uint64_t>{400, 399, 398}) : (std::vector<std::uint64_t>{100, 101, 102}));
  }
}

TEST_F(Txn, RefusesUnknownTablesWrongKeysAndEndlessRows) {
  auto session = std::move(database_->session()).value();
  Transaction transaction = session.begin();
  EXPECT_EQ(transaction.read(9, key1(1)).status().code(), Code::InvalidArgument);
  EXPECT_EQ(transaction.read(65535, key1(1)).status().code(), Code::InvalidArgument);
  EXPECT_EQ(transaction.put(2, key1(1), row_of(1)).code(), Code::InvalidArgument);
  EXPECT_EQ(transaction.put(1, key1(1), Bytes(2U << 20U)).code(), Code::InvalidArgument);
}

TEST_F(Txn, ADoomedTransactionCannotCommitEvenIfItsBodyIgnoresTheConflict) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return put(t, 1, 1); }).is_ok());
  auto first = std::move(database_->session()).value();
  Transaction transaction = first.begin();
  ASSERT_EQ(range(transaction, 0, 10), (Pairs{{1, 1}}));
  ASSERT_TRUE(database_->run([](Transaction& t) { return put(t, 2, 2); }).is_ok());
  EXPECT_EQ(put(transaction, 3, 3).code(), Code::Conflict) << "the leaf changed since the scan";
  EXPECT_EQ(transaction.commit().status().code(), Code::Conflict);
}

/// Rows of many sizes, grown and shrunk, in all key widths, against a map.
TEST_F(Txn, AgreesWithAMapOverManyTransactions) {
  std::map<std::pair<engine::TableId, index::Key>, Bytes> model;
  SeededRandom random(11);
  for (int round = 0; round < 1500; ++round) {
    auto next = model;
    const bool commit = random.chance(0.8);
    auto session = std::move(database_->session()).value();
    Transaction transaction = session.begin();
    for (std::uint64_t step = 1 + random.below(8); step-- > 0;) {
      const auto table = std::vector<engine::TableId>{1, 2, 4, 6}[random.below(4)];
      index::Key key;
      key.count = table;
      for (std::uint32_t w = 0; w < key.count; ++w) key.words[w] = random.below(w + 1 == key.count ? 60 : 2);
      const auto place = next.find({table, key});
      const std::uint64_t dice = random.below(10);
      if (dice < 4) {
        Bytes row(random.below(random.chance(0.1) ? 5000 : 100));
        for (std::byte& byte : row) byte = static_cast<std::byte>(random.next());
        ASSERT_TRUE(transaction.put(table, key, row).is_ok());
        next[{table, key}] = row;
      } else if (dice < 6) {
        const Status status = transaction.erase(table, key);
        ASSERT_EQ(status.is_ok(), place != next.end()) << status.to_string();
        if (place != next.end()) next.erase(place);
      } else if (dice < 7) {
        const Status status = transaction.insert(table, key, row_of(random.next()));
        ASSERT_EQ(status.is_ok(), place == next.end()) << status.to_string();
        if (place == next.end()) {
          const auto row = transaction.read(table, key);
          ASSERT_TRUE(row.is_ok());
          next[{table, key}] = Bytes(row->begin(), row->end());
        }
      } else {
        const auto row = transaction.read(table, key);
        ASSERT_EQ(row.is_ok(), place != next.end());
        if (row.is_ok()) {
          ASSERT_EQ(Bytes(row->begin(), row->end()), place->second);
        }
      }
    }
    if (commit) {
      ASSERT_TRUE(transaction.commit().is_ok());
      model = std::move(next);
    } else {
      transaction.abort();
    }
    if (round % 50 == 0) database_->reclaim();
  }
  EXPECT_EQ(database_->statistics().rows, model.size());
}

}  // namespace
}  // namespace nvmdb::test
