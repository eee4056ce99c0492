#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nvmdb::engine {

/// Small map from addresses to places in a list, emptied in constant time: how a transaction finds its own entry of a
/// record or of a leaf.
/// Threads: one.
class PointerTable {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  PointerTable() : slots_(64) {}

  [[nodiscard]] std::uint32_t find(const void* key) const {
    if (size_ == 0) return kNone;
    for (std::size_t at = hash(key);; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.generation != generation_) return kNone;
      if (slot.key == key) return slot.value;
    }
  }
  /// `key` must not be there yet.
  void add(const void* key, std::uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put(key, value);
    ++size_;
  }
  void clear() {
    size_ = 0;
    if (slots_.size() > kSlotsKept) slots_ = std::vector<Slot>(64);
    if (++generation_ == 0) {
      for (Slot& slot : slots_) slot.generation = 0;
      generation_ = 1;
    }
  }

 private:
  static constexpr std::size_t kSlotsKept = 16384;
  struct Slot {
    const void* key = nullptr;
    std::uint32_t value = 0;
    std::uint32_t generation = 0;
  };

  [[nodiscard]] static std::size_t hash(const void* key) {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(key) * 0x9e3779b97f4a7c15ULL) >> 32U);
  }
  void put(const void* key, std::uint32_t value) {
    std::size_t at = hash(key);
    while (slots_[at & (slots_.size() - 1)].generation == generation_) ++at;
    slots_[at & (slots_.size() - 1)] = {key, value, generation_};
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.generation == generation_) put(slot.key, slot.value);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::uint32_t generation_ = 1;
};

}  // namespace nvmdb::engine
