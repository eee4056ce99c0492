#pragma once

#include <cstdint>
#include <cstddef>
#include <span>

#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::met {

enum class EncodingKind : std::uint8_t {
  Float32 = 1,   ///< IEEE, little-endian; NaN is missing
  Float64 = 2,   ///< IEEE, little-endian; NaN is missing
  Int32 = 3,     ///< signed, little-endian
  Packed = 4,    ///< GRIB integers of width_bytes, little-endian: value = (reference + X * 2^binary) * 10^-decimal
  Constant = 5,  ///< one value for all points: `reference`; no value bytes
};

/// How the values of a field lie in NVM: at fixed width, so that any point is found by arithmetic. Layout of the
/// extent: `points` values of width_bytes, then, when has_bitmap, ceil(points / 8) bitmap bytes (bit set = present,
/// least significant bit first) at the next multiple of 64 bytes.
struct Encoding {
  EncodingKind kind = EncodingKind::Float32;
  std::uint8_t width_bytes = 4;   ///< 4, 8, 4, 1 to 4, 0
  bool has_bitmap = false;
  std::int16_t binary_scale = 0;  ///< Packed
  std::int16_t decimal_scale = 0; ///< Packed
  double reference = 0;           ///< Packed: R; Constant: the value
  bool operator==(const Encoding&) const = default;

  [[nodiscard]] std::uint64_t bitmap_offset(std::uint64_t points) const {
    return align_up(points * width_bytes, 64);
  }
  [[nodiscard]] std::uint64_t extent_bytes(std::uint64_t points) const {
    return has_bitmap ? bitmap_offset(points) + (points + 7) / 8 : points * width_bytes;
  }
  /// Errors: InvalidArgument. Safe on hostile input.
  [[nodiscard]] Status validate() const;
};

/// Decodes values of one extent. All decoding of stored fields goes through it: values equal ecCodes' doubles
/// rounded to float. Missing is NaN.
/// Threads: any number.
class Decoder {
 public:
  /// `extent` must have encoding.extent_bytes(points) bytes, and outlive the decoder.
  Decoder(const Encoding& encoding, std::uint64_t points, ByteSpan extent);
  /// One point; index < points.
  [[nodiscard]] float at(std::uint64_t index) const;
  /// Asks for the value bytes of `count` points ahead of their use: planes are strided, which hardware prefetch and
  /// 4 KiB pages do badly.
  void prefetch(std::uint64_t first, std::uint64_t count) const;
  /// values.size() points from `first` on.
  void run(std::uint64_t first, std::span<float> values) const;

 private:
  template <unsigned Width>
  void run_packed(std::uint64_t first, std::span<float> values) const;
  void apply_bitmap(std::uint64_t first, std::span<float> values) const;

  Encoding encoding_;
  const std::byte* values_;
  const std::byte* bitmap_;  ///< nullptr: all present
  double binary_factor_;
  double decimal_factor_;
};

/// 10^-decimal_scale exactly as ecCodes computes it (repeated multiplication or division), so that products agree.
[[nodiscard]] double decimal_factor(int decimal_scale);

}  // namespace nvmdb::met
