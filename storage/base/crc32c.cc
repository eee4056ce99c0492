#include "storage/base/crc32c.h"

#include <isa-l.h>

#include <algorithm>

namespace nvmdb {

std::uint32_t crc32c(ByteSpan bytes, std::uint32_t seed) {
  // ISA-L takes an int length and a pointer to non-const; it only reads.
  std::uint32_t state = ~seed;
  while (!bytes.empty()) {
    const std::size_t part = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(part), state);
    bytes = bytes.subspan(part);
  }
  return ~state;
}

}  // namespace nvmdb
