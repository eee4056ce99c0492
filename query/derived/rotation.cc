#include "query/derived/rotation.h"

#include <cmath>
#include <limits>

#include "query/derived/constants.h"

namespace nvmdb::query::derived {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Slots of storm-relative helicity.
constexpr std::size_t kU = 0;
constexpr std::size_t kV = 1;
constexpr std::size_t kPh = 2;
constexpr std::size_t kPhb = 3;
constexpr std::size_t kTerrain = 4;

/// Storm-relative helicity of the lowest 3 km. The storm moves with three quarters of the mean wind from 3 to
/// 10 km, 30 degrees to its right (to its left on the southern hemisphere). Source: Davies-Jones, Burgess and
/// Foster (1990), 16th Conf. on Severe Local Storms; layers as NCL's wrf_helicity_lat: each begins with the
/// first level above its bound. Units: m2 s-2.
double storm_helicity(const Block& b, std::size_t i) {
  const std::size_t levels = b.slots[kU].levels;
  const auto height = [&](std::size_t k) {
    return (b.at(kPh, k, i) + b.at(kPhb, k, i)) / kGravity - b.at(kTerrain, i);
  };
  std::size_t low = 0;
  while (low + 1 < levels && height(low) <= 3000.0) ++low;
  std::size_t high = low;
  while (high + 2 < levels && height(high) <= 10000.0) ++high;
  if (low + 1 >= levels) return kNan;
  double depth = 0;
  double u = 0;
  double v = 0;
  for (std::size_t k = low; k <= high; ++k) {
    const double dz = height(k + 1) - height(k);
    depth += dz;
    u += 0.5 * dz * (b.at(kU, k, i) + b.at(kU, k + 1, i));
    v += 0.5 * dz * (b.at(kV, k, i) + b.at(kV, k + 1, i));
  }
  const double turn = (b.latitudes[i] < 0 ? -30.0 : 30.0) * kDegree;
  const double storm_u = 0.75 / depth * (u * std::cos(turn) + v * std::sin(turn));
  const double storm_v = 0.75 / depth * (v * std::cos(turn) - u * std::sin(turn));
  double total = 0;
  for (std::size_t k = 1; k <= low; ++k) {
    total += (b.at(kV, k, i) - storm_v) * (b.at(kU, k, i) - b.at(kU, k - 1, i)) -
             (b.at(kU, k, i) - storm_u) * (b.at(kV, k, i) - b.at(kV, k - 1, i));
  }
  return total;
}

// Slots of updraft helicity.
constexpr std::size_t kW = 0;
constexpr std::size_t kHeight = 1;  // PH and PHB
constexpr std::size_t kNorth = 3;   // U to the north and to the south
constexpr std::size_t kEast = 5;    // V to the east and to the west
constexpr std::size_t kMap = 7;

/// Integral between two heights of what is known at points of a column, linear between them. NaN when the
/// column does not reach so far. `first` is the lowest point that counts.
template <class HeightAt, class ValueAt>
double integral(std::size_t first, std::size_t count, double bottom, double top, const HeightAt& height,
                const ValueAt& value) {
  if (first + 1 >= count || height(first) > bottom || height(count - 1) < top) return kNan;
  double total = 0;
  for (std::size_t k = first; k + 1 < count; ++k) {
    const double low = std::max(bottom, height(k));
    const double high = std::min(top, height(k + 1));
    if (high <= low) continue;
    const double slope = (value(k + 1) - value(k)) / (height(k + 1) - height(k));
    total += (high - low) * (value(k) + slope * (0.5 * (low + high) - height(k)));
  }
  return total;
}

/// Updraft times vorticity between 2 and 5 km, where the air rises on the mean; else 0. Missing at the edges
/// of the grid, where there is no centred difference. Source: Kain et al. (2008), Wea. Forecasting 23,
/// 931-952; NCL's wrf_updraft_helicity, which counts heights from the second interface and multiplies the
/// distances by the map factor. Units: m2 s-2.
double updraft_helicity(const Block& b, std::size_t i) {
  if (b.cells_across(i) < 2 || b.cells_along(i) < 2) return kNan;
  const std::size_t interfaces = b.slots[kW].levels;
  const auto height = [&](std::size_t k) {
    return (b.at(kHeight, k, i) + b.at(kHeight + 1, k, i)) / kGravity;
  };
  const auto middle = [&](std::size_t k) { return 0.5 * (height(k) + height(k + 1)); };
  const auto updraft = [&](std::size_t k) { return b.at(kW, k, i); };
  const double map = 2.0 * b.at(kMap, i);
  const auto helicity = [&](std::size_t k) {
    const double turning = (b.at(kEast, k, i) - b.at(kEast + 1, k, i)) / (map * b.grid->column_step) -
                           (b.at(kNorth, k, i) - b.at(kNorth + 1, k, i)) / (map * b.grid->row_step);
    return 0.5 * (updraft(k) + updraft(k + 1)) * turning;
  };
  const double bottom = height(1) + 2000.0;
  const double top = height(1) + 5000.0;
  const double rising = integral(1, interfaces, bottom, top, height, updraft);
  if (std::isnan(rising)) return kNan;
  return rising > 0 ? integral(1, interfaces - 1, bottom, top, middle, helicity) : 0.0;
}

template <auto Formula>
void each(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = Formula(block, i);
}

}  // namespace

std::vector<Definition> rotation_definitions() {
  const std::vector<Input> storm{{"U", Span::Column},
                                 {"V", Span::Column},
                                 {"PH", Span::Column},
                                 {"PHB", Span::Column},
                                 {"HGT", Span::Surface}};
  const std::vector<Input> updraft{{"W", Span::ColumnInterfaces},   {"PH", Span::ColumnInterfaces},
                                   {"PHB", Span::ColumnInterfaces}, {"U", Span::Column, 1, 0},
                                   {"U", Span::Column, -1, 0},      {"V", Span::Column, 0, 1},
                                   {"V", Span::Column, 0, -1},      {"MAPFAC_M", Span::Surface}};
  std::vector<Definition> list;
  for (const std::string_view name : {"helicity", "srh"}) {
    list.push_back({name, "m2 s-2", "storm-relative helicity of the lowest 3 km", "wrf", Place::Surface,
                    storm, each<storm_helicity>, true});
  }
  for (const std::string_view name : {"updraft_helicity", "uhel"}) {
    list.push_back({name, "m2 s-2", "updraft helicity from 2 to 5 km", "wrf", Place::Surface, updraft,
                    each<updraft_helicity>});
  }
  return list;
}

}  // namespace nvmdb::query::derived
