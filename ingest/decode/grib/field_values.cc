#include "ingest/decode/grib/field_values.h"

#include <libaec.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

/// No packing can produce it, so that a real 9999 (ecCodes' default) stays a value.
constexpr double kMissingValue = -1.2345678987654321e300;
constexpr int kScaleMax = 1023;  // of met::Encoding

struct Packing {
  double reference = 0;
  int binary_scale = 0;
  int decimal_scale = 0;
  unsigned bits = 0;
  ByteSpan values = {};
};

/// IBM System/360 single: sign, exponent of 16, 24-bit fraction. Exact as a double.
double ibm_float(std::uint32_t raw) {
  const int exponent = static_cast<int>(raw >> 24U & 0x7fU) - 64;
  const double value = std::ldexp(static_cast<double>(raw & 0xffffffU), 4 * exponent - 24);
  return (raw & 0x80000000U) != 0 ? -value : value;
}

std::optional<Packing> simple_packing1(const FieldSections& s) {
  constexpr std::uint32_t kSpectralComplexOrMore = 0xd0;  // flags of section 4 that change the layout
  const std::uint32_t flags = octet1(s.data, 3);
  if ((flags & kSpectralComplexOrMore) != 0 || s.grid.empty()) return std::nullopt;
  return Packing{.reference = ibm_float(octet4(s.data, 6)),
                 .binary_scale = signed2(s.data, 4),
                 .decimal_scale = signed2(s.product, 26),
                 .bits = octet1(s.data, 10),
                 .values = s.data.subspan(11)};
}

std::optional<Packing> simple_packing2(const FieldSections& s) {
  if (octet2(s.representation, 9) != 0 || s.representation.size() < 21) return std::nullopt;
  return Packing{.reference = static_cast<double>(std::bit_cast<float>(octet4(s.representation, 11))),
                 .binary_scale = signed2(s.representation, 15),
                 .decimal_scale = signed2(s.representation, 17),
                 .bits = octet1(s.representation, 19),
                 .values = s.data.subspan(5)};
}

/// Which points have a value; nothing when the bitmap is one that the centre predefined. Empty: all.
/// Errors: Corruption (too short).
Result<std::optional<std::vector<std::uint8_t>>> read_bitmap(const FieldSections& s, std::uint64_t points) {
  using Present = std::optional<std::vector<std::uint8_t>>;
  if (s.bitmap.empty()) return Present(std::vector<std::uint8_t>{});
  constexpr std::uint32_t kNoBitmap = 255;
  const std::uint32_t indicator = s.edition == 1 ? octet2(s.bitmap, 4) : octet1(s.bitmap, 5);
  if (s.edition == 2 && indicator == kNoBitmap) return Present(std::vector<std::uint8_t>{});
  if (indicator != 0) return Present(std::nullopt);
  const ByteSpan bits = s.bitmap.subspan(6);
  if (bits.size() < (points + 7) / 8) {
    return Status::corruption("the bitmap has " + std::to_string(bits.size()) + " bytes, expected " +
                              std::to_string((points + 7) / 8));
  }
  std::vector<std::uint8_t> present(points);
  for (std::uint64_t i = 0; i < points; ++i) {
    present[i] = static_cast<std::uint8_t>(std::to_integer<unsigned>(bits[i / 8]) >> (7 - i % 8) & 1U);
  }
  if (std::find(present.begin(), present.end(), std::uint8_t{0}) == present.end()) present.clear();
  return Present(std::move(present));
}

std::uint64_t count_present(const FieldValues& values) {
  if (values.present.empty()) return values.points;
  return values.points -
         static_cast<std::uint64_t>(std::count(values.present.begin(), values.present.end(), 0));
}

void set_constant(FieldValues& values, double value) {
  values.encoding = {.kind = met::EncodingKind::Constant,
                     .width_bytes = 0,
                     .has_bitmap = !values.present.empty(),
                     .reference = value};
  values.words = {};
  values.packed = {};
}

void set_packed(FieldValues& values, const Packing& packing, unsigned width) {
  values.encoding = {.kind = met::EncodingKind::Packed,
                     .width_bytes = static_cast<std::uint8_t>(width),
                     .has_bitmap = !values.present.empty(),
                     .binary_scale = static_cast<std::int16_t>(packing.binary_scale),
                     .decimal_scale = static_cast<std::int16_t>(packing.decimal_scale),
                     .reference = packing.reference};
}

/// Gives each present point the next integer of the message.
void spread(FieldValues& values, const BitUnpacker& packed) {
  constexpr std::size_t kChunk = 4096;
  std::vector<std::uint32_t> chunk(kChunk);
  values.words.assign(values.points, 0);
  const std::uint64_t total = count_present(values);
  std::uint64_t taken = 0;
  std::uint64_t point = 0;
  while (taken < total) {
    const std::span<std::uint32_t> part(chunk.data(), std::min<std::uint64_t>(kChunk, total - taken));
    packed.run(taken, part);
    taken += part.size();
    for (const std::uint32_t word : part) {
      while (values.present[point] == 0) ++point;
      values.words[point++] = word;
    }
  }
}

bool can_be_packed(const Packing& packing) {
  return packing.bits <= 32 && std::isfinite(packing.reference) &&
         std::abs(packing.binary_scale) <= kScaleMax && std::abs(packing.decimal_scale) <= kScaleMax;
}

/// The packed integers of the points that have a value, `needed` of them, become the field.
void keep_packed(FieldValues& values, const Packing& packing, const BitUnpacker& packed,
                 std::uint64_t needed) {
  if (needed == 0) return set_constant(values, 0);
  set_packed(values, packing, (packing.bits + 7) / 8);
  if (values.present.empty()) {
    values.packed = packed;
  } else {
    spread(values, packed);
  }
}

/// Template 5.42 begins as 5.0 does; nothing when samples are signed, which the standard does not foresee.
std::optional<Packing> ccsds_packing(const FieldSections& s) {
  constexpr std::uint32_t kCcsds = 42;
  if (s.edition != 2 || s.representation.size() < 25 || octet2(s.representation, 9) != kCcsds)
    return std::nullopt;
  if ((octet1(s.representation, 21) & AEC_DATA_SIGNED) != 0) return std::nullopt;
  return Packing{.reference = static_cast<double>(std::bit_cast<float>(octet4(s.representation, 11))),
                 .binary_scale = signed2(s.representation, 15),
                 .decimal_scale = signed2(s.representation, 17),
                 .bits = octet1(s.representation, 19),
                 .values = s.data.subspan(5)};
}

/// Bytes of a sample as libaec gives it without AEC_DATA_3BYTE.
unsigned aec_sample_bytes(unsigned bits) {
  if (bits <= 8) return 1;
  return bits <= 16 ? 2 : 4;
}

/// libaec 1.0 stops the process, or worse, when it is given anything else.
bool aec_parameters_allowed(unsigned block, unsigned interval) {
  constexpr unsigned kIntervalMax = 4096;
  return (block == 8 || block == 16 || block == 32 || block == 64) && interval >= 1 &&
         interval <= kIntervalMax;
}

/// All samples of the data section, most significant byte first. Errors: Corruption.
Result<std::shared_ptr<const Bytes>> decompress_aec(const FieldSections& s, const Packing& packing,
                                                    std::uint64_t bytes) {
  const unsigned block = octet1(s.representation, 22);
  const unsigned interval = octet2(s.representation, 23);
  if (!aec_parameters_allowed(block, interval)) {
    return Status::corruption("CCSDS data have blocks of " + std::to_string(block) +
                              " and a reference sample interval of " + std::to_string(interval) +
                              ", expected 8, 16, 32 or 64, and 1 to 4096");
  }
  auto samples = std::make_shared<Bytes>(bytes);
  aec_stream stream{};
  stream.flags = (octet1(s.representation, 21) & ~unsigned{AEC_DATA_3BYTE}) | AEC_DATA_MSB;
  stream.bits_per_sample = packing.bits;
  stream.block_size = block;
  stream.rsi = interval;
  stream.next_in = reinterpret_cast<const unsigned char*>(packing.values.data());
  stream.avail_in = packing.values.size();
  stream.next_out = reinterpret_cast<unsigned char*>(samples->data());
  stream.avail_out = samples->size();
  int error = aec_decode_init(&stream);
  if (error == AEC_OK) {
    error = aec_decode(&stream, AEC_FLUSH);
    aec_decode_end(&stream);
  }
  if (error != AEC_OK)
    return Status::corruption("CCSDS data cannot be decompressed: libaec error " + std::to_string(error));
  if (stream.avail_out != 0) {
    return Status::corruption("CCSDS data give " + std::to_string(bytes - stream.avail_out) +
                              " bytes of values, expected " + std::to_string(bytes));
  }
  return std::shared_ptr<const Bytes>(std::move(samples));
}

std::optional<Packing> packing_of(const Handle& handle) {
  const auto reference = handle.real("referenceValue");
  const auto binary = handle.integer("binaryScaleFactor");
  const auto decimal = handle.integer("decimalScaleFactor");
  if (!reference || !binary || !decimal || !std::isfinite(*reference)) return std::nullopt;
  if (std::abs(*binary) > kScaleMax || std::abs(*decimal) > kScaleMax) return std::nullopt;
  return Packing{.reference = *reference,
                 .binary_scale = static_cast<int>(*binary),
                 .decimal_scale = static_cast<int>(*decimal)};
}

/// Turns decoded values back into the integers they were packed as. False where any value does not come out
/// again.
bool repack(const std::vector<double>& from, const Packing& packing, FieldValues& values) {
  const double factor = std::ldexp(1.0, packing.binary_scale);
  const double decimal = met::decimal_factor(packing.decimal_scale);
  const double reference = packing.reference;
  constexpr double kMax = 4294967295.0;
  values.words.assign(values.points, 0);
  std::uint32_t largest = 0;
  for (std::uint64_t i = 0; i < values.points; ++i) {
    if (!values.present.empty() && values.present[i] == 0) continue;
    const double x = std::nearbyint((from[i] / decimal - reference) / factor);
    if (!(x >= 0 && x <= kMax)) return false;
    if (static_cast<float>((x * factor + reference) * decimal) != static_cast<float>(from[i])) return false;
    values.words[i] = static_cast<std::uint32_t>(x);
    largest = std::max(largest, values.words[i]);
  }
  const auto bits = static_cast<unsigned>(std::bit_width(largest));
  set_packed(values, packing, std::max(1U, (bits + 7) / 8));
  return true;
}

void keep_floats(const std::vector<double>& from, FieldValues& values) {
  values.words.resize(values.points);
  for (std::uint64_t i = 0; i < values.points; ++i) {
    const bool missing = from[i] == kMissingValue;
    const float value = missing ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(from[i]);
    values.words[i] = std::bit_cast<std::uint32_t>(value);
  }
  values.present = {};
  values.encoding = {.kind = met::EncodingKind::Float32, .width_bytes = 4};
}

/// The one value of a field whose present points all have it.
std::optional<double> only_value(const std::vector<double>& from) {
  std::optional<double> value;
  for (const double v : from) {
    if (v == kMissingValue) continue;
    if (std::isnan(v) || (value && *value != v)) return std::nullopt;
    value = v;
  }
  return value.value_or(0.0);
}

}  // namespace

void FieldValues::run(std::uint64_t first, std::span<std::uint32_t> out) const {
  if (words.empty()) return packed.run(first, out);
  std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
}

Result<std::optional<FieldValues>> unpack_simple(const FieldSections& sections, std::uint64_t points) {
  const auto packing = sections.edition == 1 ? simple_packing1(sections) : simple_packing2(sections);
  if (!packing || !can_be_packed(*packing)) return std::optional<FieldValues>();
  NVMDB_ASSIGN(auto present, read_bitmap(sections, points));
  if (!present) return std::optional<FieldValues>();
  FieldValues values{.points = points, .present = std::move(*present)};
  if (packing->bits == 0) {
    // The reference is the value as it stands: producers do not scale it, and ecCodes does not either.
    set_constant(values, packing->reference);
    return std::optional(std::move(values));
  }
  const BitUnpacker packed(packing->values, packing->bits);
  const std::uint64_t needed = count_present(values);
  if (packed.count() < needed) {
    return Status::corruption("the data section holds " + std::to_string(packed.count()) + " values of " +
                              std::to_string(packing->bits) + " bits, expected " + std::to_string(needed));
  }
  keep_packed(values, *packing, packed, needed);
  return std::optional(std::move(values));
}

Result<std::optional<FieldValues>> unpack_ccsds(const FieldSections& sections, std::uint64_t points) {
  const auto packing = ccsds_packing(sections);
  if (!packing || packing->bits == 0 || !can_be_packed(*packing)) return std::optional<FieldValues>();
  NVMDB_ASSIGN(auto present, read_bitmap(sections, points));
  if (!present) return std::optional<FieldValues>();
  FieldValues values{.points = points, .present = std::move(*present)};
  const std::uint64_t needed = count_present(values);
  const unsigned bytes = aec_sample_bytes(packing->bits);
  if (needed > 0) {
    NVMDB_ASSIGN(values.decompressed, decompress_aec(sections, *packing, needed * bytes));
  }
  const ByteSpan samples = values.decompressed ? ByteSpan(*values.decompressed) : ByteSpan();
  keep_packed(values, *packing, BitUnpacker(samples, 8 * bytes), needed);
  return std::optional(std::move(values));
}

Result<FieldValues> unpack_by_eccodes(Handle& handle, std::uint64_t points) {
  NVMDB_ASSIGN(const std::vector<double> decoded, handle.values(points, kMissingValue));
  FieldValues values{.points = decoded.size()};
  if (std::find(decoded.begin(), decoded.end(), kMissingValue) != decoded.end()) {
    values.present.resize(decoded.size());
    for (std::size_t i = 0; i < decoded.size(); ++i) values.present[i] = decoded[i] != kMissingValue;
  }
  if (const auto value = only_value(decoded)) {
    set_constant(values, *value);
    return values;
  }
  const auto packing = packing_of(handle);
  if (!packing || !repack(decoded, *packing, values)) keep_floats(decoded, values);
  return values;
}

}  // namespace nvmdb::ingest::grib
