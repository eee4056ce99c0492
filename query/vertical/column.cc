#include "query/vertical/column.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace nvmdb::query::vertical {

std::optional<Bracket> find_bracket(std::span<const double> coordinates, double at, bool logarithmic) {
  for (std::size_t level = 0; level < coordinates.size(); ++level) {
    const double lower = coordinates[level];
    if (lower == at) return Bracket{level, level, 0};
    if (level + 1 == coordinates.size()) break;
    const double upper = coordinates[level + 1];
    // False when one is NaN. A level that is met exactly is found when its turn comes.
    if (!((lower < at && at < upper) || (lower > at && at > upper))) continue;
    if (!logarithmic) return Bracket{level, level + 1, (at - lower) / (upper - lower)};
    if (!(lower > 0 && upper > 0)) return std::nullopt;
    return Bracket{level, level + 1, std::log(at / lower) / std::log(upper / lower)};
  }
  return std::nullopt;
}

float value_at(std::span<const float> values, const Bracket& bracket) {
  if (bracket.share == 0) return values[bracket.lower];
  const auto lower = static_cast<double>(values[bracket.lower]);
  const auto upper = static_cast<double>(values[bracket.upper]);
  return static_cast<float>(lower + bracket.share * (upper - lower));
}

float direction_at(std::span<const float> degrees, const Bracket& bracket) {
  if (bracket.share == 0) return degrees[bracket.lower];
  constexpr double kDegree = std::numbers::pi / 180.0;
  const double lower = static_cast<double>(degrees[bracket.lower]) * kDegree;
  const double upper = static_cast<double>(degrees[bracket.upper]) * kDegree;
  const double east = (1 - bracket.share) * std::sin(lower) + bracket.share * std::sin(upper);
  const double north = (1 - bracket.share) * std::cos(lower) + bracket.share * std::cos(upper);
  if (!(std::hypot(east, north) > 1e-9)) return std::numeric_limits<float>::quiet_NaN();
  const double angle = std::atan2(east, north) / kDegree;
  return static_cast<float>(angle < 0 ? angle + 360.0 : angle);
}

}  // namespace nvmdb::query::vertical
