#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/result.h"

namespace nvmdb::storage {

/// A hardware thread that this process may run on.
struct Processor {
  std::uint32_t os_index = 0;
  std::uint32_t core = 0;     ///< of the machine, counted by hwloc
  std::uint32_t sibling = 0;  ///< rank among the hardware threads of its core
  std::uint32_t socket = 0;
  std::uint32_t node = 0;  ///< index into Topology::nodes() of its first local memory
};

/// A NUMA node: memory with the processors near it.
struct MemoryNode {
  std::uint32_t os_index = 0;
  std::uint32_t socket = 0;
  std::uint32_t channels = 1;  ///< memory modules known at it; 1 when the machine tells of none
  bool channels_known = false;
  std::vector<std::uint32_t> processors;  ///< indices into Topology::processors() that are near
};

/// The machine as placement sees it: processors, memory nodes and their channels (memory modules). Found with
/// hwloc, within the processors that the process may use.
/// Threads: const use by any number.
class Topology {
 public:
  /// This machine. Errors: IoError (hwloc cannot tell).
  [[nodiscard]] static Result<std::shared_ptr<const Topology>> machine();
  /// Another machine, from hwloc's XML; threads cannot be bound to it. Errors: InvalidArgument.
  [[nodiscard]] static Result<std::shared_ptr<const Topology>> from_xml(const std::string& xml);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] std::span<const Processor> processors() const { return processors_; }
  [[nodiscard]] std::span<const MemoryNode> nodes() const { return nodes_; }
  /// Index of the node that holds this memory, when all of it that is present is on one node.
  [[nodiscard]] std::optional<std::uint32_t> node_of(const void* memory, std::uint64_t bytes) const;
  /// "2 sockets, 24 processors on 12 cores, 2 memory nodes with 6 + 6 memory modules".
  [[nodiscard]] std::string words() const;

  /// Binds the calling thread to processors()[index].
  /// Errors: InvalidArgument (not this machine), IoError (the system refuses).
  [[nodiscard]] Status bind_this_thread(std::uint32_t index) const;
  /// Binds a process with one thread. Errors: as bind_this_thread().
  [[nodiscard]] Status bind_process(int pid, std::uint32_t index) const;

 private:
  struct Handle;
  explicit Topology(std::unique_ptr<Handle> handle);
  [[nodiscard]] static Result<std::shared_ptr<const Topology>> read(std::unique_ptr<Handle> handle);
  void read_nodes();
  void read_processors();
  void read_channels();

  std::unique_ptr<Handle> handle_;
  std::vector<Processor> processors_;
  std::vector<MemoryNode> nodes_;
};

}  // namespace nvmdb::storage
