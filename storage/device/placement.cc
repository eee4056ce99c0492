#include "storage/device/placement.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::storage {

Result<PlacementPolicy> parse_placement(std::string_view text) {
  for (const PlacementPolicy policy : {PlacementPolicy::None, PlacementPolicy::Compact, PlacementPolicy::Scatter}) {
    if (text == placement_name(policy)) return policy;
  }
  return Status::invalid_argument("placement \"" + std::string(text) + "\" is none of compact, scatter, none");
}

std::string_view placement_name(PlacementPolicy policy) {
  switch (policy) {
    case PlacementPolicy::None:
      return "none";
    case PlacementPolicy::Compact:
      return "compact";
    case PlacementPolicy::Scatter:
      return "scatter";
  }
  NVMDB_CHECK(false, "unknown placement policy");
}

std::string_view role_name(ThreadRole role) {
  switch (role) {
    case ThreadRole::LogWriter:
      return "log_writers";
    case ThreadRole::Worker:
      return "workers";
    case ThreadRole::Ingest:
      return "ingest";
  }
  NVMDB_CHECK(false, "unknown role of a thread");
}

Seating::Seating(const Topology& topology, PlacementPolicy policy)
    : topology_(topology),
      policy_(policy),
      order_(topology.processors().size()),
      threads_(topology.processors().size(), 0) {
  std::iota(order_.begin(), order_.end(), 0U);
  const auto rank = [&](std::uint32_t index) {
    const Processor& processor = topology_.processors()[index];
    return std::tuple(processor.socket, processor.node, processor.sibling, processor.core, processor.os_index);
  };
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  std::uint32_t channels = 0;
  for (const MemoryNode& node : topology.nodes()) channels = std::max(channels, node.channels);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    for (std::size_t node = 0; node < topology.nodes().size(); ++node) {
      const bool there = channel < topology.nodes()[node].channels && !topology.nodes()[node].processors.empty();
      if (there) slots_.push_back({narrow<std::uint32_t>(node), channel});
    }
  }
}

std::vector<Seat> Seating::take(std::size_t count, std::optional<std::uint32_t> near) {
  std::vector<Seat> seats;
  if (policy_ == PlacementPolicy::None) return seats;
  const std::vector<std::uint32_t> candidates = allowed(near);
  while (seats.size() < count) {
    seats.push_back(take_one(candidates, near));
    ++threads_[seats.back().processor];
  }
  return seats;
}

std::vector<std::uint32_t> Seating::allowed(std::optional<std::uint32_t> near) const {
  if (!near) return order_;
  const MemoryNode& node = topology_.nodes()[*near];
  std::vector<std::uint32_t> found;
  for (const std::uint32_t index : order_) {
    if (std::find(node.processors.begin(), node.processors.end(), index) != node.processors.end()) {
      found.push_back(index);
    }
  }
  // A node without processors: memory on a bus, or its processors were not given to this process.
  for (const std::uint32_t index : order_) {
    if (!node.processors.empty()) break;
    if (topology_.processors()[index].socket == node.socket) found.push_back(index);
  }
  return found.empty() ? order_ : found;
}

std::optional<std::uint32_t> Seating::freest(const std::vector<std::uint32_t>& allowed, std::uint32_t node,
                                             std::uint32_t threads) const {
  const auto& near = topology_.nodes()[node].processors;
  for (const std::uint32_t index : allowed) {
    if (threads_[index] == threads && std::find(near.begin(), near.end(), index) != near.end()) return index;
  }
  return std::nullopt;
}

Seat Seating::take_one(const std::vector<std::uint32_t>& allowed, std::optional<std::uint32_t> near) {
  std::uint32_t fewest = ~0U;
  for (const std::uint32_t index : allowed) fewest = std::min(fewest, threads_[index]);
  if (policy_ == PlacementPolicy::Scatter) {
    for (std::size_t tried = 0; tried < slots_.size(); ++tried) {
      const Slot slot = slots_[(next_slot_ + tried) % slots_.size()];
      if (near && slot.node != *near) continue;
      if (const auto processor = freest(allowed, slot.node, fewest)) {
        next_slot_ = (next_slot_ + tried + 1) % slots_.size();
        return {*processor, slot.node, slot.channel};
      }
    }
  }
  for (const std::uint32_t index : allowed) {
    if (threads_[index] == fewest) return {index, near.value_or(topology_.processors()[index].node), 0};
  }
  NVMDB_CHECK(false, "no processor to place a thread on");
}

Placement Placement::plan(std::shared_ptr<const Topology> topology, PlacementPolicy policy,
                          std::optional<std::uint32_t> log_node,
                          const std::array<std::size_t, kThreadRoleCount>& counts) {
  Placement placement;
  Seating seating(*topology, policy);
  for (std::size_t role = 0; role < kThreadRoleCount; ++role) {
    const bool log_writers = role == static_cast<std::size_t>(ThreadRole::LogWriter);
    placement.seats_[role] = seating.take(counts[role], log_writers ? log_node : std::nullopt);
  }
  placement.policy_ = policy;
  placement.topology_ = std::move(topology);
  return placement;
}

Status Placement::bind_this_thread(ThreadRole role, std::size_t index) const {
  const std::vector<Seat>& of_role = seats(role);
  if (of_role.empty()) return Status::ok();
  return topology_->bind_this_thread(of_role[index % of_role.size()].processor);
}

Status Placement::bind_process(int pid, ThreadRole role, std::size_t index) const {
  const std::vector<Seat>& of_role = seats(role);
  if (of_role.empty()) return Status::ok();
  return topology_->bind_process(pid, of_role[index % of_role.size()].processor);
}

std::string Placement::words(ThreadRole role) const {
  std::string text;
  for (const Seat& seat : seats(role)) {
    text += (text.empty() ? "" : ", ") + std::string("cpu ") +
            std::to_string(topology_->processors()[seat.processor].os_index) + " (node " +
            std::to_string(topology_->nodes()[seat.node].os_index) + ", channel " + std::to_string(seat.channel) +
            ")";
  }
  return text.empty() ? "any" : text;
}

}  // namespace nvmdb::storage
