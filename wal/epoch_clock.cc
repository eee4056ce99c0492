#include "wal/epoch_clock.h"

#include <algorithm>
#include <thread>

#include "storage/base/check.h"

namespace nvmdb::wal {
namespace {

constexpr unsigned kSpins = 64;

void raise(std::atomic<std::size_t>& value, std::size_t least) {
  std::size_t seen = value.load(std::memory_order_seq_cst);
  while (seen < least && !value.compare_exchange_weak(seen, least, std::memory_order_seq_cst)) {
  }
}

/// Publishes the current epoch in `word` such that the epoch was still current after the store was visible.
Epoch publish_current(const std::atomic<std::uint64_t>& global, std::atomic<std::uint64_t>& word) {
  std::uint64_t epoch = global.load(std::memory_order_seq_cst);
  for (;;) {
    word.store(epoch, std::memory_order_seq_cst);
    const std::uint64_t again = global.load(std::memory_order_seq_cst);
    if (again == epoch) return {epoch};
    epoch = again;
  }
}

}  // namespace

EpochClock::Slot* EpochClock::acquire_slot() {
  for (std::size_t i = 0; i < kMaxSlots; ++i) {
    if (slots_[i].used.load(std::memory_order_relaxed)) continue;
    if (slots_[i].used.exchange(true, std::memory_order_acquire)) continue;
    raise(slots_high_, i + 1);
    return &slots_[i];
  }
  return nullptr;
}

void EpochClock::release_slot(Slot& slot) {
  NVMDB_CHECK(slot.committing.load(std::memory_order_relaxed) == kIdle &&
                  slot.pinned.load(std::memory_order_relaxed) == kIdle,
              "an epoch slot was given back while in use");
  slot.used.store(false, std::memory_order_release);
}

Epoch EpochClock::enter_commit(Slot& slot) const {
  return publish_current(global_, slot.committing);
}

void EpochClock::pin(Slot& slot) const {
  NVMDB_CHECK(slot.pinned.load(std::memory_order_relaxed) == kIdle, "epoch pins do not nest");
  (void)publish_current(global_, slot.pinned);
}

Epoch EpochClock::close_current() {
  const std::uint64_t epoch = global_.load(std::memory_order_relaxed);
  global_.store(epoch + 1, std::memory_order_seq_cst);
  const std::size_t high = slots_high_.load(std::memory_order_seq_cst);
  for (std::size_t i = 0; i < high; ++i) {
    unsigned spins = 0;
    while (slots_[i].committing.load(std::memory_order_seq_cst) <= epoch) {
      if (++spins < kSpins) {
        __builtin_ia32_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
  return {epoch};
}

Epoch EpochClock::retirement_epoch() {
  // A read-modify-write, so that what the caller stored before is visible to all who see a later epoch.
  return {global_.fetch_add(0, std::memory_order_seq_cst)};
}

Epoch EpochClock::oldest_pinned() const {
  // The epoch is read first: a pin that the scan misses is at or above it.
  std::uint64_t oldest = global_.load(std::memory_order_seq_cst);
  const std::size_t high = slots_high_.load(std::memory_order_seq_cst);
  for (std::size_t i = 0; i < high; ++i) {
    oldest = std::min(oldest, slots_[i].pinned.load(std::memory_order_seq_cst));
  }
  return {oldest};
}

}  // namespace nvmdb::wal
