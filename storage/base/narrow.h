#pragma once

#include <type_traits>
#include <utility>

#include "storage/base/check.h"

namespace nvmdb {

/// Converts between integer types and stops the process when the value does not fit.
template <class To, class From>
[[nodiscard]] constexpr To narrow(From value) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  NVMDB_CHECK(std::in_range<To>(value), "integer out of range");
  return static_cast<To>(value);
}

/// Converts a signed integer to the unsigned type of the same width, or back, keeping the bits.
template <class T>
[[nodiscard]] constexpr auto as_unsigned(T value) { return static_cast<std::make_unsigned_t<T>>(value); }
template <class T>
[[nodiscard]] constexpr auto as_signed(T value) { return static_cast<std::make_signed_t<T>>(value); }

}  // namespace nvmdb
