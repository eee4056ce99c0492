#include "tpcc/journal.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>

namespace nvmdb::tpcc {

Result<std::unique_ptr<Journal>> Journal::create(std::uint32_t lanes, std::uint64_t entries) {
  const std::size_t bytes = lanes * (sizeof(Lane) + entries * sizeof(Entry));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Status::out_of_space("no memory for a journal of " + std::to_string(bytes) + " bytes");
  }
  return std::unique_ptr<Journal>(new Journal(static_cast<std::byte*>(memory), bytes, lanes, entries));
}

Journal::~Journal() { munmap(memory_, bytes_); }

void Journal::acknowledge(std::uint32_t number, const Entry& entry) {
  Lane& to = lane(number);
  const std::uint64_t count = to.count.load(std::memory_order_relaxed);
  if (count == capacity_) {
    to.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  first(number)[count] = entry;
  to.count.store(count + 1, std::memory_order_release);
}

std::span<const Journal::Entry> Journal::entries(std::uint32_t number) const {
  return {first(number), static_cast<std::size_t>(lane(number).count.load(std::memory_order_acquire))};
}

std::uint64_t Journal::lost() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < lanes_; ++i) sum += lane(i).lost.load(std::memory_order_relaxed);
  return sum;
}

void Journal::clear() {
  for (std::uint32_t i = 0; i < lanes_; ++i) {
    lane(i).count.store(0, std::memory_order_relaxed);
    lane(i).lost.store(0, std::memory_order_relaxed);
  }
}

}  // namespace nvmdb::tpcc
