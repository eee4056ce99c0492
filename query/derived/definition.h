#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/derived/block.h"

namespace nvmdb::query::derived {

/// Where the values of a derived parameter lie.
enum class Place : std::uint8_t {
  Levels,      ///< at each level of the first input
  Surface,     ///< once for each column of air
  Interfaces,  ///< at each staggered level of the first input
  Interval,    ///< once, over the time between two steps
};

/// How a parameter is computed from others.
struct Definition {
  std::string_view name;
  std::string_view units;
  std::string_view long_name;
  std::string_view format;  ///< of the runs it is for: "wrf", "grib"
  Place place = Place::Levels;
  std::vector<Input> inputs;
  /// Writes one value for each point.
  void (*compute)(const Block& block, std::span<double> values) = nullptr;
  bool needs_positions = false;
  bool is_direction = false;  ///< degrees that begin anew at 360: means are taken of unit vectors
};

/// All ways to compute the parameter `name`, best first; empty when there is none.
[[nodiscard]] std::span<const Definition* const> definitions_named(std::string_view name);
/// The parts of a name that stands for several parameters ("uvmet": its u and v); empty for others.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view name);
/// Everything that can be computed, in the order of its tables.
[[nodiscard]] const std::vector<Definition>& all_definitions();

// The tables that all_definitions() joins.
[[nodiscard]] std::vector<Definition> thermodynamic_definitions();
[[nodiscard]] std::vector<Definition> wind_definitions();
[[nodiscard]] std::vector<Definition> column_definitions();
[[nodiscard]] std::vector<Definition> rain_definitions();
[[nodiscard]] std::vector<Definition> grib_definitions();

}  // namespace nvmdb::query::derived
