#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/met/encoding.h"
#include "ingest/decode/field_sink.h"
#include "ingest/decode/netcdf/dataset.h"

namespace nvmdb::ingest::netcdf {

/// Minimum, maximum and sum of values as they pass by.
struct Statistics {
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::uint64_t present = 0;
  std::uint64_t missing = 0;
  [[nodiscard]] DecodedStatistics finish() const;
};

/// How the values of a variable become those of a stored field.
struct Conversion {
  ValueType from = ValueType::Float32;
  bool big_endian = false;
  met::Encoding encoding;
  std::vector<double> missing;  ///< values in the file that mean "no value" (_FillValue, missing_value)
  bool packed = false;          ///< stored value = file value * scale + offset
  double scale = 1;
  double offset = 0;

  /// True when a stored value is as wide as one in the file: conversion may be done in place.
  [[nodiscard]] bool in_place() const { return value_bytes(from) == encoding.width_bytes; }
};

/// float -> Float32; double -> Float64; 8, 16 and 32-bit integers -> Int32; wider ones -> Float64 (exact up
/// to 2^53); with scale_factor or add_offset: the type of these attributes. Missing values become NaN, for
/// Int32 a bitmap.
[[nodiscard]] Conversion plan_conversion(const Variable& variable, bool big_endian);

/// Converts values and counts them in. `in` may be `out` when conversion.in_place(). `bitmap`, where it is
/// not empty, gets one bit per value, beginning with its first bit.
void convert_values(const Conversion& conversion, const std::byte* in, std::byte* out, std::size_t count,
                    std::span<std::byte> bitmap, Statistics& statistics);

/// The same values as numbers; missing is NaN.
[[nodiscard]] std::vector<double> convert_to_doubles(const Conversion& conversion,
                                                     std::span<const std::byte> in);

}  // namespace nvmdb::ingest::netcdf
