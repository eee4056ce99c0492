#include "engine/record.h"

#include "storage/base/spin.h"

namespace nvmdb::engine {

namespace {
// About 130 pauses, then the processor is given away some times: a lock is held for microseconds, unless its holder
// was preempted.
constexpr std::uint32_t kWaitRounds = 64;
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

RecordHead::Copy RecordHead::read(TransactionArena& arena) const {
  const TransactionArena::Mark mark = arena.mark();
  for (SpinWait spin; spin.rounds() < kWaitRounds; spin.wait()) {
    const wal::Tid before{tid_.load(std::memory_order_acquire)};
    if (before.value == kDead) break;
    if (before.locked()) continue;
    if (before.absent()) return {Outcome::Absent, before, {}};
    const Tuple* tuple = location().tuple();
    if (tuple == nullptr) continue;
    const ByteSpan row = tuple->copy(arena);
    if (row.data() == nullptr) return {Outcome::NoMemory, before, {}};
    if (tid_.load(std::memory_order_acquire) == before.value) return {Outcome::Row, before, row};
    arena.rewind(mark);
  }
  return {Outcome::Busy, {}, {}};
}

}  // namespace nvmdb::engine
