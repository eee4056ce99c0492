#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/base/random.h"

namespace nvmdb::tpcc {

/// Run-time constants C of NURand(A, x, y): one per A.
/// Source: clause 2.1.6.
struct NonUniformConstants {
  std::uint32_t c_last = 0;   ///< A = 255
  std::uint32_t c_id = 0;     ///< A = 1023
  std::uint32_t ol_i_id = 0;  ///< A = 8191

  /// Constants for a load.
  [[nodiscard]] static NonUniformConstants for_load(SeededRandom& random);
  /// Constants for a run on what was loaded with `load_c_last`: the difference is 65 to 119, but not 96 or 112.
  /// Source: clause 2.1.6.1.
  [[nodiscard]] static NonUniformConstants for_run(SeededRandom& random, std::uint32_t load_c_last);
};
[[nodiscard]] bool is_allowed_c_last(std::uint32_t load, std::uint32_t run);

/// Uniform in [low, high], both included.
[[nodiscard]] inline std::uint32_t uniform(SeededRandom& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random.below(std::uint64_t{high} - low + 1));
}

/// (((random(0, a) | random(x, y)) + c) % (y - x + 1)) + x. Source: clause 2.1.6.
[[nodiscard]] inline std::uint32_t non_uniform(SeededRandom& random, std::uint32_t a, std::uint32_t c, std::uint32_t x,
                                               std::uint32_t y) {
  return ((uniform(random, 0, a) | uniform(random, x, y)) + c) % (y - x + 1) + x;
}

/// Last name of `number` in [0, 999]: three syllables. Source: clause 4.3.2.3.
[[nodiscard]] std::string last_name(std::uint32_t number);

/// Fills `text` with a random string of letters and digits of random length in [low, high], then zeros.
/// Source: clause 4.3.2.2.
void random_text(SeededRandom& random, std::span<char> text, std::size_t low, std::size_t high);
/// As random_text(), digits only.
void random_digits(SeededRandom& random, std::span<char> text, std::size_t low, std::size_t high);
/// Four digits and "11111". Source: clause 4.3.2.7.
void random_zip(SeededRandom& random, std::span<char> text);
/// 26 to 50 characters that hold "ORIGINAL" somewhere when `original`. Source: clause 4.3.3.1.
void random_data(SeededRandom& random, std::span<char> text, bool original);

}  // namespace nvmdb::tpcc
