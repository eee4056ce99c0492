#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace nvmdb::test::isolation {

using List = std::vector<std::uint64_t>;

/// A step of a transaction: it read a list, or appended one value to it. A value occurs once in a history.
struct Operation {
  enum class Kind : std::uint8_t { Read, RangeRead, Append };
  Kind kind = Kind::Read;  ///< RangeRead: by a scan that would have shown the list if it had been there
  std::uint64_t key = 0;
  std::uint64_t value = 0;  ///< of an append
  List list{};              ///< of a read; own appends included
};

/// Info: nobody was told how it ended; it counts as committed when somebody saw one of its values.
enum class Outcome : std::uint8_t { Committed, Aborted, Info };

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

struct Transaction {
  Outcome outcome = Outcome::Committed;
  std::uint64_t begin = 0;     ///< on one clock for all clients
  std::uint64_t end = kNoEnd;  ///< when the client knew that it was committed
  std::vector<Operation> operations{};
};

struct Anomaly {
  std::string
      name;  ///< G0, G1a, G1b, G1c, G-single, G2-item, G2, with -realtime; lost update, lost append, ...
  std::string witness;  ///< the transactions, one a line, and why each must come before the next
};

struct Report {
  std::vector<Anomaly> anomalies;
  std::uint64_t transactions = 0;  ///< that count as committed
  std::uint64_t edges = 0;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::string to_string() const;
};

/// Checks that a history of list-append transactions is strictly serializable.
/// Reads tell the order of the values of a list, so the dependencies (ww, wr, rw, and real time) are known;
/// each cycle of them is an anomaly. Time: linear in the history, plus the search for witnesses when there
/// are cycles. Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
/// Observations", VLDB 2021.
[[nodiscard]] Report check(const std::vector<Transaction>& history);

}  // namespace nvmdb::test::isolation
