#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace nvmdb::query::vertical {

/// The two levels around a place in a column, and how far up from the lower one it is.
struct Bracket {
  std::size_t lower = 0;
  std::size_t upper = 0;
  double share = 0;  ///< 0: the lower level itself
};

/// Where in a column a coordinate is reached first, seen from the ground. On a level exactly it is that level
/// alone. Shape:  `coordinates` of each level, lowest level first, growing or falling; NaN is unknown, and
/// nothing is looked
///         for between an unknown one and its neighbours.
/// Errors: empty where the column does not reach (below its lowest level too: nothing is extrapolated), and
/// where a
///         logarithm is asked of what is not positive.
[[nodiscard]] std::optional<Bracket> find_bracket(std::span<const double> coordinates, double at,
                                                  bool logarithmic);

/// The value there: that of the lower level when `share` is 0, whatever the upper one is. Missing (NaN) when
/// one that counts is missing.
[[nodiscard]] float value_at(std::span<const float> values, const Bracket& bracket);
/// The same of directions in degrees, between unit vectors. Missing where they cancel.
[[nodiscard]] float direction_at(std::span<const float> degrees, const Bracket& bracket);

}  // namespace nvmdb::query::vertical
