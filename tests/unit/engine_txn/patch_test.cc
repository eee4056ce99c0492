#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "storage/base/random.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::RecordRef;
using engine::Transaction;

constexpr std::size_t kRowBytes = 37;

Bytes bytes_from(SeededRandom& random, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

Status find_one(Transaction& transaction, std::uint64_t key, RecordRef& record) {
  const index::Key wanted = key1(key);
  return transaction.find(1, {&wanted, 1}, {&record, 1});
}

class Patch : public ::testing::Test {
 protected:
  Bytes read(std::uint64_t key) {
    Bytes row;
    EXPECT_TRUE(database_->run([&](Transaction& t) -> Status {
      NVMDB_ASSIGN(const ByteSpan bytes, t.read(1, key1(key)));
      row.assign(bytes.begin(), bytes.end());
      return Status::ok();
    }).is_ok());
    return row;
  }

  RecordedMedia media_;
  std::unique_ptr<engine::Database> database_ = open_database(media_, small_options());
};

TEST_F(Patch, IsSeenByItsTransactionWherePartsOverlap) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return t.put(1, key1(1), Bytes(kRowBytes)); }).is_ok());
  SeededRandom random(7);
  Bytes expected(kRowBytes);
  for (int round = 0; round < 300; ++round) {
    ASSERT_TRUE(database_->run([&](Transaction& t) -> Status {
      Bytes row = expected;
      RecordRef record;
      NVMDB_TRY(find_one(t, 1, record));
      for (std::uint64_t patch = random.below(4); patch > 0; --patch) {
        const auto offset = static_cast<std::size_t>(random.below(kRowBytes));
        const Bytes bytes = bytes_from(random, 1 + static_cast<std::size_t>(random.below(kRowBytes - offset)));
        NVMDB_TRY(t.patch(record, offset, bytes));
        std::copy(bytes.begin(), bytes.end(), row.begin() + static_cast<std::ptrdiff_t>(offset));
        const auto from = static_cast<std::size_t>(random.below(kRowBytes));
        NVMDB_ASSIGN(const ByteSpan part, t.read(record, from, 9));
        EXPECT_TRUE(std::equal(part.begin(), part.end(), row.begin() + static_cast<std::ptrdiff_t>(from)));
        EXPECT_EQ(part.size(), std::min<std::size_t>(9, kRowBytes - from));
      }
      expected = row;
      return Status::ok();
    }).is_ok());
    ASSERT_EQ(read(1), expected) << "round " << round;
  }
}

TEST_F(Patch, LogsOnlyItsBytes) {
  ASSERT_TRUE(database_->run_durable([](Transaction& t) { return t.put(1, key1(1), Bytes(4000)); }).is_ok());
  const std::uint64_t before = database_->statistics().log.payload_bytes;
  ASSERT_TRUE(database_->run_durable([](Transaction& t) -> Status {
    RecordRef record;
    NVMDB_TRY(find_one(t, 1, record));
    return t.patch(record, 100, Bytes(8));
  }).is_ok());
  EXPECT_LT(database_->statistics().log.payload_bytes - before, 64U);
}

TEST_F(Patch, OfARowThatIsTooShortOrGoneDoesNotCommit) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return t.put(1, key1(1), Bytes(16)); }).is_ok());
  auto session = std::move(database_->session()).value();
  {
    Transaction transaction = session.begin();
    RecordRef record;
    ASSERT_TRUE(find_one(transaction, 1, record).is_ok());
    ASSERT_TRUE(transaction.patch(record, 12, Bytes(8)).is_ok());
    EXPECT_EQ(transaction.commit().status().code(), Code::Conflict);
  }
  Transaction transaction = session.begin();
  RecordRef record;
  ASSERT_TRUE(find_one(transaction, 1, record).is_ok());
  ASSERT_TRUE(transaction.patch(record, 0, Bytes(8)).is_ok());
  ASSERT_TRUE(database_->run([](Transaction& t) { return t.erase(1, key1(1)); }).is_ok());
  EXPECT_EQ(transaction.commit().status().code(), Code::Conflict);
}

TEST_F(Patch, OfManyStreamsIsRecoveredInOrder) {
  SeededRandom random(11);
  std::map<std::uint64_t, Bytes> expected;
  std::vector<engine::Session> sessions;
  for (int i = 0; i < 4; ++i) sessions.push_back(std::move(database_->session()).value());
  engine::CommitReceipt last{};
  for (int i = 0; i < 2000; ++i) {
    Transaction transaction = sessions[random.below(sessions.size())].begin();
    const std::uint64_t key = random.below(20);
    RecordRef record;
    ASSERT_TRUE(find_one(transaction, key, record).is_ok());
    if (!record.found() || random.chance(0.05)) {
      expected[key] = bytes_from(random, kRowBytes);
      ASSERT_TRUE(transaction.put(1, key1(key), expected[key]).is_ok());
    } else if (random.chance(0.05) && expected.contains(key)) {
      expected.erase(key);
      ASSERT_TRUE(transaction.erase(1, key1(key)).is_ok());
    } else if (expected.contains(key)) {
      const auto offset = static_cast<std::size_t>(random.below(kRowBytes - 8));
      const Bytes bytes = bytes_from(random, 8);
      ASSERT_TRUE(transaction.patch(record, offset, bytes).is_ok());
      std::copy(bytes.begin(), bytes.end(), expected[key].begin() + static_cast<std::ptrdiff_t>(offset));
    }
    const auto receipt = transaction.commit();
    ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
    if (receipt->epoch.value != 0) last = *receipt;
    if (i % 500 == 250) {
      ASSERT_TRUE(database_->checkpoint().is_ok());
    }
  }
  ASSERT_TRUE(database_->wait_durable(last).is_ok());
  const auto crashed = copy_media(media_, RecordedOptions());
  sessions.clear();
  const auto recovered = open_database(*crashed, small_options());
  for (std::uint64_t key = 0; key < 20; ++key) {
    const auto receipt = recovered->run([&](Transaction& t) -> Status {
      const auto row = t.read(1, key1(key));
      EXPECT_EQ(row.is_ok(), expected.contains(key)) << key;
      if (row.is_ok()) {
        EXPECT_EQ(Bytes(row->begin(), row->end()), expected[key]) << key;
      }
      return Status::ok();
    });
    EXPECT_TRUE(receipt.is_ok());
  }
}

}  // namespace
}  // namespace nvmdb::test
