#include "tpcc/random.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "storage/base/check.h"

namespace nvmdb::tpcc {

namespace {

constexpr std::array<std::string_view, 10> kSyllables{"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                      "ESE", "ANTI",  "CALLY", "ATION", "EING"};
constexpr std::string_view kLettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kOriginal = "ORIGINAL";

void random_from(SeededRandom& random, std::span<char> text, std::size_t low, std::size_t high,
                 std::string_view alphabet) {
  NVMDB_CHECK(high <= text.size() && low <= high, "impossible text length");
  const std::size_t length = low + static_cast<std::size_t>(random.below(high - low + 1));
  for (std::size_t i = 0; i < length; ++i) {
    text[i] = alphabet[static_cast<std::size_t>(random.below(alphabet.size()))];
  }
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(length), text.end(), '\0');
}

}  // namespace

NonUniformConstants NonUniformConstants::for_load(SeededRandom& random) {
  return {uniform(random, 0, 255), uniform(random, 0, 1023), uniform(random, 0, 8191)};
}

bool is_allowed_c_last(std::uint32_t load, std::uint32_t run) {
  const std::uint32_t delta = load > run ? load - run : run - load;
  return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}

NonUniformConstants NonUniformConstants::for_run(SeededRandom& random, std::uint32_t load_c_last) {
  NonUniformConstants constants = for_load(random);
  while (!is_allowed_c_last(load_c_last, constants.c_last)) constants.c_last = uniform(random, 0, 255);
  return constants;
}

std::string last_name(std::uint32_t number) {
  NVMDB_CHECK(number <= 999, "last names have numbers up to 999");
  std::string name(kSyllables[number / 100]);
  name += kSyllables[number / 10 % 10];
  name += kSyllables[number % 10];
  return name;
}

void random_text(SeededRandom& random, std::span<char> text, std::size_t low, std::size_t high) {
  random_from(random, text, low, high, kLettersAndDigits);
}

void random_digits(SeededRandom& random, std::span<char> text, std::size_t low, std::size_t high) {
  random_from(random, text, low, high, kLettersAndDigits.substr(52));
}

void random_zip(SeededRandom& random, std::span<char> text) {
  random_digits(random, text, 4, 4);
  std::fill_n(text.begin() + 4, 5, '1');
}

void random_data(SeededRandom& random, std::span<char> text, bool original) {
  random_text(random, text, 26, 50);
  if (!original) return;
  const std::size_t length = ::strnlen(text.data(), text.size());
  const auto at = static_cast<std::size_t>(random.below(length - kOriginal.size() + 1));
  std::memcpy(text.data() + at, kOriginal.data(), kOriginal.size());
}

}  // namespace nvmdb::tpcc
