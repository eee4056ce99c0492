#pragma once

#include <compare>
#include <cstdint>

namespace nvmdb::wal {

/// A group-commit epoch. 0 is before the first one.
struct Epoch {
  std::uint64_t value = 0;
  auto operator<=>(const Epoch&) const = default;
  [[nodiscard]] Epoch next() const { return {value + 1}; }
};

/// Transaction id and version word of a record: lock bit, deleted bit, epoch, sequence in the epoch.
/// Two committed versions of one record have different Tids, and the newer one is greater.
struct Tid {
  std::uint64_t value = 0;
  auto operator<=>(const Tid&) const = default;

  static constexpr std::uint64_t kLockBit = 1ULL << 63U;
  static constexpr std::uint64_t kAbsentBit = 1ULL << 62U;  ///< the version is a delete, or not yet inserted
  static constexpr unsigned kSequenceBits = 21;
  static constexpr std::uint64_t kOrderMask = ~(kLockBit | kAbsentBit);

  [[nodiscard]] static Tid make(Epoch epoch, std::uint64_t sequence) {
    return {(epoch.value << kSequenceBits) | sequence};
  }
  [[nodiscard]] bool locked() const { return (value & kLockBit) != 0; }
  [[nodiscard]] bool absent() const { return (value & kAbsentBit) != 0; }
  [[nodiscard]] Epoch epoch() const { return {(value & kOrderMask) >> kSequenceBits}; }
  [[nodiscard]] std::uint64_t sequence() const { return value & ((1ULL << kSequenceBits) - 1); }
  /// Without the lock and absent bits: what orders versions.
  [[nodiscard]] Tid order() const { return {value & kOrderMask}; }
};

}  // namespace nvmdb::wal
