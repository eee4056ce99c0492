#include "storage/device/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <system_error>

#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::storage {
namespace {

using Set = std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)>;

Set new_set() {
  return {hwloc_bitmap_alloc(), hwloc_bitmap_free};
}

std::uint32_t socket_of(hwloc_topology_t topology, hwloc_const_cpuset_t near) {
  hwloc_obj_t package = hwloc_get_next_obj_covering_cpuset_by_type(topology, near, HWLOC_OBJ_PACKAGE, nullptr);
  if (package == nullptr) {
    package = hwloc_get_next_obj_inside_cpuset_by_type(topology, near, HWLOC_OBJ_PACKAGE, nullptr);
  }
  return package == nullptr ? 0 : package->logical_index;
}

/// Memory modules are Misc objects: below the node they belong to, its parent, or the whole machine.
void each_module(hwloc_obj_t object, const std::function<void(hwloc_obj_t parent)>& visit) {
  for (hwloc_obj_t misc = object->misc_first_child; misc != nullptr; misc = misc->next_sibling) {
    if (misc->subtype != nullptr && std::strcmp(misc->subtype, "MemoryModule") == 0) visit(object);
  }
  for (hwloc_obj_t child = object->memory_first_child; child != nullptr; child = child->next_sibling) {
    each_module(child, visit);
  }
  for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling) {
    each_module(child, visit);
  }
}

}  // namespace

struct Topology::Handle {
  hwloc_topology_t topology = nullptr;
  bool real = false;

  Handle() {
    // Where /sys is missing, as in a chroot, hwloc would say so on stderr; here that is told by what it finds.
    static_cast<void>(setenv("HWLOC_HIDE_ERRORS", "2", 0));
    NVMDB_CHECK(hwloc_topology_init(&topology) == 0, "hwloc cannot be initialised");
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  ~Handle() { hwloc_topology_destroy(topology); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
};

Topology::Topology(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}

Topology::~Topology() = default;

Result<std::shared_ptr<const Topology>> Topology::machine() {
  auto handle = std::make_unique<Handle>();
  handle->real = true;
  return read(std::move(handle));
}

Result<std::shared_ptr<const Topology>> Topology::from_xml(const std::string& xml) {
  auto handle = std::make_unique<Handle>();
  // hwloc wants the length with the terminating zero.
  const int bytes = narrow<int>(xml.size() + 1);
  if (hwloc_topology_set_xmlbuffer(handle->topology, xml.c_str(), bytes) != 0) {
    return Status::invalid_argument("this is not a topology in hwloc's XML");
  }
  return read(std::move(handle));
}

Result<std::shared_ptr<const Topology>> Topology::read(std::unique_ptr<Handle> handle) {
  if (hwloc_topology_load(handle->topology) != 0) {
    const std::string what = handle->real ? "this machine's" : "the XML's";
    const Code code = handle->real ? Code::IoError : Code::InvalidArgument;
    return Status(code, "hwloc cannot read " + what + " topology");
  }
  // hwloc lets these tell that a topology is not the machine's, also when the environment replaces it.
  handle->real = hwloc_topology_is_thissystem(handle->topology) != 0;
  std::shared_ptr<Topology> topology(new Topology(std::move(handle)));
  topology->read_nodes();
  topology->read_processors();
  topology->read_channels();
  if (topology->processors_.empty() || topology->nodes_.empty()) {
    return Status::io_error("hwloc knows no processor or no memory");
  }
  return std::shared_ptr<const Topology>(std::move(topology));
}

void Topology::read_nodes() {
  for (hwloc_obj_t node = hwloc_get_obj_by_type(handle_->topology, HWLOC_OBJ_NUMANODE, 0); node != nullptr;
       node = node->next_cousin) {
    nodes_.push_back({.os_index = node->os_index,
                      .socket = socket_of(handle_->topology, node->cpuset),
                      .channels = 1,
                      .channels_known = false,
                      .processors = {}});
  }
}

void Topology::read_processors() {
  hwloc_topology_t topology = handle_->topology;
  const Set allowed = new_set();
  hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  const Set bound = new_set();
  // taskset and the like: more than these the process was not given.
  if (handle_->real && hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_bitmap_and(allowed.get(), allowed.get(), bound.get());
  }
  for (hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0); pu != nullptr; pu = pu->next_cousin) {
    if (hwloc_bitmap_isset(allowed.get(), pu->os_index) == 0) continue;
    Processor processor{.os_index = pu->os_index,
                        .core = pu->logical_index,
                        .sibling = 0,
                        .socket = socket_of(topology, pu->cpuset),
                        .node = 0};
    if (const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu); core != nullptr) {
      processor.core = core->logical_index;
    }
    for (const Processor& other : processors_) processor.sibling += other.core == processor.core ? 1 : 0;
    const auto index = narrow<std::uint32_t>(processors_.size());
    bool first = true;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, narrow<unsigned>(i));
      if (hwloc_bitmap_isset(node->cpuset, pu->os_index) == 0) continue;
      nodes_[i].processors.push_back(index);
      if (std::exchange(first, false)) processor.node = narrow<std::uint32_t>(i);
    }
    processors_.push_back(processor);
  }
}

void Topology::read_channels() {
  std::vector<std::uint32_t> own(nodes_.size(), 0);
  std::uint32_t shared = 0;
  each_module(hwloc_get_root_obj(handle_->topology), [&](hwloc_obj_t parent) {
    if (parent->type == HWLOC_OBJ_NUMANODE) {
      ++own[parent->logical_index];
      return;
    }
    // A module at a package is its node's; one at the machine may be anywhere.
    std::vector<std::size_t> inside;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const hwloc_obj_t node = hwloc_get_obj_by_type(handle_->topology, HWLOC_OBJ_NUMANODE, narrow<unsigned>(i));
      if (parent->cpuset != nullptr && hwloc_bitmap_isincluded(node->cpuset, parent->cpuset) != 0) inside.push_back(i);
    }
    if (inside.size() == 1) {
      ++own[inside.front()];
    } else {
      ++shared;
    }
  });
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::uint32_t modules = own[i] + shared / narrow<std::uint32_t>(nodes_.size());
    nodes_[i].channels_known = modules > 0;
    nodes_[i].channels = std::max(1U, modules);
  }
}

std::optional<std::uint32_t> Topology::node_of(const void* memory, std::uint64_t bytes) const {
  if (!handle_->real || bytes == 0) return std::nullopt;
  const Set found = new_set();
  if (hwloc_get_area_memlocation(handle_->topology, memory, bytes, found.get(), HWLOC_MEMBIND_BYNODESET) != 0 ||
      hwloc_bitmap_weight(found.get()) != 1) {
    return std::nullopt;
  }
  const auto os_index = as_unsigned(hwloc_bitmap_first(found.get()));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].os_index == os_index) return narrow<std::uint32_t>(i);
  }
  return std::nullopt;
}

std::string Topology::words() const {
  std::set<std::uint32_t> sockets;
  std::set<std::uint32_t> cores;
  for (const Processor& processor : processors_) {
    sockets.insert(processor.socket);
    cores.insert(processor.core);
  }
  const auto count = [](std::size_t number, const std::string& what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  std::string channels;
  for (const MemoryNode& node : nodes_) {
    channels += (channels.empty() ? "" : " + ") + (node.channels_known ? std::to_string(node.channels) : "unknown");
  }
  return count(sockets.size(), "socket") + ", " + count(processors_.size(), "processor") + " on " +
         count(cores.size(), "core") + ", " + count(nodes_.size(), "memory node") + ", memory modules: " + channels;
}

Status Topology::bind_this_thread(std::uint32_t index) const {
  return bind_process(0, index);
}

Status Topology::bind_process(int pid, std::uint32_t index) const {
  NVMDB_CHECK(index < processors_.size(), "no such processor");
  if (!handle_->real) return Status::invalid_argument("threads cannot be bound to another machine's processors");
  const Set set = new_set();
  hwloc_bitmap_only(set.get(), processors_[index].os_index);
  const int failed = pid == 0 ? hwloc_set_cpubind(handle_->topology, set.get(), HWLOC_CPUBIND_THREAD)
                              : hwloc_set_proc_cpubind(handle_->topology, pid, set.get(), 0);
  if (failed == 0) return Status::ok();
  return Status::io_error("bind to processor " + std::to_string(processors_[index].os_index) + ": " +
                          std::generic_category().message(errno));
}

}  // namespace nvmdb::storage
