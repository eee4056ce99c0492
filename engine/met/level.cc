#include "engine/met/level.h"

#include <array>
#include <charconv>

namespace nvmdb::met {
namespace {

std::string shortest(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

}  // namespace

std::string format_level(double value, double bottom) {
  if (value == bottom) return shortest(value);
  return shortest(value) + "-" + shortest(bottom);
}

}  // namespace nvmdb::met
