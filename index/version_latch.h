#pragma once

#include <atomic>
#include <cstdint>

#include "storage/base/spin.h"

namespace nvmdb::index {

/// Optimistic latch of an index node: a lock bit, an obsolete bit and a count of changes in one word.
///
/// A reader takes the version, reads the node with acquire loads and asks unchanged(): true means that all it read
/// belongs together. A writer upgrades the version it read to the lock, changes the node with release stores and
/// unlocks, which is a new version. An obsolete node was unlinked and will be freed when no reader is left.
///
/// Pairing: a reader that sees any store of a writer (acquire of a release) also sees the lock bit that came before it.
/// Locking and unchanged() are seq_cst: of two transactions that each change one leaf and then validate the other's,
/// one sees the other.
class VersionLatch {
 public:
  static constexpr std::uint64_t kLockBit = 1;
  static constexpr std::uint64_t kObsoleteBit = 2;
  static constexpr std::uint64_t kStep = 4;

  /// Waits while the node is locked.
  [[nodiscard]] std::uint64_t read_version() const {
    std::uint64_t version = word_.load(std::memory_order_acquire);
    for (SpinWait spin; (version & kLockBit) != 0; version = word_.load(std::memory_order_acquire)) spin.wait();
    return version;
  }
  [[nodiscard]] bool unchanged(std::uint64_t version) const {
    return word_.load(std::memory_order_seq_cst) == version;
  }
  [[nodiscard]] static bool obsolete(std::uint64_t version) { return (version & kObsoleteBit) != 0; }

  /// Locks the node if its version is still `version`; never waits.
  [[nodiscard]] bool try_lock(std::uint64_t version) {
    return !obsolete(version) &&
           word_.compare_exchange_strong(version, version | kLockBit, std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }
  /// Returns the new version.
  std::uint64_t unlock() {
    const std::uint64_t version = (word_.load(std::memory_order_relaxed) & ~kLockBit) + kStep;
    word_.store(version, std::memory_order_release);
    return version;
  }
  /// The holder changed nothing: the version stays as it was.
  void unlock_unchanged() {
    word_.store(word_.load(std::memory_order_relaxed) & ~kLockBit, std::memory_order_release);
  }
  void unlock_obsolete() {
    word_.store(((word_.load(std::memory_order_relaxed) & ~kLockBit) + kStep) | kObsoleteBit,
                std::memory_order_release);
  }

 private:
  std::atomic<std::uint64_t> word_{kStep};
};

}  // namespace nvmdb::index
