#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wal/epoch.h"

namespace nvmdb::wal {

/// The global epoch and what each thread does in it: which epoch a thread is committing in, and since which
/// epoch a thread may hold pointers to memory that others retire.
///
/// Pairing: global_ is advanced with seq_cst by the group-commit leader only; a slot's `committing` is stored
/// with seq_cst before global_ is read again, so the leader either sees the slot or the slot sees the new
/// epoch.
class EpochClock {
 public:
  static constexpr std::size_t kMaxSlots = 256;
  static constexpr std::uint64_t kIdle = ~0ULL;

  struct alignas(128) Slot {
    std::atomic<std::uint64_t> committing{kIdle};  ///< epoch of the commit section the thread is in, or kIdle
    std::atomic<std::uint64_t> pinned{kIdle};      ///< epoch since which the thread holds pointers, or kIdle
    std::atomic<bool> used{false};
  };

  explicit EpochClock(Epoch start) : global_(start.value) {}
  EpochClock(const EpochClock&) = delete;
  EpochClock& operator=(const EpochClock&) = delete;

  [[nodiscard]] Epoch current() const { return {global_.load(std::memory_order_acquire)}; }

  /// Takes a slot for the calling thread; nullptr when all kMaxSlots are in use.
  [[nodiscard]] Slot* acquire_slot();
  void release_slot(Slot& slot);

  /// Enters a commit section: returns the epoch that the commit belongs to. It stays open until
  /// leave_commit(). The section must be short and must not block.
  [[nodiscard]] Epoch enter_commit(Slot& slot) const;
  void leave_commit(Slot& slot) const { slot.committing.store(kIdle, std::memory_order_release); }

  /// Until unpin(), memory retired from now on is not freed. Nesting is not allowed.
  void pin(Slot& slot) const;
  void unpin(Slot& slot) const { slot.pinned.store(kIdle, std::memory_order_release); }

  /// Closes the current epoch E: advances the global epoch to E + 1 and waits until no thread is in a commit
  /// section of an epoch <= E. Returns E. One thread at a time (the group-commit leader).
  Epoch close_current();

  /// The epoch to tag memory with that was just unlinked: a reader who pins a later epoch sees it unlinked.
  /// (current() alone does not promise that: the unlinking store may still be on its way to other threads.)
  [[nodiscard]] Epoch retirement_epoch();
  /// Memory retired in an epoch below this one has no reader left. Epochs advance only when the log closes
  /// one: who wants memory back while nobody commits calls Log::wait_durable(current()).
  [[nodiscard]] Epoch oldest_pinned() const;

 private:
  std::atomic<std::uint64_t> global_;
  /// Slots at and above it were never used. Raised with seq_cst before the slot is, so that the leader's scan
  /// misses only slots whose user then sees the epoch that the leader opened.
  std::atomic<std::size_t> slots_high_{0};
  std::array<Slot, kMaxSlots> slots_;
};

}  // namespace nvmdb::wal
