#include <gtest/gtest.h>

#include <functional>

#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Session;
using engine::Transaction;

class Phantom : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(database_->run([](Transaction& t) -> Status {
      for (std::uint64_t i = 0; i < 1000; ++i) NVMDB_TRY(put(t, i * 10, i));
      return Status::ok();
    }).is_ok());
  }
  Session session() { return std::move(database_->session()).value(); }
  /// True when a transaction that does `read`, then a write elsewhere, commits although `change` committed between.
  bool survives(const std::function<void(Transaction&)>& read, const std::function<Status(Transaction&)>& change) {
    Session s = session();
    Transaction t = s.begin();
    read(t);
    EXPECT_TRUE(database_->run(change).is_ok());
    EXPECT_TRUE(put(t, 9990, 1).is_ok());
    return t.commit().is_ok();
  }

  RecordedMedia media_;
  std::unique_ptr<engine::Database> database_ = open_database(media_, small_options());
};

TEST_F(Phantom, AnInsertionIntoAScannedRangeIsSeen) {
  EXPECT_FALSE(survives([](Transaction& t) { (void)range(t, 100, 200); }, [](Transaction& t) { return put(t, 155, 1); }));
  EXPECT_FALSE(survives([](Transaction& t) { (void)range(t, 300, 400, true); }, [](Transaction& t) { return put(t, 355, 1); }));
}

TEST_F(Phantom, ADeletionFromAScannedRangeIsSeen) {
  EXPECT_FALSE(survives([](Transaction& t) { (void)range(t, 100, 200); }, [](Transaction& t) { return t.erase(1, key1(150)); }));
}

TEST_F(Phantom, AChangeFarAwayDisturbsNobody) {
  EXPECT_TRUE(survives([](Transaction& t) { (void)range(t, 100, 200); }, [](Transaction& t) { return put(t, 5555, 1); }));
  EXPECT_TRUE(survives([](Transaction& t) { (void)range(t, 100, 200); }, [](Transaction& t) { return put(t, 6000, 7); }));
}

TEST_F(Phantom, AMissIsProtected) {
  EXPECT_FALSE(survives([](Transaction& t) { EXPECT_EQ(get(t, 155), std::nullopt); }, [](Transaction& t) { return put(t, 155, 1); }));
  EXPECT_FALSE(survives([](Transaction& t) { EXPECT_EQ(t.erase(1, key1(255)).code(), Code::NotFound); },
                        [](Transaction& t) { return put(t, 255, 1); }));
}

/// A deleted record stays in the index for a while; then it is the record, not the leaf, that tells of its return.
TEST_F(Phantom, ARecordThatComesBackIsSeen) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return t.erase(1, key1(150)); }).is_ok());
  EXPECT_FALSE(survives([](Transaction& t) { EXPECT_EQ(get(t, 150), std::nullopt); }, [](Transaction& t) { return put(t, 150, 1); }));
  ASSERT_TRUE(database_->run([](Transaction& t) { return t.erase(1, key1(160)); }).is_ok());
  EXPECT_FALSE(survives([](Transaction& t) { (void)range(t, 155, 165); }, [](Transaction& t) { return put(t, 160, 1); }));
}

/// ... also when the record was unlinked and freed between.
TEST_F(Phantom, ARecordThatWasReclaimedAndComesBackIsSeen) {
  ASSERT_TRUE(database_->run([](Transaction& t) { return t.erase(1, key1(150)); }).is_ok());
  Session s = session();
  Transaction t = s.begin();
  ASSERT_EQ(get(t, 150), std::nullopt);
  database_->reclaim();
  ASSERT_TRUE(database_->run([](Transaction& other) { return put(other, 150, 1); }).is_ok());
  ASSERT_TRUE(put(t, 9990, 1).is_ok());
  EXPECT_FALSE(t.commit().is_ok());
}

TEST_F(Phantom, OwnInsertionsIntoAScannedRangeDoNotAbort) {
  Session s = session();
  Transaction t = s.begin();
  const std::size_t before = range(t, 0, 10000)->size();
  for (std::uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(t.insert(1, key1(i * 10 + 5), row_of(i)).is_ok());
  EXPECT_EQ(range(t, 0, 10000)->size(), before + 300);
  EXPECT_TRUE(t.commit().is_ok());
}

/// Who missed a key and then puts it makes the record that stands for the miss from then on. Another who commits into
/// that record first must be seen, or its write is lost.
TEST_F(Phantom, AMissIsStillProtectedAfterOnesOwnPut) {
  for (const bool by_scan : {false, true}) {
    const std::uint64_t key = by_scan ? 165 : 155;
    Session s1 = session();
    Session s2 = session();
    Transaction t1 = s1.begin();
    if (by_scan) {
      EXPECT_TRUE(range(t1, key, key).has_value());
    } else {
      EXPECT_EQ(get(t1, key), std::nullopt);
    }
    ASSERT_TRUE(put(t1, key, 1).is_ok());
    Transaction t2 = s2.begin();
    EXPECT_EQ(get(t2, key), std::nullopt);
    ASSERT_TRUE(put(t2, key, 2).is_ok());
    ASSERT_TRUE(t2.commit().is_ok());
    EXPECT_EQ(t1.commit().status().code(), Code::Conflict) << "the write of t2 is lost";
  }
}

TEST_F(Phantom, AScanThatStopsEarlyIsProtectedOnlyUpToThere) {
  const auto first_three = [](Transaction& t) {
    int seen = 0;
    EXPECT_TRUE(t.scan(1, key1(0), key1(10000), [&](const index::Key&, ByteSpan) { return ++seen < 3; }).is_ok());
  };
  EXPECT_FALSE(survives(first_three, [](Transaction& t) { return put(t, 5, 1); }));
  EXPECT_TRUE(survives(first_three, [](Transaction& t) { return put(t, 8885, 1); }));
}

}  // namespace
}  // namespace nvmdb::test
