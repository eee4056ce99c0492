#include "engine/met/encoding.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "storage/base/check.h"

namespace nvmdb::met {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr int kScaleMax = 1023;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Little-endian unsigned integer of 1 to 4 bytes.
template <unsigned Width>
std::uint32_t load_packed(const std::byte* from) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, Width);
  return value;
}

std::uint32_t load_packed(const std::byte* from, unsigned width) {
  switch (width) {
    case 1: return load_packed<1>(from);
    case 2: return load_packed<2>(from);
    case 3: return load_packed<3>(from);
    default: return load_packed<4>(from);
  }
}

/// GRIB2 section 5: Y * 10^D = R + X * 2^E, in ecCodes' order of operations so that the doubles are the same.
float unpack(std::uint32_t packed, double binary_factor, double reference, double decimal) {
  return static_cast<float>((static_cast<double>(packed) * binary_factor + reference) * decimal);
}

}  // namespace

double decimal_factor(int decimal_scale) {
  double factor = 1.0;
  for (; decimal_scale > 0; --decimal_scale) factor /= 10.0;
  for (; decimal_scale < 0; ++decimal_scale) factor *= 10.0;
  return factor;
}

Status Encoding::validate() const {
  unsigned low = 0;
  unsigned high = 0;
  switch (kind) {
    case EncodingKind::Float32: low = high = 4; break;
    case EncodingKind::Float64: low = high = 8; break;
    case EncodingKind::Int32: low = high = 4; break;
    case EncodingKind::Packed: low = 1; high = 4; break;
    case EncodingKind::Constant: break;
    default: return Status::invalid_argument("encoding: unknown kind " + std::to_string(static_cast<unsigned>(kind)));
  }
  if (width_bytes < low || width_bytes > high) {
    return Status::invalid_argument("encoding: width " + std::to_string(width_bytes) + " does not fit its kind");
  }
  if (std::abs(int{binary_scale}) > kScaleMax || std::abs(int{decimal_scale}) > kScaleMax) {
    return Status::invalid_argument("encoding: scale factor out of range");
  }
  if (kind == EncodingKind::Packed && !std::isfinite(reference)) {
    return Status::invalid_argument("encoding: reference value is not finite");
  }
  return Status::ok();
}

Decoder::Decoder(const Encoding& encoding, std::uint64_t points, ByteSpan extent)
    : encoding_(encoding),
      values_(extent.data()),
      bitmap_(encoding.has_bitmap ? extent.data() + encoding.bitmap_offset(points) : nullptr),
      binary_factor_(std::ldexp(1.0, encoding.binary_scale)),
      decimal_factor_(decimal_factor(encoding.decimal_scale)) {
  NVMDB_CHECK(extent.size() == encoding.extent_bytes(points), "extent does not have the bytes of its encoding");
}

float Decoder::at(std::uint64_t index) const {
  if (bitmap_ != nullptr && (std::to_integer<unsigned>(bitmap_[index / 8]) >> (index % 8) & 1U) == 0) return kMissing;
  switch (encoding_.kind) {
    case EncodingKind::Float32: return load<float>(values_ + index * 4);
    case EncodingKind::Float64: return static_cast<float>(load<double>(values_ + index * 8));
    case EncodingKind::Int32: return static_cast<float>(load<std::int32_t>(values_ + index * 4));
    case EncodingKind::Packed:
      return unpack(load_packed(values_ + index * encoding_.width_bytes, encoding_.width_bytes), binary_factor_,
                    encoding_.reference, decimal_factor_);
    case EncodingKind::Constant: return static_cast<float>(encoding_.reference);
  }
  return kMissing;
}

void Decoder::prefetch(std::uint64_t first, std::uint64_t count) const {
  constexpr std::uint64_t kLine = 64;
  const std::byte* const end = values_ + (first + count) * encoding_.width_bytes;
  for (const std::byte* line = values_ + first * encoding_.width_bytes; line < end; line += kLine) {
    __builtin_prefetch(line, 0, 3);
  }
}

template <unsigned Width>
void Decoder::run_packed(std::uint64_t first, std::span<float> values) const {
  const std::byte* from = values_ + first * Width;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = unpack(load_packed<Width>(from + i * Width), binary_factor_, encoding_.reference, decimal_factor_);
  }
}

void Decoder::apply_bitmap(std::uint64_t first, std::span<float> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t index = first + i;
    if ((std::to_integer<unsigned>(bitmap_[index / 8]) >> (index % 8) & 1U) == 0) values[i] = kMissing;
  }
}

void Decoder::run(std::uint64_t first, std::span<float> values) const {
  switch (encoding_.kind) {
    case EncodingKind::Float32:
      if (!values.empty()) std::memcpy(values.data(), values_ + first * 4, values.size_bytes());
      break;
    case EncodingKind::Float64:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(load<double>(values_ + (first + i) * 8));
      }
      break;
    case EncodingKind::Int32:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(load<std::int32_t>(values_ + (first + i) * 4));
      }
      break;
    case EncodingKind::Packed:
      switch (encoding_.width_bytes) {
        case 1: run_packed<1>(first, values); break;
        case 2: run_packed<2>(first, values); break;
        case 3: run_packed<3>(first, values); break;
        default: run_packed<4>(first, values); break;
      }
      break;
    case EncodingKind::Constant:
      for (float& value : values) value = static_cast<float>(encoding_.reference);
      break;
  }
  if (bitmap_ != nullptr) apply_bitmap(first, values);
}

}  // namespace nvmdb::met
