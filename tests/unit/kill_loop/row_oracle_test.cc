#include "tests/e2e/kill_loop/row_oracle.h"

#include <gtest/gtest.h>

#include <memory>

namespace nvmdb::test {
namespace {

using Action = RowChange::Action;

/// Client 0 put rows 1 and 2, patched row 1, erased row 2; the first two transactions were acknowledged.
class RowOracle : public ::testing::Test {
 protected:
  RowOracle() {
    ask({1, 1, Action::Put});
    ask({1, 2, Action::Put});
    ask({2, 1, Action::Patch});
    ask({3, 2, Action::Erase});
    client_.acknowledged = 2;
  }
  void ask(const RowChange& change) { client_.changes[client_.change_count++] = change; }
  void find(std::uint64_t stamp, RowState first, RowState second) {
    client_.found_stamp = stamp;
    client_.found[1] = first;
    client_.found[2] = second;
    wrong_ = check_rows(*journal_, findings_);
  }

  const std::unique_ptr<RowJournal> journal_ = std::make_unique<RowJournal>();
  RowJournal::Client& client_ = journal_->clients[0];
  RowFindings findings_;
  std::vector<std::string> wrong_;
};

TEST_F(RowOracle, AcceptsWhatWasAcknowledged) {
  find(2, {2, 1}, {1, 1});
  EXPECT_TRUE(wrong_.empty()) << wrong_.front();
  EXPECT_EQ(findings_.transactions, 2U);
}

TEST_F(RowOracle, AcceptsMoreThanWasAcknowledged) {
  find(3, {2, 1}, {});
  EXPECT_TRUE(wrong_.empty()) << wrong_.front();
}

TEST_F(RowOracle, FindsALostTransaction) {
  find(1, {1, 1}, {1, 1});
  EXPECT_EQ(findings_.lost, 1U);
  EXPECT_EQ(findings_.wrong, 0U);
}

TEST_F(RowOracle, FindsALostChangeOfATransaction) {
  find(2, {1, 1}, {1, 1});
  EXPECT_EQ(findings_.wrong, 1U);
}

TEST_F(RowOracle, FindsAHalfTransaction) {
  find(2, {2, 1}, {});
  EXPECT_EQ(findings_.wrong, 1U);
}

TEST_F(RowOracle, FindsWhatCameBack) {
  find(2, {2, 1}, {1, 1});
  ASSERT_TRUE(wrong_.empty());
  // The erasure was not there after that recovery, so it must not be there after the next one.
  find(2, {2, 1}, {});
  EXPECT_EQ(findings_.wrong, 1U);
}

}  // namespace
}  // namespace nvmdb::test
