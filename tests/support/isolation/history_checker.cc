#include "tests/support/isolation/history_checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <unordered_map>

#include "tests/support/isolation/dependency_graph.h"

namespace nvmdb::test::isolation {

namespace {

constexpr std::size_t kNobody = ~std::size_t{0};
constexpr std::size_t kAnomaliesMax = 50;

std::string text(std::span<const std::uint64_t> list) {
  // The end of a long list tells the story.
  constexpr std::size_t kShown = 12;
  std::string out = list.size() > kShown ? "[.. " : "[";
  for (std::size_t i = list.size() > kShown ? list.size() - kShown : 0; i < list.size(); ++i) {
    out += (out.size() > 4 || (out.size() > 1 && out[1] != '.') ? " " : "") + std::to_string(list[i]);
  }
  return out + "]";
}

std::string text(const Operation& operation) {
  const std::string key = " " + std::to_string(operation.key) + " ";
  switch (operation.kind) {
    case Operation::Kind::Read:
      return "read" + key + text(operation.list);
    case Operation::Kind::RangeRead:
      return "scan" + key + text(operation.list);
    case Operation::Kind::Append:
      break;
  }
  return "append" + key + std::to_string(operation.value);
}

bool begins_with(const List& list, std::span<const std::uint64_t> beginning) {
  return beginning.size() <= list.size() && std::equal(beginning.begin(), beginning.end(), list.begin());
}

/// What others had made of a list when a transaction read it: all of it before the transaction's own first
/// append, or what comes before its own appends.
struct ExternalRead {
  std::size_t reader;
  bool by_range;  ///< and without an own append that made the list
  std::span<const std::uint64_t> saw;
};

struct KeyHistory {
  List order;  ///< the longest list that was read: the order of versions
  std::vector<std::uint64_t> committed_appends;
  std::vector<ExternalRead> reads;
  std::map<std::uint64_t, std::vector<std::size_t>>
      updates;  ///< by the last value read: who appended to that
  std::uint64_t last_read_begin = 0;
};

class Checker {
 public:
  explicit Checker(const std::vector<Transaction>& history)
      : history_(history), counts_(history.size()), graph_(history.size()) {}

  Report run() {
    note_writers();
    promote_observed();
    for (std::size_t node = 0; node < history_.size(); ++node) {
      if (counts_[node]) note_transaction(node);
    }
    for (auto& [key, list] : keys_) note_key(key, list);
    add_real_time();
    find_cycles();
    report_.edges = graph_.edge_count();
    return std::move(report_);
  }

 private:
  void found(std::string name, const std::string& what, const std::vector<std::size_t>& nodes) {
    if (report_.anomalies.size() >= kAnomaliesMax) return;
    std::string witness = what;
    for (const std::size_t node : nodes) witness += "\n  " + describe(node);
    report_.anomalies.push_back({std::move(name), std::move(witness)});
  }
  [[nodiscard]] std::string describe(std::size_t node) const {
    static constexpr const char* kOutcomes[] = {"committed", "aborted", "info"};
    const Transaction& transaction = history_[node];
    std::string out = "T" + std::to_string(node) + " " + kOutcomes[static_cast<int>(transaction.outcome)] +
                      " " + std::to_string(transaction.begin) + ".." +
                      (transaction.end == kNoEnd ? std::string("?") : std::to_string(transaction.end)) + ":";
    for (const Operation& operation : transaction.operations) out += " " + text(operation) + ";";
    return out;
  }

  void note_writers() {
    for (std::size_t node = 0; node < history_.size(); ++node) {
      counts_[node] = history_[node].outcome == Outcome::Committed;
      for (const Operation& operation : history_[node].operations) {
        if (operation.kind != Operation::Kind::Append) continue;
        const auto [place, fresh] = writers_.try_emplace(operation.value, node);
        if (!fresh) found("bad history", "a value was appended twice", {place->second, node});
      }
    }
  }
  /// An unknown end is a commit when a transaction that counts saw a value of it; that may make others count.
  void promote_observed() {
    std::vector<std::size_t> work;
    for (std::size_t node = 0; node < history_.size(); ++node) {
      if (counts_[node]) work.push_back(node);
    }
    while (!work.empty()) {
      const std::size_t reader = work.back();
      work.pop_back();
      for (const Operation& operation : history_[reader].operations) {
        // Lists are prefixes of one another: all values seen are looked at, for an anomaly may hide any of
        // them.
        for (const std::uint64_t value : operation.list) {
          const std::size_t node = writer(value);
          if (node == kNobody || counts_[node] || history_[node].outcome != Outcome::Info) continue;
          counts_[node] = true;
          work.push_back(node);
        }
      }
    }
  }
  [[nodiscard]] std::size_t writer(std::uint64_t value) const {
    const auto place = writers_.find(value);
    return place == writers_.end() ? kNobody : place->second;
  }

  /// Internal consistency, and what the transaction says about each list.
  void note_transaction(std::size_t node) {
    ++report_.transactions;
    struct Own {
      bool known = false;  ///< `list` is what the next read must show; else what it must end with
      List list;
      bool appended = false;
    };
    std::map<std::uint64_t, Own> seen;
    for (const Operation& operation : history_[node].operations) {
      Own& own = seen[operation.key];
      KeyHistory& list = keys_[operation.key];
      if (operation.kind == Operation::Kind::Append) {
        if (!own.appended && own.known) {
          list.updates[own.list.empty() ? 0 : own.list.back()].push_back(node);
        }
        own.appended = true;
        own.list.push_back(operation.value);
        list.committed_appends.push_back(operation.value);
        continue;
      }
      const bool agrees = own.known
                              ? own.list == operation.list
                              : own.list.size() <= operation.list.size() &&
                                    std::equal(own.list.rbegin(), own.list.rend(), operation.list.rbegin());
      if (!agrees)
        found("internal",
              "a read of list " + std::to_string(operation.key) + " contradicts the transaction itself",
              {node});
      if (agrees && !own.known) {
        const bool by_range = operation.kind == Operation::Kind::RangeRead && !own.appended;
        const std::size_t others = operation.list.size() - own.list.size();
        list.reads.push_back({node, by_range, std::span(operation.list).first(others)});
        list.last_read_begin = std::max(list.last_read_begin, history_[node].begin);
      }
      if (!own.known) own.list = operation.list;
      own.known = true;
      if (operation.list.size() > list.order.size()) list.order = operation.list;
    }
  }

  void note_key(std::uint64_t key, KeyHistory& list) {
    std::unordered_map<std::uint64_t, std::size_t> places;
    for (std::size_t i = 0; i < list.order.size(); ++i) {
      const auto [place, fresh] = places.try_emplace(list.order[i], i);
      if (!fresh)
        found("duplicate",
              "value " + std::to_string(list.order[i]) + " is twice in a list: " + text(list.order), {});
      check_committed(key, list.order[i]);
    }
    for (std::size_t i = 1; i < list.order.size(); ++i) add(list.order[i - 1], list.order[i], key);
    for (const ExternalRead& read : list.reads) note_read(key, list, read);
    note_unseen(key, list, places);
    for (const auto& [value, nodes] : list.updates) {
      if (nodes.size() > 1)
        found("lost update", "list " + std::to_string(key) + " was updated twice from the same version",
              nodes);
    }
  }
  void check_committed(std::uint64_t key, std::uint64_t value) {
    const std::size_t node = writer(value);
    const std::string what = "value " + std::to_string(value) + " in list " + std::to_string(key);
    if (node == kNobody) found("G1a", what + " was never written", {});
    if (node != kNobody && history_[node].outcome == Outcome::Aborted)
      found("G1a", what + " is of an aborted transaction", {node});
  }
  void add(std::uint64_t earlier, std::uint64_t later, std::uint64_t key) {
    const std::size_t from = writer(earlier);
    const std::size_t to = writer(later);
    if (from != kNobody && to != kNobody) graph_.add(from, to, Reason::Ww, key);
  }
  void note_read(std::uint64_t key, const KeyHistory& list, const ExternalRead& read) {
    const std::span<const std::uint64_t> saw = read.saw;
    if (!begins_with(list.order, saw)) {
      for (const std::uint64_t value : saw) check_committed(key, value);
      found("incompatible order", "list " + std::to_string(key) + " was also read as " + text(list.order),
            {read.reader});
      return;
    }
    if (!saw.empty()) {
      const std::size_t from = writer(saw.back());
      if (from != kNobody && from != read.reader) {
        graph_.add(from, read.reader, Reason::Wr, key);
        check_intermediate(key, saw.back(), from, read.reader);
      }
    }
    if (saw.size() < list.order.size()) add_anti(read, list.order[saw.size()], key);
  }
  void add_anti(const ExternalRead& read, std::uint64_t value, std::uint64_t key) {
    const std::size_t to = writer(value);
    const bool predicate = read.by_range && read.saw.empty();
    if (to != kNobody) graph_.add(read.reader, to, predicate ? Reason::Predicate : Reason::Rw, key);
  }
  void check_intermediate(std::uint64_t key, std::uint64_t value, std::size_t from, std::size_t reader) {
    const auto& operations = history_[from].operations;
    const auto last = std::find_if(operations.rbegin(), operations.rend(), [&](const Operation& operation) {
      return operation.kind == Operation::Kind::Append && operation.key == key;
    });
    if (last == operations.rend() || last->value == value) return;
    found("G1b", "list " + std::to_string(key) + " was read between two appends of one transaction",
          {from, reader});
  }
  /// Values that no read shows: they come after the longest list, unless a reader began when they had been
  /// committed.
  void note_unseen(std::uint64_t key, const KeyHistory& list,
                   const std::unordered_map<std::uint64_t, std::size_t>& places) {
    for (const std::uint64_t value : list.committed_appends) {
      if (places.contains(value)) continue;
      const std::size_t node = writer(value);
      if (history_[node].end < list.last_read_begin) {
        found("lost append",
              "value " + std::to_string(value) + " of list " + std::to_string(key) +
                  " is gone; the list is " + text(list.order),
              {node});
      }
      if (!list.order.empty()) add(list.order.back(), value, key);
      for (const ExternalRead& read : list.reads) {
        if (read.saw.size() == list.order.size()) add_anti(read, value, key);
      }
    }
  }

  /// Edges from each transaction to those that began after its end; those that follow from others are left
  /// out.
  void add_real_time() {
    struct Event {
      std::uint64_t time;
      bool is_end;
      std::size_t node;
    };
    std::vector<Event> events;
    for (std::size_t node = 0; node < history_.size(); ++node) {
      if (!counts_[node]) continue;
      events.push_back({history_[node].begin, false, node});
      if (history_[node].end != kNoEnd) events.push_back({history_[node].end, true, node});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.is_end < b.is_end;
    });
    // Ended, and nobody who began after that has ended: one for each client at most.
    std::vector<std::size_t> frontier;
    for (const Event& event : events) {
      if (!event.is_end) {
        for (const std::size_t node : frontier) graph_.add(node, event.node, Reason::RealTime, 0);
        continue;
      }
      std::erase_if(frontier,
                    [&](std::size_t node) { return history_[node].end < history_[event.node].begin; });
      frontier.push_back(event.node);
    }
  }

  /// The gravest kind of each knot of transactions: what has fewer kinds of edges is graver.
  void find_cycles() {
    constexpr Reasons kWw = bits(Reason::Ww);
    constexpr Reasons kWwWr = kWw | bits(Reason::Wr);
    constexpr Reasons kRw = bits(Reason::Rw) | bits(Reason::Predicate);
    constexpr Reasons kTime = bits(Reason::RealTime);
    for (const Reasons time : {Reasons{0}, kTime}) {
      search("G0", kWw | time, kWw | time);
      search("G1c", kWw | bits(Reason::Wr) | time, kWwWr | time);
      search("G-single", kRw, kWwWr | time);
      search("G2", kRw, kWwWr | kRw | time);
    }
  }
  void search(const std::string& name, Reasons first, Reasons rest) {
    for (const auto& component : graph_.components(first | rest)) {
      // A knot of which a part was explained already is not explained again.
      if (std::any_of(component.begin(), component.end(),
                      [&](std::size_t node) { return explained_.contains(node); }))
        continue;
      const Cycle cycle = graph_.shortest_cycle(component, first, rest);
      if (cycle.empty()) continue;
      explained_.insert(component.begin(), component.end());
      report_cycle(name, cycle);
    }
  }
  void report_cycle(const std::string& base, const Cycle& cycle) {
    bool timed = false;
    bool predicate = false;
    std::string why;
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const auto& [node, edge] = cycle[i];
      nodes.push_back(node);
      timed = timed || edge.reason == Reason::RealTime;
      predicate = predicate || edge.reason == Reason::Predicate;
      why += "T" + std::to_string(node) + " < T" + std::to_string(edge.to) + " (" + explain(edge) + ") ";
    }
    const std::string item = base == "G2" && !predicate ? "G2-item" : base;
    found(item + (timed ? "-realtime" : ""), why, nodes);
  }
  static std::string explain(const Edge& edge) {
    const std::string key = " of list " + std::to_string(edge.key);
    switch (edge.reason) {
      case Reason::Ww:
        return "appended before," + key;
      case Reason::Wr:
        return "its append was read," + key;
      case Reason::Rw:
        return "read before the append," + key;
      case Reason::Predicate:
        return "scanned before the insertion," + key;
      case Reason::RealTime:
        break;
    }
    return "ended before the other began";
  }

  const std::vector<Transaction>& history_;
  std::vector<char> counts_;  ///< as committed
  std::unordered_map<std::uint64_t, std::size_t> writers_;
  std::map<std::uint64_t, KeyHistory> keys_;
  DependencyGraph graph_;
  std::set<std::size_t> explained_;
  Report report_;
};

}  // namespace

bool Report::has(const std::string& name) const {
  return std::any_of(anomalies.begin(), anomalies.end(),
                     [&](const Anomaly& anomaly) { return anomaly.name == name; });
}

std::string Report::to_string() const {
  std::ostringstream out;
  out << transactions << " transactions, " << edges << " dependencies, " << anomalies.size() << " anomalies";
  for (const Anomaly& anomaly : anomalies) out << "\n" << anomaly.name << ": " << anomaly.witness;
  return out.str();
}

Report check(const std::vector<Transaction>& history) {
  return Checker(history).run();
}

}  // namespace nvmdb::test::isolation
