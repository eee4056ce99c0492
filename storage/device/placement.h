#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/device/topology.h"

namespace nvmdb::storage {

/// Where threads go.
enum class PlacementPolicy : unsigned char {
  None,     ///< where the system puts them
  Compact,  ///< one node after another, cores before second hardware threads
  Scatter,  ///< over nodes and their memory channels in turn, until all cores are used; then again
};
/// Errors: InvalidArgument (names the three policies).
[[nodiscard]] Result<PlacementPolicy> parse_placement(std::string_view text);
[[nodiscard]] std::string_view placement_name(PlacementPolicy policy);

/// A thread's place.
struct Seat {
  std::uint32_t processor = 0;  ///< index into Topology::processors()
  std::uint32_t node = 0;       ///< index into Topology::nodes(), whose memory the thread is placed for
  std::uint32_t channel = 0;    ///< of the node; which one is not the system's choice to give, only how many
  bool operator==(const Seat&) const = default;
};

/// Hands out seats. No processor gets a second thread while another one that is allowed has fewer.
/// Threads: one.
class Seating {
 public:
  Seating(const Topology& topology, PlacementPolicy policy);
  /// The next `count` seats; none with PlacementPolicy::None. With `near`, only processors near that node, or on
  /// its socket when there are none, or all when there are none there either.
  [[nodiscard]] std::vector<Seat> take(std::size_t count, std::optional<std::uint32_t> near = std::nullopt);

 private:
  struct Slot {
    std::uint32_t node = 0;
    std::uint32_t channel = 0;
  };
  [[nodiscard]] std::vector<std::uint32_t> allowed(std::optional<std::uint32_t> near) const;
  [[nodiscard]] Seat take_one(const std::vector<std::uint32_t>& allowed, std::optional<std::uint32_t> near);
  [[nodiscard]] std::optional<std::uint32_t> freest(const std::vector<std::uint32_t>& allowed, std::uint32_t node,
                                                    std::uint32_t threads) const;

  const Topology& topology_;
  const PlacementPolicy policy_;
  std::vector<std::uint32_t> order_;    ///< processors: node, then first hardware threads, then core
  std::vector<std::uint32_t> threads_;  ///< by processor: placed there
  std::vector<Slot> slots_;             ///< channel 0 of each node, channel 1 of each node, ...
  std::size_t next_slot_ = 0;
};

/// The kinds of threads that are placed.
enum class ThreadRole : std::uint8_t { LogWriter, Worker, Ingest };
inline constexpr std::size_t kThreadRoleCount = 3;
[[nodiscard]] std::string_view role_name(ThreadRole role);

/// The seats of a server's threads, and the binding of threads to them.
/// Threads: const use by any number.
class Placement {
 public:
  /// Log writers first, near `log_node` when it is known; then workers, then ingest.
  [[nodiscard]] static Placement plan(std::shared_ptr<const Topology> topology, PlacementPolicy policy,
                                      std::optional<std::uint32_t> log_node,
                                      const std::array<std::size_t, kThreadRoleCount>& counts);

  [[nodiscard]] PlacementPolicy policy() const { return policy_; }
  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] const std::vector<Seat>& seats(ThreadRole role) const {
    return seats_[static_cast<std::size_t>(role)];
  }
  /// Binds the calling thread to seat `index` of its role (modulo their number); does nothing without seats.
  [[nodiscard]] Status bind_this_thread(ThreadRole role, std::size_t index) const;
  /// Same, of a process with one thread.
  [[nodiscard]] Status bind_process(int pid, ThreadRole role, std::size_t index) const;
  /// "cpu 0 (node 0, channel 0), cpu 12 (node 1, channel 0)", or "any".
  [[nodiscard]] std::string words(ThreadRole role) const;

 private:
  std::shared_ptr<const Topology> topology_;
  PlacementPolicy policy_ = PlacementPolicy::None;
  std::array<std::vector<Seat>, kThreadRoleCount> seats_;
};

}  // namespace nvmdb::storage
