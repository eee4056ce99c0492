#include "ingest/decode/grib/bit_unpacker.h"

#include <bit>
#include <cstring>

namespace nvmdb::ingest::grib {

std::uint32_t BitUnpacker::at(std::uint64_t index) const {
  const std::uint64_t bit = index * bits_;
  const std::uint64_t byte = bit / 8;
  // 32 bits that start anywhere in a byte lie in 5 bytes.
  std::uint64_t window = 0;
  if (byte + 8 <= bytes_.size()) {
    std::memcpy(&window, bytes_.data() + byte, 8);
    window = __builtin_bswap64(window);
  } else {
    for (std::uint64_t i = 0; i < 8; ++i) {
      window <<= 8U;
      if (byte + i < bytes_.size()) window |= std::to_integer<std::uint64_t>(bytes_[byte + i]);
    }
  }
  return static_cast<std::uint32_t>(window << (bit % 8) >> (64 - bits_));
}

template <unsigned Width>
void BitUnpacker::run_bytes(std::uint64_t first, std::span<std::uint32_t> out) const {
  const std::byte* from = bytes_.data() + first * Width;
  for (std::uint32_t& value : out) {
    value = 0;
    for (unsigned i = 0; i < Width; ++i) value = value << 8U | std::to_integer<std::uint32_t>(from[i]);
    from += Width;
  }
}

void BitUnpacker::run(std::uint64_t first, std::span<std::uint32_t> out) const {
  switch (bits_) {
    case 8:
      return run_bytes<1>(first, out);
    case 16:
      return run_bytes<2>(first, out);
    case 24:
      return run_bytes<3>(first, out);
    case 32:
      return run_bytes<4>(first, out);
    default:
      for (std::uint32_t& value : out) value = at(first++);
  }
}

}  // namespace nvmdb::ingest::grib
