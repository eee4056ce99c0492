#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nvmdb::test::isolation {

/// Why one transaction comes before another. Predicate: an rw whose reader saw by a scan that the list was
/// not there.
enum class Reason : std::uint8_t { Ww = 1, Wr = 2, Rw = 4, Predicate = 8, RealTime = 16 };

/// A set of reasons.
using Reasons = std::uint8_t;
constexpr Reasons bits(Reason reason) {
  return static_cast<Reasons>(reason);
}

struct Edge {
  std::size_t to;
  Reason reason;
  std::uint64_t key;
};

/// A cycle: transactions, and the edge that leaves each for the next.
using Cycle = std::vector<std::pair<std::size_t, Edge>>;

class DependencyGraph {
 public:
  explicit DependencyGraph(std::size_t nodes) : edges_(nodes) {}
  void add(std::size_t from, std::size_t to, Reason reason, std::uint64_t key) {
    if (from == to) return;
    edges_[from].push_back({to, reason, key});
    ++count_;
  }
  [[nodiscard]] std::size_t size() const { return edges_.size(); }
  [[nodiscard]] std::uint64_t edge_count() const { return count_; }
  [[nodiscard]] const std::vector<Edge>& from(std::size_t node) const { return edges_[node]; }

  /// Strongly connected components of two nodes and more, along edges with the reasons (Tarjan 1972).
  [[nodiscard]] std::vector<std::vector<std::size_t>> components(Reasons reasons) const;
  /// A shortest cycle that begins with an edge of `first` and goes on along `rest`, inside a component; empty
  /// when there is none. Begins at up to 1000 edges, so in a larger component another cycle may be shorter.
  [[nodiscard]] Cycle shortest_cycle(const std::vector<std::size_t>& component, Reasons first,
                                     Reasons rest) const;

 private:
  [[nodiscard]] Cycle path(std::size_t from, std::size_t to, Reasons reasons,
                           const std::vector<bool>& inside) const;

  std::vector<std::vector<Edge>> edges_;
  std::uint64_t count_ = 0;
};

}  // namespace nvmdb::test::isolation
