#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/met/encoding.h"
#include "ingest/decode/grib/bit_unpacker.h"
#include "ingest/decode/grib/handle.h"
#include "ingest/decode/grib/sections.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// The values of a field in the message's order, as 32-bit words of their encoding: packed integers X, or the
/// bits of floats. Constant fields have no words.
struct FieldValues {
  met::Encoding encoding = {};
  std::uint64_t points = 0;
  /// One byte per point, 1 where there is a value; empty when all points have one. Set for Packed and
  /// Constant only: a missing float is NaN.
  std::vector<std::uint8_t> present = {};
  std::vector<std::uint32_t> words = {};  ///< 0 where missing
  BitUnpacker packed = {};                ///< instead of words: they lie in the message, or in:
  std::shared_ptr<const Bytes> decompressed = {};

  /// Words [first, first + out.size()) of the message.
  void run(std::uint64_t first, std::span<std::uint32_t> out) const;
  [[nodiscard]] std::uint32_t at(std::uint64_t index) const {
    return words.empty() ? packed.at(index) : words[index];
  }
};

/// Simple packing (and fields of no bits), read from the octets without ecCodes: the same values, several
/// times as fast. Nothing when the field is packed in another way. Errors: Corruption (fewer values than
/// points). Source: GRIB2 data representation template 5.0, GRIB1 section 4 with flags 0.
[[nodiscard]] Result<std::optional<FieldValues>> unpack_simple(const FieldSections& sections,
                                                               std::uint64_t points);

/// CCSDS packing (lossless compressed integers), by libaec without the way over doubles. Nothing when the
/// field is packed in another way. Errors: Corruption (fewer values than points, damaged data). Source: GRIB2
/// data representation template 5.42, CCSDS 121.0-B.
[[nodiscard]] Result<std::optional<FieldValues>> unpack_ccsds(const FieldSections& sections,
                                                              std::uint64_t points);

/// Any packing that ecCodes decodes; `points` 0: as many as it says. The values are turned back into packed
/// integers where these give every value again to the last bit of a float, else kept as floats. Errors:
/// Corruption.
[[nodiscard]] Result<FieldValues> unpack_by_eccodes(Handle& handle, std::uint64_t points);

}  // namespace nvmdb::ingest::grib
