#include "tests/support/isolation/history_checker.h"

#include <gtest/gtest.h>

namespace nvmdb::test::isolation {
namespace {

using History = std::vector<Transaction>;

Operation read(std::uint64_t key, List list) {
  return {Operation::Kind::Read, key, 0, std::move(list)};
}
Operation scan(std::uint64_t key, List list) {
  return {Operation::Kind::RangeRead, key, 0, std::move(list)};
}
Operation append(std::uint64_t key, std::uint64_t value) {
  return {Operation::Kind::Append, key, value, {}};
}

/// At the same time as all others that are made so.
Transaction committed(std::vector<Operation> operations) {
  return {Outcome::Committed, 10, 20, std::move(operations)};
}
Transaction aborted(std::vector<Operation> operations) {
  return {Outcome::Aborted, 10, 20, std::move(operations)};
}
Transaction unknown(std::vector<Operation> operations) {
  return {Outcome::Info, 10, kNoEnd, std::move(operations)};
}
Transaction at(std::uint64_t begin, std::uint64_t end, std::vector<Operation> operations) {
  return {Outcome::Committed, begin, end, std::move(operations)};
}

void expect_only(const std::string& name, const History& history) {
  const Report report = check(history);
  EXPECT_EQ(report.anomalies.size(), 1U) << report.to_string();
  EXPECT_TRUE(report.has(name)) << name << " was not found: " << report.to_string();
}
void expect_found(const std::string& name, const History& history) {
  const Report report = check(history);
  EXPECT_TRUE(report.has(name)) << name << " was not found: " << report.to_string();
}
void expect_clean(const History& history) {
  const Report report = check(history);
  EXPECT_TRUE(report.anomalies.empty()) << report.to_string();
}

TEST(HistoryChecker, AcceptsNothing) {
  expect_clean({});
}

TEST(HistoryChecker, AcceptsASerialHistory) {
  expect_clean({at(1, 2, {read(1, {}), append(1, 1), read(1, {1})}),
                at(3, 4, {read(1, {1}), append(1, 2), append(1, 3)}),
                at(5, 6, {scan(1, {1, 2, 3}), scan(2, {}), append(2, 4)}),
                at(7, 8, {read(1, {1, 2, 3}), read(2, {4})})});
}

TEST(HistoryChecker, AcceptsConcurrentTransactionsInAnyOneOrder) {
  expect_clean({committed({read(1, {}), append(2, 1)}), committed({read(2, {1}), append(1, 2)}),
                committed({read(1, {2}), read(2, {1})})});
}

TEST(HistoryChecker, FindsWritesThatCross) {
  expect_only("G0", {committed({append(1, 1), append(2, 2)}), committed({append(1, 3), append(2, 4)}),
                     committed({read(1, {1, 3}), read(2, {4, 2})})});
}

TEST(HistoryChecker, FindsReadsOfAbortedTransactions) {
  expect_only("G1a", {aborted({append(1, 1)}), committed({read(1, {1})})});
  expect_only("G1a", {committed({read(1, {77})})});
}

TEST(HistoryChecker, FindsIntermediateReads) {
  expect_found("G1b", {committed({append(1, 1), append(1, 2)}), committed({read(1, {1})}),
                       at(30, 40, {read(1, {1, 2})})});
}

TEST(HistoryChecker, FindsCircularInformationFlow) {
  expect_only("G1c", {committed({append(1, 1), read(2, {2})}), committed({append(2, 2), read(1, {1})})});
}

TEST(HistoryChecker, FindsReadSkew) {
  expect_only("G-single", {committed({append(1, 1), append(2, 2)}), committed({read(1, {}), read(2, {2})}),
                           at(30, 40, {read(1, {1})})});
}

TEST(HistoryChecker, FindsWriteSkew) {
  expect_only("G2-item", {committed({read(1, {}), append(2, 1)}), committed({read(2, {}), append(1, 2)}),
                          at(30, 40, {read(1, {2}), read(2, {1})})});
}

TEST(HistoryChecker, FindsWriteSkewOfValuesThatNobodyRead) {
  expect_only("G2-item", {committed({read(1, {}), append(2, 1)}), committed({read(2, {}), append(1, 2)})});
}

TEST(HistoryChecker, FindsPhantoms) {
  expect_only(
      "G2", {committed({scan(1, {}), scan(2, {}), append(2, 1)}),
             committed({scan(1, {}), scan(2, {}), append(1, 2)}), at(30, 40, {read(1, {2}), read(2, {1})})});
}

TEST(HistoryChecker, FindsALongCycle) {
  History history;
  constexpr std::uint64_t kLength = 50;
  for (std::uint64_t i = 0; i < kLength; ++i)
    history.push_back(committed({read(i, {}), append((i + 1) % kLength, i + 1)}));
  expect_only("G2-item", history);
  // One that saw the append of the one before it opens the circle.
  history.back() = committed({read(kLength - 1, {kLength - 1}), append(0, kLength)});
  expect_clean(history);
}

TEST(HistoryChecker, AcceptsReadsAfterOwnBlindAppends) {
  expect_clean({at(1, 2, {append(1, 1)}), at(3, 4, {append(1, 2), read(1, {1, 2})}),
                at(5, 6, {append(1, 3), append(1, 4), scan(1, {1, 2, 3, 4}), append(1, 5), append(2, 6)}),
                at(7, 8, {read(1, {1, 2, 3, 4, 5}), append(2, 7), read(2, {6, 7})})});
}

/// Nobody else reads list 1, so only the read behind the reader's own append tells of it.
TEST(HistoryChecker, FindsIntermediateReadsBehindOwnBlindAppends) {
  expect_found("G1b", {committed({append(1, 1), append(1, 2)}), committed({append(1, 3), read(1, {1, 3})})});
}

TEST(HistoryChecker, FindsReadsOfAbortedTransactionsBehindOwnBlindAppends) {
  expect_found("G1a", {aborted({append(1, 1)}), committed({append(1, 2), read(1, {1, 2})})});
}

TEST(HistoryChecker, FindsListsThatForkedBehindOwnBlindAppends) {
  expect_found("incompatible order",
               {committed({append(1, 1)}), committed({append(1, 2)}),
                committed({append(1, 3), read(1, {1, 3})}), at(30, 40, {read(1, {2, 1, 3})})});
}

/// Each read the other's append in front of its own.
TEST(HistoryChecker, FindsWritesThatCrossBehindOwnBlindAppends) {
  expect_only("G0", {committed({append(1, 1), append(2, 2), read(2, {3, 2})}),
                     committed({append(2, 3), append(1, 4), read(1, {1, 4})})});
}

TEST(HistoryChecker, FindsReadsOfThePastBehindOwnBlindAppends) {
  expect_only("G0-realtime", {at(1, 2, {append(1, 1)}), at(3, 4, {append(1, 2), read(1, {2})}),
                              at(5, 6, {read(1, {2, 1})})});
}

TEST(HistoryChecker, FindsAnAppendThatIsGoneBehindOwnBlindAppends) {
  expect_found("lost append", {at(1, 2, {append(1, 1)}), at(3, 4, {append(1, 2), read(1, {2})})});
}

TEST(HistoryChecker, FindsLostUpdates) {
  expect_found("lost update", {committed({read(1, {}), append(1, 1)}), committed({read(1, {}), append(1, 2)}),
                               at(30, 40, {read(1, {2})})});
  expect_found("lost append", {committed({read(1, {}), append(1, 1)}), committed({read(1, {}), append(1, 2)}),
                               at(30, 40, {read(1, {2})})});
}

TEST(HistoryChecker, FindsContradictionsInsideATransaction) {
  expect_only("internal", {committed({append(1, 1), read(1, {})})});
  expect_only("internal", {committed({append(1, 1)}), committed({read(1, {}), read(1, {1})})});
  expect_only("internal", {committed({append(1, 1)}), committed({read(1, {1}), append(1, 2), read(1, {1})})});
}

TEST(HistoryChecker, FindsListsThatForked) {
  expect_found("incompatible order", {committed({append(1, 1)}), committed({append(1, 2)}),
                                      committed({read(1, {1})}), committed({read(1, {2})})});
}

TEST(HistoryChecker, FindsAValueThatIsTwiceInAList) {
  expect_found("duplicate", {committed({append(1, 1)}), committed({read(1, {1, 1})})});
}

TEST(HistoryChecker, FindsReadsOfThePast) {
  expect_only("G-single-realtime",
              {at(1, 2, {append(1, 1)}), at(3, 4, {read(1, {})}), at(5, 6, {read(1, {1})})});
  expect_clean({at(1, 4, {append(1, 1)}), at(3, 4, {read(1, {})}), at(5, 6, {read(1, {1})})});
}

TEST(HistoryChecker, FindsReadsOfTheFuture) {
  expect_only("G1c-realtime", {at(1, 2, {read(1, {1})}), at(3, 4, {append(1, 1)})});
}

TEST(HistoryChecker, CountsUnknownEndsAsCommittedOnlyWhenSeen) {
  expect_clean({unknown({read(1, {}), append(1, 1)}), at(30, 40, {read(1, {})})});
  expect_clean({unknown({read(1, {}), append(1, 1)}), at(30, 40, {read(1, {1})})});
  expect_found("G-single", {unknown({append(1, 1), append(2, 2)}), at(30, 40, {read(1, {1}), read(2, {})})});
}

TEST(HistoryChecker, FollowsAChainOfUnknownEnds) {
  const Report report = check({unknown({append(1, 1)}), unknown({read(1, {1}), append(2, 2)}),
                               unknown({append(3, 3)}), committed({read(2, {2})})});
  EXPECT_EQ(report.transactions, 3U);
  EXPECT_TRUE(report.anomalies.empty()) << report.to_string();
}

TEST(HistoryChecker, PrintsAWitnessThatAPersonCanFollow) {
  const Report report =
      check({committed({read(1, {}), append(2, 1)}), committed({read(2, {}), append(1, 2)})});
  ASSERT_EQ(report.anomalies.size(), 1U);
  const std::string& witness = report.anomalies.front().witness;
  EXPECT_NE(witness.find("read before the append"), std::string::npos) << witness;
  EXPECT_NE(witness.find("T0 committed 10..20: read 1 []; append 2 1;"), std::string::npos) << witness;
}

}  // namespace
}  // namespace nvmdb::test::isolation
