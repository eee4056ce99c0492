#include "engine/record_memory.h"

#include <new>

#include "storage/base/size_text.h"

namespace nvmdb::engine {

RecordMemory::~RecordMemory() {
  // Only at the end of the database: no reader is left.
  for (; !retired_.empty(); retired_.pop()) retired_.front().cache->free(retired_.front().block, retired_.front().bytes);
}

RecordHead* RecordMemory::new_head() {
  std::byte* block = cache_.allocate(sizeof(RecordHead));
  return block == nullptr ? nullptr : new (block) RecordHead();
}

std::uint32_t RecordMemory::hint_of(const RecordHead* head) const {
  const std::uint64_t place = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(head) - pages_.base()) / sizeof(RecordHead) + 1;
  return place <= 0xffffffffULL ? static_cast<std::uint32_t>(place) : 0;
}

RecordHead* RecordMemory::head_at(std::uint32_t hint) const {
  if (hint == 0) return nullptr;
  return reinterpret_cast<RecordHead*>(pages_.base() + (std::uint64_t{hint} - 1) * sizeof(RecordHead));
}

Tuple* RecordMemory::new_tuple(std::size_t row_bytes) {
  // The whole block is capacity: a row that grows a little is stored in place.
  const std::size_t block = storage::HotPages::class_bytes(storage::HotPages::class_of(Tuple::block_bytes(row_bytes)));
  std::byte* memory = tuple_cache_.allocate(block);
  return memory == nullptr ? nullptr : Tuple::create(memory, block);
}

void RecordMemory::collect() {
  if (retired_.empty()) return;
  // One stamp for all that came since the last call: later than the truth is safe, and the clock's word is shared.
  const std::uint64_t now = clock_.retirement_epoch().value;
  for (std::size_t i = retired_.size(); i-- > 0 && retired_.at(i).epoch == kUnstamped;) retired_.at(i).epoch = now;
  const std::uint64_t oldest = clock_.oldest_pinned().value;
  for (; !retired_.empty() && retired_.front().epoch < oldest; retired_.pop()) {
    retired_.front().cache->free(retired_.front().block, retired_.front().bytes);
  }
}

Status RecordMemory::out_of_space() const {
  return Status::out_of_space("DRAM budget of " + format_size(pages_.bytes_max()) + " reached");
}

}  // namespace nvmdb::engine
