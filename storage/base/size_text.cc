#include "storage/base/size_text.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace nvmdb {
namespace {

struct Unit {
  std::string_view name;
  unsigned shift;
};
constexpr std::array<Unit, 6> kUnits{{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}, {"", 0}}};

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{}) {
    const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& unit : kUnits) {
      if (suffix != unit.name) continue;
      if (count > (std::numeric_limits<std::uint64_t>::max() >> unit.shift)) break;
      return count << unit.shift;
    }
  }
  return Status::invalid_argument("size '" + std::string(text) + "' is not understood; write it like 512MiB or 4GiB");
}

std::string format_size(std::uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    const std::uint64_t one = std::uint64_t{1} << unit.shift;
    if (bytes < one && unit.shift != 0) continue;
    if (bytes % one == 0) return std::to_string(bytes / one) + " " + std::string(unit.name);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", static_cast<double>(bytes) / static_cast<double>(one),
                  unit.name.data());
    return text.data();
  }
  return "0 B";
}

}  // namespace nvmdb
