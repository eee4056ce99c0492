#include "engine/record.h"

#include <algorithm>

#include "engine/tuple_slot.h"
#include "storage/base/spin.h"
#include "storage/device/read_hook.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {

namespace {
// About 130 pauses, then the processor is given away some times: a lock is held for microseconds, unless its holder
// was preempted.
constexpr std::uint32_t kWaitRounds = 64;

/// Copies a part of a row in NVM; `copy` has no data when the arena is full. Tuples in NVM pages do not change while
/// anybody can reach them. False when the medium could not be read.
bool copy_slot(const std::byte* slot, std::size_t offset, std::size_t bytes, TransactionArena& arena, ByteSpan& copy) {
  return storage::read_guarded([&] {
    storage::charge_nvm_read(slot, kSlotHeaderBytes);
    const ByteSpan whole = SlotView(slot).row();
    const std::size_t begin = std::min(offset, whole.size());
    const ByteSpan row = whole.subspan(begin, std::min(bytes, whole.size() - begin));
    storage::charge_nvm_read(row.data(), row.size());
    std::byte* to = arena.allocate(row.empty() ? 8 : row.size());
    copy = {to, to == nullptr ? 0 : row.size()};
    if (!copy.empty()) std::memcpy(to, row.data(), row.size());
  });
}

}  // namespace

bool RecordHead::lock(wal::Tid& seen) {
  for (SpinWait spin; spin.rounds() < kWaitRounds; spin.wait()) {
    std::uint64_t word = tid_.load(std::memory_order_relaxed);
    if (word == kDead) return false;
    if ((word & wal::Tid::kLockBit) != 0) continue;
    if (tid_.compare_exchange_strong(word, word | wal::Tid::kLockBit, std::memory_order_seq_cst,
                                     std::memory_order_relaxed)) {
      seen = {word};
      return true;
    }
  }
  return false;
}

RecordHead::Copy RecordHead::read(TransactionArena& arena, std::size_t offset, std::size_t bytes) const {
  const TransactionArena::Mark mark = arena.mark();
  for (SpinWait spin; spin.rounds() < kWaitRounds; spin.wait()) {
    const wal::Tid before{tid_.load(std::memory_order_acquire)};
    if (before.value == kDead) break;
    if (before.locked()) continue;
    if (before.absent()) return {Outcome::Absent, before, {}};
    const TupleAddress place = location();
    ByteSpan row;
    if (const Tuple* tuple = place.tuple(); tuple != nullptr) {
      // A line that is in the cache anyway, and stored to only after the evictor came by.
      if (!referenced_.load(std::memory_order_relaxed)) referenced_.store(true, std::memory_order_relaxed);
      row = tuple->copy(arena, offset, bytes);
    } else if (const std::byte* slot = place.slot(); slot != nullptr) {
      if (!copy_slot(slot, offset, bytes, arena, row)) return {Outcome::Damaged, before, {}};
    } else {
      continue;
    }
    if (row.data() == nullptr) return {Outcome::NoMemory, before, {}};
    if (tid_.load(std::memory_order_acquire) == before.value) return {Outcome::Row, before, row};
    arena.rewind(mark);
  }
  return {Outcome::Busy, {}, {}};
}

}  // namespace nvmdb::engine
