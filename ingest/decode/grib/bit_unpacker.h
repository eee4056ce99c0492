#pragma once

#include <cstdint>
#include <span>

#include "storage/base/bytes.h"

namespace nvmdb::ingest::grib {

/// Unsigned integers of 1 to 32 bits, most significant bit first, without gaps.
class BitUnpacker {
 public:
  BitUnpacker() = default;
  BitUnpacker(ByteSpan bytes, unsigned bits) : bytes_(bytes), bits_(bits) {}

  [[nodiscard]] unsigned bits() const { return bits_; }
  [[nodiscard]] std::uint64_t count() const { return bits_ == 0 ? 0 : bytes_.size() * 8 / bits_; }
  /// Integers [first, first + out.size()); the caller keeps them below count().
  void run(std::uint64_t first, std::span<std::uint32_t> out) const;
  [[nodiscard]] std::uint32_t at(std::uint64_t index) const;
  /// The integers' own bytes, for those that fill whole bytes; else empty.
  [[nodiscard]] ByteSpan whole_bytes() const { return bits_ % 8 == 0 ? bytes_ : ByteSpan(); }

 private:
  template <unsigned Width>
  void run_bytes(std::uint64_t first, std::span<std::uint32_t> out) const;

  ByteSpan bytes_;
  unsigned bits_ = 0;
};

}  // namespace nvmdb::ingest::grib
