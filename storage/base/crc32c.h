#pragma once

#include <cstdint>

#include "storage/base/bytes.h"

namespace nvmdb {

/// CRC32C (Castagnoli) of `bytes`; 0xe3069283 for "123456789". Pass an earlier result as `seed` to continue.
/// Source: RFC 3720 appendix B.4; computed by ISA-L.
[[nodiscard]] std::uint32_t crc32c(ByteSpan bytes, std::uint32_t seed = 0);

}  // namespace nvmdb
