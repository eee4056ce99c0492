#include "ingest/decode/netcdf/values.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace nvmdb::ingest::netcdf {
namespace {

/// Loads a value and turns its bytes round where the file is big-endian.
template <class Raw, bool Swap>
Raw load(const std::byte* at) {
  Raw value;
  std::memcpy(&value, at, sizeof(Raw));
  if constexpr (Swap && sizeof(Raw) == 8)
    return std::bit_cast<Raw>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
  if constexpr (Swap && sizeof(Raw) == 4)
    return std::bit_cast<Raw>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  if constexpr (Swap && sizeof(Raw) == 2)
    return std::bit_cast<Raw>(__builtin_bswap16(std::bit_cast<std::uint16_t>(value)));
  return value;
}

/// Floats in vectors of 8: swap, store and statistics in one pass. This file is bound by memory, not by this
/// loop. Returns how many values were done; the caller does the rest.
template <bool Swap>
std::size_t convert_floats(const std::byte* in, std::byte* out, std::size_t count, Statistics& statistics) {
  const __m256i order = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2, 1, 0, 7,
                                         6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  __m256 minimum = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  __m256 maximum = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
  __m256d sum_low = _mm256_setzero_pd();
  __m256d sum_high = _mm256_setzero_pd();
  std::uint64_t missing = 0;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i bits;
    std::memcpy(&bits, in + i * 4, sizeof(bits));
    if constexpr (Swap) bits = _mm256_shuffle_epi8(bits, order);
    std::memcpy(out + i * 4, &bits, sizeof(bits));
    const __m256 values = _mm256_castsi256_ps(bits);
    const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
    missing += static_cast<unsigned>(std::popcount(static_cast<unsigned>(_mm256_movemask_ps(is_nan))));
    // With a NaN on the left these keep the right-hand side.
    minimum = _mm256_min_ps(values, minimum);
    maximum = _mm256_max_ps(values, maximum);
    const __m256 counted = _mm256_andnot_ps(is_nan, values);
    sum_low = _mm256_add_pd(sum_low, _mm256_cvtps_pd(_mm256_castps256_ps128(counted)));
    sum_high = _mm256_add_pd(sum_high, _mm256_cvtps_pd(_mm256_extractf128_ps(counted, 1)));
  }
  float minima[8];
  float maxima[8];
  double sums[4];
  std::memcpy(minima, &minimum, sizeof(minima));
  std::memcpy(maxima, &maximum, sizeof(maxima));
  const __m256d sum = _mm256_add_pd(sum_low, sum_high);
  std::memcpy(sums, &sum, sizeof(sums));
  statistics.minimum = std::min(statistics.minimum, double{*std::min_element(minima, minima + 8)});
  statistics.maximum = std::max(statistics.maximum, double{*std::max_element(maxima, maxima + 8)});
  statistics.sum += sums[0] + sums[1] + sums[2] + sums[3];
  statistics.present += i - missing;
  statistics.missing += missing;
  return i;
}

/// A value of the file as it will be stored. Packed values are computed in the stored type, product first, as
/// netCDF4-python and NCO do.
template <class Raw, class Stored>
Stored unpack(const Conversion& conversion, Raw raw) {
  if (!conversion.packed) return static_cast<Stored>(raw);
  const Stored product = static_cast<Stored>(raw) * static_cast<Stored>(conversion.scale);
  return product + static_cast<Stored>(conversion.offset);
}

template <class Raw>
bool is_missing(const Conversion& conversion, Raw raw) {
  const auto value = static_cast<double>(raw);
  return std::isnan(value) ||
         std::find(conversion.missing.begin(), conversion.missing.end(), value) != conversion.missing.end();
}

template <class Raw, class Stored, bool Swap>
void convert_one_by_one(const Conversion& conversion, const std::byte* in, std::byte* out, std::size_t count,
                        std::span<std::byte> bitmap, Statistics& statistics) {
  for (std::size_t i = 0; i < count; ++i) {
    const Raw raw = load<Raw, Swap>(in + i * sizeof(Raw));
    Stored stored = unpack<Raw, Stored>(conversion, raw);
    const bool missing =
        is_missing(conversion, raw) || (std::is_floating_point_v<Stored> && stored != stored);
    if (missing) {
      ++statistics.missing;
      // A NaN of the file keeps its bits; other marks of a missing value become the plain NaN.
      if constexpr (std::is_floating_point_v<Stored>) {
        if (stored == stored) stored = std::numeric_limits<Stored>::quiet_NaN();
      }
    } else {
      const auto value = static_cast<double>(stored);
      statistics.minimum = std::min(statistics.minimum, value);
      statistics.maximum = std::max(statistics.maximum, value);
      statistics.sum += value;
      ++statistics.present;
      if (!bitmap.empty()) bitmap[i / 8] |= std::byte{1} << (i % 8);
    }
    std::memcpy(out + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

template <class Raw, class Stored>
void convert_ordered(const Conversion& conversion, const std::byte* in, std::byte* out, std::size_t count,
                     std::span<std::byte> bitmap, Statistics& statistics) {
  if constexpr (std::is_same_v<Raw, float> && std::is_same_v<Stored, float>) {
    if (!conversion.packed && conversion.missing.empty() && bitmap.empty()) {
      const std::size_t done = conversion.big_endian ? convert_floats<true>(in, out, count, statistics)
                                                     : convert_floats<false>(in, out, count, statistics);
      in += done * sizeof(float);
      out += done * sizeof(float);
      count -= done;
    }
  }
  if (conversion.big_endian) {
    convert_one_by_one<Raw, Stored, true>(conversion, in, out, count, bitmap, statistics);
  } else {
    convert_one_by_one<Raw, Stored, false>(conversion, in, out, count, bitmap, statistics);
  }
}

template <class Raw>
void convert_raw(const Conversion& conversion, const std::byte* in, std::byte* out, std::size_t count,
                 std::span<std::byte> bitmap, Statistics& statistics) {
  switch (conversion.encoding.kind) {
    case met::EncodingKind::Float32:
      convert_ordered<Raw, float>(conversion, in, out, count, bitmap, statistics);
      return;
    case met::EncodingKind::Float64:
      convert_ordered<Raw, double>(conversion, in, out, count, bitmap, statistics);
      return;
    default:
      if constexpr (std::is_integral_v<Raw> && sizeof(Raw) <= 4)
        convert_ordered<Raw, std::int32_t>(conversion, in, out, count, bitmap, statistics);
      return;
  }
}

met::EncodingKind stored_kind(ValueType type) {
  switch (type) {
    case ValueType::Float32:
      return met::EncodingKind::Float32;
    case ValueType::Float64:
    case ValueType::Uint32:
    case ValueType::Int64:
    case ValueType::Uint64:
      return met::EncodingKind::Float64;
    default:
      return met::EncodingKind::Int32;
  }
}

void plan_unpacking(const Variable& variable, Conversion& conversion) {
  const Attribute* scale = find_attribute(variable.attributes, "scale_factor");
  const Attribute* offset = find_attribute(variable.attributes, "add_offset");
  const bool has_scale = scale != nullptr && !scale->numbers.empty();
  const bool has_offset = offset != nullptr && !offset->numbers.empty();
  if (!has_scale && !has_offset) return;
  if (has_scale) conversion.scale = scale->numbers.front();
  if (has_offset) conversion.offset = offset->numbers.front();
  conversion.packed = conversion.scale != 1 || conversion.offset != 0;
  const auto is_float = [](const Attribute* attribute) { return attribute->type == ValueType::Float32; };
  const bool narrow_source = value_bytes(variable.type) <= 2 || variable.type == ValueType::Float32;
  const bool floats = narrow_source && (!has_scale || is_float(scale)) && (!has_offset || is_float(offset));
  conversion.encoding.kind = floats ? met::EncodingKind::Float32 : met::EncodingKind::Float64;
}

}  // namespace

DecodedStatistics Statistics::finish() const {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (present == 0) return {kNan, kNan, kNan, missing};
  return {minimum, maximum, sum / static_cast<double>(present), missing};
}

Conversion plan_conversion(const Variable& variable, bool big_endian) {
  Conversion conversion;
  conversion.from = variable.type;
  conversion.big_endian = big_endian && value_bytes(variable.type) > 1;
  conversion.encoding.kind = stored_kind(variable.type);
  plan_unpacking(variable, conversion);
  conversion.encoding.width_bytes = conversion.encoding.kind == met::EncodingKind::Float64 ? 8 : 4;
  for (const char* name : {"_FillValue", "missing_value"}) {
    if (const Attribute* attribute = find_attribute(variable.attributes, name)) {
      for (const double value : attribute->numbers) {
        // NaN is missing anyway, and a mark that is out of the file's type cannot occur.
        if (!std::isnan(value)) conversion.missing.push_back(value);
      }
    }
  }
  conversion.encoding.has_bitmap =
      conversion.encoding.kind == met::EncodingKind::Int32 && !conversion.missing.empty();
  return conversion;
}

void convert_values(const Conversion& conversion, const std::byte* in, std::byte* out, std::size_t count,
                    std::span<std::byte> bitmap, Statistics& statistics) {
  switch (conversion.from) {
    case ValueType::Int8:
      return convert_raw<std::int8_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Uint8:
      return convert_raw<std::uint8_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Int16:
      return convert_raw<std::int16_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Uint16:
      return convert_raw<std::uint16_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Int32:
      return convert_raw<std::int32_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Uint32:
      return convert_raw<std::uint32_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Int64:
      return convert_raw<std::int64_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Uint64:
      return convert_raw<std::uint64_t>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Float32:
      return convert_raw<float>(conversion, in, out, count, bitmap, statistics);
    case ValueType::Float64:
      return convert_raw<double>(conversion, in, out, count, bitmap, statistics);
    default:
      return;
  }
}

std::vector<double> convert_to_doubles(const Conversion& conversion, std::span<const std::byte> in) {
  Conversion wide = conversion;
  wide.encoding = {met::EncodingKind::Float64, 8, false, 0, 0, 0};
  std::vector<double> values(in.size() / value_bytes(conversion.from));
  Statistics unused;
  convert_values(wide, in.data(), std::as_writable_bytes(std::span(values)).data(), values.size(), {},
                 unused);
  return values;
}

}  // namespace nvmdb::ingest::netcdf
