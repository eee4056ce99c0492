#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "storage/base/check.h"

namespace nvmdb::index {

inline constexpr std::size_t kMaxKeyWords = 6;

/// A fixed-width key: 1 to kMaxKeyWords 64-bit words compared word by word as unsigned integers. All keys of one
/// table have the same width.
struct Key {
  std::array<std::uint64_t, kMaxKeyWords> words{};
  std::uint32_t count = 0;

  [[nodiscard]] std::span<const std::uint64_t> span() const { return {words.data(), count}; }
  [[nodiscard]] bool operator==(const Key& other) const {
    return count == other.count && std::memcmp(words.data(), other.words.data(), count * 8) == 0;
  }
  [[nodiscard]] std::strong_ordering operator<=>(const Key& other) const {
    for (std::uint32_t i = 0; i < count && i < other.count; ++i) {
      if (words[i] != other.words[i]) return words[i] <=> other.words[i];
    }
    return count <=> other.count;
  }
  /// "0000000000000001.00000000000000ff": for messages.
  [[nodiscard]] std::string to_string() const;
};

/// Order-preserving words: a < b as values exactly when word(a) < word(b) as unsigned integers.
[[nodiscard]] constexpr std::uint64_t signed_word(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (1ULL << 63U);
}
[[nodiscard]] constexpr std::int64_t word_signed(std::uint64_t word) {
  return static_cast<std::int64_t>(word ^ (1ULL << 63U));
}
/// Any double but NaN; -0.0 and 0.0 give the same word.
[[nodiscard]] inline std::uint64_t double_word(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  return (bits >> 63U) != 0 ? ~bits : bits | (1ULL << 63U);
}
[[nodiscard]] inline double word_double(std::uint64_t word) {
  return std::bit_cast<double>((word >> 63U) != 0 ? word & ~(1ULL << 63U) : ~word);
}

/// Builds a Key from words: `make_key(run, parameter)`.
template <class... Words>
[[nodiscard]] constexpr Key make_key(Words... words) {
  static_assert(sizeof...(Words) >= 1 && sizeof...(Words) <= kMaxKeyWords);
  Key key;
  ((key.words[key.count++] = static_cast<std::uint64_t>(words)), ...);
  return key;
}

}  // namespace nvmdb::index
