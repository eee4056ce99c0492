#include <algorithm>
#include <cmath>
#include <limits>

#include "query/derived/constants.h"
#include "query/derived/definition.h"
#include "query/derived/moist_air.h"
#include "query/derived/parcel.h"
#include "query/derived/reflectivity.h"
#include "query/derived/rotation.h"

// Parameters of WRF runs that depend on a whole column of air.
namespace nvmdb::query::derived {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Slots of the columns.
constexpr std::size_t kP = 0;
constexpr std::size_t kPb = 1;
constexpr std::size_t kT = 2;
constexpr std::size_t kQ = 3;
constexpr std::size_t kPh = 4;
constexpr std::size_t kPhb = 5;
constexpr std::size_t kTerrain = 6;
constexpr std::size_t kSurface = 7;

template <auto Formula>
void each(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = Formula(block, i);
}

double pressure_at(const Block& b, std::size_t k, std::size_t i) {
  return b.at(kP, k, i) + b.at(kPb, k, i);
}
double temperature_at(const Block& b, std::size_t k, std::size_t i) {
  return temperature(b.at(kT, k, i) + kThetaBase, pressure_at(b, k, i));
}
double height_at(const Block& b, std::size_t k, std::size_t i) {
  return (b.at(kPh, k, i) + b.at(kPhb, k, i)) / kGravity;
}

/// Pressure at sea level. Below ground the air warms by 6.5 K per kilometre from where it is 100 hPa less
/// than at the lowest level, so that the heating of the ground does not count; too warm air is cooled towards
/// 290.66 K. Source: the algorithm of NCL's wrf_slp (Shuell), with its own interpolation to 100 hPa above the
/// lowest level. Units: hPa.
double sea_level_pressure(const Block& b, std::size_t i) {
  constexpr double kDepth = 10000.0;
  constexpr double kWarmest = kFreezing + 0.01 + 17.5;
  const std::size_t levels = b.slots[kP].levels;
  const double lowest = pressure_at(b, 0, i);
  std::size_t above = 1;
  while (above < levels && pressure_at(b, above, i) >= lowest - kDepth) ++above;
  if (above >= levels) return kNan;
  const std::size_t low = above - 1;
  const auto warmth = [&](std::size_t k) {
    return temperature_at(b, k, i) * (1.0 + 0.608 * std::max(b.at(kQ, k, i), 0.0));
  };
  // A product where interpolation would divide: so do NCL and wrf-python, and everybody's charts with them.
  const double share = std::log((lowest - kDepth) / pressure_at(b, above, i)) *
                       std::log(pressure_at(b, low, i) / pressure_at(b, above, i));
  const double temperature = warmth(above) - (warmth(above) - warmth(low)) * share;
  const double height = height_at(b, above, i) - (height_at(b, above, i) - height_at(b, low, i)) * share;
  const double at_surface =
      temperature * std::pow(lowest / (lowest - kDepth), kLapseRate * kGasDry / kGravity);
  double at_sea = temperature + kLapseRate * height;
  if (at_surface <= kWarmest && at_sea >= kWarmest) {
    at_sea = kWarmest;
  } else {
    const double excess = at_surface - kWarmest;
    at_sea = kWarmest - 0.005 * excess * excess;
  }
  return 0.01 * lowest * std::exp(2.0 * kGravity * height_at(b, 0, i) / (kGasDry * (at_sea + at_surface)));
}

/// Source: as NCL's wrf_pw, the sum of vapour's density times depth. Units: kg m-2.
double precipitable_water(const Block& b, std::size_t i) {
  double total = 0;
  for (std::size_t k = 0; k < b.slots[kP].levels; ++k) {
    const double q = b.at(kQ, k, i);
    const double depth = height_at(b, k + 1, i) - height_at(b, k, i);
    total += pressure_at(b, k, i) / (kGasDry * virtual_temperature(temperature_at(b, k, i), q)) * q * depth;
  }
  return total;
}

/// The lowest height at which air that is above freezing below gets below it; missing when the lowest level
/// is frozen or no level is. Units: m above sea level.
double freezing_level(const Block& b, std::size_t i) {
  for (std::size_t k = 1; k < b.slots[kP].levels; ++k) {
    const double below = temperature_at(b, k - 1, i);
    const double above = temperature_at(b, k, i);
    if (k == 1 && below <= kFreezing) return kNan;
    if (above > kFreezing) continue;
    const double share = (below - kFreezing) / (below - above);
    return height_at(b, k - 1, i) + share * (height_at(b, k, i) - height_at(b, k - 1, i));
  }
  return kNan;
}

void fill(const Block& b, std::size_t i, AirColumn& column) {
  column.resize(b.slots[kP].levels);
  for (std::size_t k = 0; k < column.levels(); ++k) {
    column.pressure_hpa[k] = 0.01 * pressure_at(b, k, i);
    column.temperature[k] = temperature_at(b, k, i);
    column.mixing_ratio[k] = b.at(kQ, k, i);
    column.height[k] = height_at(b, k, i);
  }
  column.terrain = b.at(kTerrain, i);
  column.surface_pressure_hpa = 0.01 * b.at(kSurface, i);
}

template <double Ascent::*Part>
void most_unstable(const Block& block, std::span<double> values) {
  AirColumn column;
  for (std::size_t i = 0; i < block.points; ++i) {
    fill(block, i, column);
    values[i] = lift(column, most_unstable_parcel(column)).*Part;
  }
}

template <double Ascent::*Part>
void of_level(const Block& block, std::span<double> values) {
  AirColumn column;
  const auto level = static_cast<std::size_t>(block.level) - 1;  // WRF numbers levels from 1
  for (std::size_t i = 0; i < block.points; ++i) {
    fill(block, i, column);
    values[i] = level < column.levels() ? lift(column, parcel_at(column, level)).*Part : kNan;
  }
}

// Slots of the clouds, after P, PB, T, PH and PHB at their places: vapour is at kQ.
constexpr std::size_t kCloud = 7;
constexpr std::size_t kIce = 8;

/// Temperature where the optical depth from the top reaches 1; of the lowest level where there is no such
/// cloud. Source: Stoelinga, RIP version 4, as NCL's wrf_ctt: 0.145 m2 g-1 for water, 0.272 for ice; water
/// below freezing counts as ice where the run has no ice. Units: degrees Celsius.
double cloud_top_temperature(const Block& b, std::size_t i) {
  const std::size_t levels = b.slots[kP].levels;
  const auto between = [&](std::size_t k) { return 0.5 * (pressure_at(b, k, i) + pressure_at(b, k + 1, i)); };
  const double lowest = pressure_at(b, 0, i);
  const double air = virtual_temperature(temperature_at(b, 0, i), b.at(kQ, 0, i));
  // From the lowest level down to the ground, in a standard lapse rate.
  const double ground = lowest * std::pow(air / (air + kLapseRate * (height_at(b, 0, i) - b.at(kTerrain, i))),
                                          -kGravity / (kGasDry * kLapseRate));
  double depth = 0;
  double top = lowest;
  for (std::size_t k = levels - 1; k-- > 0;) {
    const double upper = between(k);
    const double lower = k == 0 ? ground : between(k - 1);
    const double water = 1000.0 * b.at(kCloud, k, i);
    double absorbed = 0.145 * water;
    if (b.has(kIce)) {
      absorbed += 0.272 * 1000.0 * b.at(kIce, k, i);
    } else if (temperature_at(b, k, i) < kFreezing) {
      absorbed = 0.272 * water;
    }
    const double added = absorbed * (lower - upper) / kGravity;
    if (depth + added >= 1.0) {
      top =
          std::clamp(upper + (1.0 - depth) / added * (lower - upper), pressure_at(b, levels - 1, i), lowest);
      break;
    }
    depth += added;
  }
  std::size_t k = levels - 1;
  while (k > 1 && pressure_at(b, k - 1, i) < top) --k;
  const double share = (top - pressure_at(b, k, i)) / (pressure_at(b, k - 1, i) - pressure_at(b, k, i));
  return temperature_at(b, k, i) + share * (temperature_at(b, k - 1, i) - temperature_at(b, k, i)) -
         kFreezing;
}

std::vector<Input> air_inputs(Span heights = Span::Column) {
  return {{"P", Span::Column},      {"PB", Span::Column}, {"T", Span::Column},
          {"QVAPOR", Span::Column}, {"PH", heights},      {"PHB", heights}};
}

Definition of_column(std::string_view name, std::string_view units, std::string_view long_name,
                     std::vector<Input> inputs, void (*compute)(const Block&, std::span<double>),
                     Place place = Place::Surface) {
  return {name, units, long_name, "wrf", place, std::move(inputs), compute};
}

void add_parcels(std::vector<Definition>& list) {
  std::vector<Input> inputs = air_inputs();
  inputs.push_back({"HGT", Span::Surface});
  inputs.push_back({"PSFC", Span::Surface});
  list.push_back(
      of_column("mcape", "J kg-1", "CAPE of the most unstable parcel", inputs, most_unstable<&Ascent::cape>));
  list.push_back(
      of_column("mcin", "J kg-1", "CIN of the most unstable parcel", inputs, most_unstable<&Ascent::cin>));
  list.push_back(of_column("lcl", "m", "condensation level of the most unstable parcel above ground", inputs,
                           most_unstable<&Ascent::lcl>));
  list.push_back(of_column("lfc", "m", "level of free convection of the most unstable parcel above ground",
                           inputs, most_unstable<&Ascent::lfc>));
  list.push_back(of_column("cape", "J kg-1", "CAPE of the air of the level", inputs, of_level<&Ascent::cape>,
                           Place::Levels));
  list.push_back(of_column("cin", "J kg-1", "CIN of the air of the level", inputs, of_level<&Ascent::cin>,
                           Place::Levels));
}

}  // namespace

std::vector<Definition> column_definitions() {
  std::vector<Definition> list;
  list.push_back(of_column("slp", "hPa", "sea level pressure", air_inputs(), each<sea_level_pressure>));
  list.push_back(of_column("pw", "kg m-2", "precipitable water", air_inputs(Span::ColumnInterfaces),
                           each<precipitable_water>));
  list.push_back(of_column("freezing_level", "m", "lowest height of 0 degrees Celsius above sea level",
                           air_inputs(), each<freezing_level>));
  add_parcels(list);
  std::vector<Input> clouds = air_inputs();
  clouds.push_back({"HGT", Span::Surface});
  clouds.push_back({"QCLOUD", Span::Column});
  clouds.push_back({"QICE", Span::Column, 0, 0, Side::Mean, true});
  list.push_back(of_column("ctt", "degC", "cloud top temperature", clouds, each<cloud_top_temperature>));
  for (const Definition& definition : reflectivity_definitions()) list.push_back(definition);
  for (const Definition& definition : rotation_definitions()) list.push_back(definition);
  return list;
}

}  // namespace nvmdb::query::derived
