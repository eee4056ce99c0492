#include "tests/support/isolation/dependency_graph.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace nvmdb::test::isolation {

namespace {

constexpr std::size_t kNone = ~std::size_t{0};
constexpr std::size_t kStartsMax = 1000;

/// Tarjan's algorithm with a stack of its own: paths are as long as the history.
class Tarjan {
 public:
  Tarjan(const DependencyGraph& graph, Reasons reasons)
      : graph_(graph),
        reasons_(reasons),
        order_(graph.size(), kNone),
        low_(graph.size()),
        stacked_(graph.size()) {}

  std::vector<std::vector<std::size_t>> run() {
    for (std::size_t node = 0; node < graph_.size(); ++node) {
      if (order_[node] == kNone) visit(node);
    }
    return std::move(found_);
  }

 private:
  struct Frame {
    std::size_t node;
    std::size_t next_edge;
  };
  void enter(std::size_t node) {
    order_[node] = low_[node] = next_order_++;
    stack_.push_back(node);
    stacked_[node] = true;
    frames_.push_back({node, 0});
  }
  void visit(std::size_t root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const std::size_t node = frame.node;
      if (frame.next_edge == graph_.from(node).size()) {
        leave(node);
        continue;
      }
      const Edge& edge = graph_.from(node)[frame.next_edge++];
      if ((bits(edge.reason) & reasons_) == 0) continue;
      if (order_[edge.to] == kNone) {
        enter(edge.to);
      } else if (stacked_[edge.to]) {
        low_[node] = std::min(low_[node], order_[edge.to]);
      }
    }
  }
  void leave(std::size_t node) {
    frames_.pop_back();
    if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
    if (low_[node] != order_[node]) return;
    std::vector<std::size_t> component;
    std::size_t member = kNone;
    do {
      member = stack_.back();
      stack_.pop_back();
      stacked_[member] = false;
      component.push_back(member);
    } while (member != node);
    if (component.size() > 1) found_.push_back(std::move(component));
  }

  const DependencyGraph& graph_;
  Reasons reasons_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> low_;
  std::vector<bool> stacked_;
  std::vector<std::size_t> stack_;
  std::vector<Frame> frames_;
  std::size_t next_order_ = 0;
  std::vector<std::vector<std::size_t>> found_;
};

}  // namespace

std::vector<std::vector<std::size_t>> DependencyGraph::components(Reasons reasons) const {
  return Tarjan(*this, reasons).run();
}

Cycle DependencyGraph::shortest_cycle(const std::vector<std::size_t>& component, Reasons first,
                                      Reasons rest) const {
  std::vector<bool> inside(size());
  for (const std::size_t node : component) inside[node] = true;
  Cycle best;
  std::size_t starts = 0;
  for (const std::size_t node : component) {
    for (const Edge& edge : edges_[node]) {
      if ((bits(edge.reason) & first) == 0 || !inside[edge.to]) continue;
      if (++starts > kStartsMax) return best;
      Cycle found = path(edge.to, node, rest, inside);
      if (found.empty()) continue;
      found.insert(found.begin(), {node, edge});
      if (best.empty() || found.size() < best.size()) best = std::move(found);
      if (best.size() == 2) return best;
    }
  }
  return best;
}

/// Breadth first.
Cycle DependencyGraph::path(std::size_t from, std::size_t to, Reasons reasons,
                            const std::vector<bool>& inside) const {
  std::unordered_map<std::size_t, std::pair<std::size_t, Edge>> reached;
  std::deque<std::size_t> queue{from};
  while (!queue.empty() && !reached.contains(to)) {
    const std::size_t node = queue.front();
    queue.pop_front();
    for (const Edge& edge : edges_[node]) {
      if ((bits(edge.reason) & reasons) == 0 || !inside[edge.to] || edge.to == from) continue;
      if (reached.try_emplace(edge.to, node, edge).second) queue.push_back(edge.to);
    }
  }
  Cycle cycle;
  for (std::size_t node = to; node != from;) {
    const auto place = reached.find(node);
    if (place == reached.end()) return {};
    cycle.insert(cycle.begin(), place->second);
    node = place->second.first;
  }
  return cycle;
}

}  // namespace nvmdb::test::isolation
