#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "storage/base/bytes.h"

namespace nvmdb::ingest::grib {

/// Big-endian unsigned integer of `Count` octets at `at`; the caller has checked that they are there.
template <unsigned Count>
[[nodiscard]] inline std::uint64_t read_octets(ByteSpan bytes, std::size_t at) {
  static_assert(Count >= 1 && Count <= 8);
  const ByteSpan part = bytes.subspan(at, Count);
  std::uint64_t value = 0;
  for (const std::byte octet : part) value = value << 8U | std::to_integer<std::uint64_t>(octet);
  return value;
}
[[nodiscard]] inline std::uint32_t octet1(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(read_octets<1>(bytes, at));
}
[[nodiscard]] inline std::uint32_t octet2(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(read_octets<2>(bytes, at));
}
[[nodiscard]] inline std::uint32_t octet3(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(read_octets<3>(bytes, at));
}
[[nodiscard]] inline std::uint32_t octet4(ByteSpan bytes, std::size_t at) {
  return static_cast<std::uint32_t>(read_octets<4>(bytes, at));
}

/// A 16-bit integer whose top bit is the sign. Source: GRIB regulation 92.1.5.
[[nodiscard]] inline int signed2(ByteSpan bytes, std::size_t at) {
  const std::uint32_t raw = octet2(bytes, at);
  const int magnitude = static_cast<int>(raw & 0x7fffU);
  return (raw & 0x8000U) != 0 ? -magnitude : magnitude;
}

/// A 32-bit integer with sign. The regulation says sign and magnitude, but producers also write two's
/// complement (NCEP's air quality model: 0xfffffff9 for -7). Of the two readings the smaller one is meant:
/// the other is always beyond 2^30.
[[nodiscard]] inline std::int64_t signed4(std::uint32_t raw) {
  if ((raw & 0x80000000U) == 0) return raw;
  const std::int64_t magnitude = -static_cast<std::int64_t>(raw & 0x7fffffffU);
  const std::int64_t complement = static_cast<std::int64_t>(raw) - (std::int64_t{1} << 32U);
  return std::abs(magnitude) <= std::abs(complement) ? magnitude : complement;
}

}  // namespace nvmdb::ingest::grib
