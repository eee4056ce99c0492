// Goal:   concurrent transactions are serializable, in an order that respects the order of each thread.
// Method: list-append. Rows are lists; a transaction reads lists and appends values that occur once. The longest
//         version of each list tells the order of its writers, so the dependencies between transactions are known:
//         ww (append after append), wr (read of an append), rw (an append after what was read), and the order of the
//         transactions of one thread. A cycle is an anomaly (G0, G1c, G-single, G2, depending on its edges); so is a
//         value that no committed transaction wrote (G1a), that is not the last of its transaction (G1b), or that is
//         missing (lost update). The same check must find an engine that does not validate.
// Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations", VLDB 2021.

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <thread>
#include <vector>

#include "storage/base/random.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;
using List = std::vector<std::uint64_t>;

constexpr std::uint64_t kThreads = 4;
constexpr std::uint64_t kKeysAtOnce = 6;

/// What a committed transaction saw before its own appends, and what it appended.
struct Observation {
  std::map<std::uint64_t, List> read;
  std::map<std::uint64_t, List> appended;
};

Bytes encode(const List& list) {
  Bytes row(list.size() * 8);
  std::memcpy(row.data(), list.data(), row.size());
  return row;
}
List decode(ByteSpan row) {
  List list(row.size() / 8);
  if (!row.empty()) std::memcpy(list.data(), row.data(), row.size());
  return list;
}

/// Lets another thread run at places where interleavings matter, also on one processor.
void disturb(SeededRandom& random) {
  if (random.chance(0.3)) sched_yield();
}

class Workload {
 public:
  Workload(engine::Database& database, std::uint64_t seed, std::uint64_t transactions)
      : database_(database), seed_(seed), transactions_(transactions) {}

  /// The committed transactions of each thread in their order.
  std::vector<std::vector<Observation>> run() {
    std::vector<std::vector<Observation>> history(kThreads);
    std::vector<std::thread> threads;
    for (std::uint64_t id = 0; id < kThreads; ++id) {
      threads.emplace_back([&, id] { run_thread(id, history[id]); });
    }
    for (std::thread& thread : threads) thread.join();
    return history;
  }
  std::map<std::uint64_t, List> final_lists() {
    std::map<std::uint64_t, List> lists;
    EXPECT_TRUE(database_.run([&](Transaction& t) {
      lists.clear();
      return t.scan(1, key1(0), key1(~0ULL), [&](const index::Key& key, ByteSpan row) {
        lists[key.words[0]] = decode(row);
        return true;
      });
    }).is_ok());
    return lists;
  }

 private:
  void run_thread(std::uint64_t id, std::vector<Observation>& history) {
    SeededRandom random(seed_ * 100 + id);
    for (std::uint64_t i = 0; i < transactions_; ++i) {
      // The lists worked on move along, so that they stay short.
      const std::uint64_t first = i / 20 * kKeysAtOnce;
      Observation observation;
      const auto receipt = database_.run([&](Transaction& t) {
        observation = {};
        return attempt(t, random, first, observation);
      });
      ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
      history.push_back(std::move(observation));
    }
  }
  Status attempt(Transaction& t, SeededRandom& random, std::uint64_t first, Observation& observation) {
    for (std::uint64_t step = 1 + random.below(4); step-- > 0;) {
      disturb(random);
      if (random.chance(0.25)) {
        NVMDB_TRY(scan(t, first, observation));
        continue;
      }
      const std::uint64_t key = first + random.below(kKeysAtOnce);
      NVMDB_ASSIGN(List list, read(t, key, observation));
      if (random.chance(0.4)) continue;
      disturb(random);
      list.push_back(next_value_.fetch_add(1));
      observation.appended[key].push_back(list.back());
      NVMDB_TRY(t.put(1, key1(key), encode(list)));
    }
    disturb(random);
    return Status::ok();
  }
  static void note(std::uint64_t key, const List& list, Observation& observation) {
    const auto own = observation.appended.find(key);
    const std::size_t own_count = own == observation.appended.end() ? 0 : own->second.size();
    if (own_count == 0) observation.read.try_emplace(key, list);
  }
  static Result<List> read(Transaction& t, std::uint64_t key, Observation& observation) {
    const auto row = t.read(1, key1(key));
    if (!row.is_ok() && row.status().code() != Code::NotFound) return row.status();
    List list = row.is_ok() ? decode(*row) : List{};
    note(key, list, observation);
    return list;
  }
  static Status scan(Transaction& t, std::uint64_t first, Observation& observation) {
    std::map<std::uint64_t, List> found;
    NVMDB_TRY(t.scan(1, key1(first), key1(first + kKeysAtOnce - 1), [&](const index::Key& key, ByteSpan row) {
      found[key.words[0]] = decode(row);
      return true;
    }));
    for (std::uint64_t key = first; key < first + kKeysAtOnce; ++key) note(key, found[key], observation);
    return Status::ok();
  }

  engine::Database& database_;
  std::uint64_t seed_;
  std::uint64_t transactions_;
  std::atomic<std::uint64_t> next_value_{1};
};

struct Anomalies {
  std::uint64_t transactions = 0;
  std::uint64_t edges = 0;
  std::uint64_t aborted_reads = 0;     ///< a value of no committed transaction
  std::uint64_t not_prefixes = 0;      ///< two versions of a list of which none is the beginning of the other
  std::uint64_t split_writes = 0;      ///< the appends of one transaction are not neighbours, or seen in part
  std::uint64_t lost_values = 0;       ///< a committed append is not there in the end
  std::uint64_t in_cycles = 0;         ///< transactions that no serial order can place
  [[nodiscard]] std::uint64_t total() const {
    return aborted_reads + not_prefixes + split_writes + lost_values + in_cycles;
  }
};

class Checker {
 public:
  Checker(const std::vector<std::vector<Observation>>& history, const std::map<std::uint64_t, List>& lists)
      : lists_(lists) {
    for (const auto& thread : history) {
      for (std::size_t i = 0; i < thread.size(); ++i) {
        const std::size_t node = transactions_.size();
        transactions_.push_back(&thread[i]);
        after_.emplace_back();
        if (i > 0) add_edge(node - 1, node);
        for (const auto& [key, values] : thread[i].appended) {
          for (const std::uint64_t value : values) writer_[value] = node;
        }
      }
    }
  }

  Anomalies check() {
    found_.transactions = transactions_.size();
    for (const auto& [key, list] : lists_) check_list(list);
    for (std::size_t node = 0; node < transactions_.size(); ++node) {
      check_writes(*transactions_[node]);
      for (const auto& [key, list] : transactions_[node]->read) check_read(node, key, list);
    }
    find_cycles();
    return found_;
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};
  void add_edge(std::size_t from, std::size_t to) {
    if (from == to || from == kNobody || to == kNobody) return;
    after_[from].push_back(to);
    ++found_.edges;
  }
  [[nodiscard]] std::size_t writer(std::uint64_t value) {
    const auto place = writer_.find(value);
    if (place != writer_.end()) return place->second;
    ++found_.aborted_reads;
    return kNobody;
  }
  void check_list(const List& list) {
    for (std::size_t i = 1; i < list.size(); ++i) add_edge(writer(list[i - 1]), writer(list[i]));
  }
  void check_writes(const Observation& transaction) {
    for (const auto& [key, values] : transaction.appended) {
      const List& list = list_of(key);
      const auto place = std::search(list.begin(), list.end(), values.begin(), values.end());
      if (place != list.end()) continue;
      const bool all = std::all_of(values.begin(), values.end(),
                                   [&](std::uint64_t value) { return std::count(list.begin(), list.end(), value) == 1; });
      ++(all ? found_.split_writes : found_.lost_values);
    }
  }
  void check_read(std::size_t node, std::uint64_t key, const List& list) {
    const List& whole = list_of(key);
    if (list.size() > whole.size() || !std::equal(list.begin(), list.end(), whole.begin())) {
      ++found_.not_prefixes;
      return;
    }
    if (!list.empty()) {
      const std::size_t from = writer(list.back());
      add_edge(from, node);
      if (from != kNobody && transactions_[from]->appended.at(key).back() != list.back()) ++found_.split_writes;
    }
    if (list.size() < whole.size()) add_edge(node, writer(whole[list.size()]));
  }
  [[nodiscard]] const List& list_of(std::uint64_t key) const {
    static const List kEmpty;
    const auto place = lists_.find(key);
    return place == lists_.end() ? kEmpty : place->second;
  }
  /// Takes away, again and again, transactions that nothing must come before; what is left is in or behind a cycle.
  void find_cycles() {
    std::vector<std::size_t> before(after_.size());
    for (const auto& edges : after_) {
      for (const std::size_t to : edges) ++before[to];
    }
    std::vector<std::size_t> ready;
    for (std::size_t node = 0; node < before.size(); ++node) {
      if (before[node] == 0) ready.push_back(node);
    }
    std::size_t placed = 0;
    while (!ready.empty()) {
      const std::size_t node = ready.back();
      ready.pop_back();
      ++placed;
      for (const std::size_t to : after_[node]) {
        if (--before[to] == 0) ready.push_back(to);
      }
    }
    found_.in_cycles = after_.size() - placed;
  }

  const std::map<std::uint64_t, List>& lists_;
  std::vector<const Observation*> transactions_;
  std::vector<std::vector<std::size_t>> after_;
  std::map<std::uint64_t, std::size_t> writer_;
  Anomalies found_;
};

Anomalies run_workload(std::uint64_t seed, std::uint64_t transactions, const engine::PlantedFaults& faults) {
  RecordedMedia media({.pages = 64});
  engine::DatabaseOptions options = small_options(true);
  options.log.log_bytes_max = 120ULL << 20U;
  const auto database = open_database(media, options);
  engine::EngineTestAccess::faults(*database) = faults;
  Workload workload(*database, seed, transactions);
  const auto history = workload.run();
  const auto lists = workload.final_lists();
  const Anomalies found = Checker(history, lists).check();
  std::cout << "seed " << seed << ": " << found.transactions << " transactions, " << found.edges << " dependencies, "
            << database->statistics().aborts << " aborts; aborted reads " << found.aborted_reads << ", not prefixes "
            << found.not_prefixes << ", split " << found.split_writes << ", lost " << found.lost_values
            << ", in cycles " << found.in_cycles << "\n";
  return found;
}

TEST(ListAppend, ConcurrentTransactionsAreSerializable) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Anomalies found = run_workload(seed, 4000, {});
    EXPECT_EQ(found.total(), 0U) << "seed " << seed;
    EXPECT_GT(found.edges, 20000U);
  }
}

/// Runs a broken engine until the check finds it.
void expect_found(const engine::PlantedFaults& faults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    if (run_workload(seed, 2000, faults).total() > 0) return;
  }
  ADD_FAILURE() << "the fault was not found";
}

TEST(ListAppend, FindsAnEngineThatDoesNotValidateReads) { expect_found({.skip_read_validation = true}); }

TEST(ListAppend, FindsAnEngineThatDoesNotValidateLeaves) { expect_found({.skip_leaf_validation = true}); }

/// Tiny transactions that all want the same few rows: nothing is lost and everybody gets through.
TEST(ListAppend, CountersUnderContentionLoseNothing) {
  RecordedMedia media({.pages = 32});
  engine::DatabaseOptions options = small_options(true);
  options.log.log_bytes_max = 60ULL << 20U;
  const auto database = open_database(media, options);
  constexpr std::uint64_t kAdds = 5000;
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kAdds; ++i) {
        const auto receipt = database->run([](Transaction& t) { return put(t, 1, get(t, 1).value_or(0) + 1); });
        ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(database->run([](Transaction& t) {
    EXPECT_EQ(get(t, 1), kThreads * kAdds);
    return Status::ok();
  }).is_ok());
}

}  // namespace
}  // namespace nvmdb::test
