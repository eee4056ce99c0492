#include "query/derived/parcel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/derived/constants.h"
#include "query/derived/moist_air.h"
#include "query/derived/pseudoadiabat.h"

namespace nvmdb::query::derived {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSearchDepth = 3000;    // m above ground
constexpr double kMixedDepth = 500;      // m
constexpr double kEnergyMin = 0.1;       // J kg-1: so that a zero contour goes round where there is any
constexpr double kCapeOfInterest = 100;  // J kg-1: below, CIN says nothing

/// Lower bound in pressure of the layer that a level stands for; `level` may be the number of levels.
double layer_bottom(const AirColumn& column, std::size_t level) {
  if (level == 0) return column.surface_pressure_hpa;
  return 0.5 * (column.pressure_hpa[level - 1] + column.pressure_hpa[level]);
}

/// Buoyancy along an ascent.
struct Path {
  std::vector<double> buoyancy;  // m s-2
  std::vector<double> height;    // m above where it began
  std::size_t condensation = 0;  // index of the condensation level; the last one when it is not reached

  void add(double force, double at) {
    if (!buoyancy.empty() && buoyancy.back() * force < 0) {
      const double share = buoyancy.back() / (buoyancy.back() - force);
      const double crossing = height.back() + share * (at - height.back());
      buoyancy.push_back(0);
      height.push_back(crossing);
    }
    buoyancy.push_back(force);
    height.push_back(at);
  }
};

double buoyancy_of(double lifted, double lifted_ratio, double air, double air_ratio) {
  const double around = virtual_temperature(air, air_ratio);
  return kGravity * (virtual_temperature(lifted, lifted_ratio) - around) / around;
}

double saturated_ratio(double temperature, double pressure_hpa) {
  const double vapour = saturation_pressure_hpa(temperature);
  return kGasRatio * vapour / (pressure_hpa - vapour);
}

/// The point where the parcel condenses, between levels `above - 1` and `above`.
void add_condensation(const AirColumn& column, const Parcel& parcel, double temperature, double height,
                      std::size_t above, Path& path) {
  const double bottom = column.height[above - 1];
  const double share = (height - bottom) / (column.height[above] - bottom);
  const auto between = [&](const std::vector<double>& values) {
    return values[above - 1] + share * (values[above] - values[above - 1]);
  };
  path.add(buoyancy_of(temperature, column.mixing_ratio[parcel.start], between(column.temperature),
                       between(column.mixing_ratio)),
           height - column.height[parcel.start]);
  path.condensation = path.height.size() - 1;
}

Path ascend(const AirColumn& column, const Parcel& parcel, double condensed, double condensed_height) {
  const double pressure = column.pressure_hpa[parcel.start];
  const double r = parcel.mixing_ratio;
  const Parcel own = parcel_at(column, parcel.start);  // below the condensation level, see lift()
  const double dry_lapse = kGravity / (kHeatDry * (1.0 + kHeatMoist * own.mixing_ratio));
  const double theta = parcel.temperature * std::pow(1000.0 / pressure, kKappa * (1.0 + kKappaMoist * r)) *
                       std::exp((3376.0 / condensed - 2.54) * r * (1.0 + 0.81 * r));
  const double start_height = column.height[parcel.start];
  const Pseudoadiabat& adiabats = Pseudoadiabat::instance();
  Path path;
  bool is_condensed = start_height >= condensed_height;
  const bool saturated_at_start = is_condensed;
  for (std::size_t k = parcel.start; k < column.levels(); ++k) {
    const double height = column.height[k];
    const double air = column.temperature[k];
    const double air_ratio = column.mixing_ratio[k];
    if (height < condensed_height) {
      const double lifted = own.temperature - dry_lapse * (height - start_height);
      path.add(buoyancy_of(lifted, own.mixing_ratio, air, air_ratio), height - start_height);
      continue;
    }
    if (!is_condensed) {
      add_condensation(column, parcel, condensed, condensed_height, k, path);
      is_condensed = true;
      continue;
    }
    const double lifted = adiabats.temperature(theta, column.pressure_hpa[k]);
    path.add(buoyancy_of(lifted, saturated_ratio(lifted, column.pressure_hpa[k]), air, air_ratio),
             height - start_height);
  }
  if (saturated_at_start) path.condensation = 0;
  if (!is_condensed) path.condensation = path.height.size() - 1;
  return path;
}

}  // namespace

void AirColumn::resize(std::size_t levels) {
  for (std::vector<double>* values : {&pressure_hpa, &temperature, &mixing_ratio, &height})
    values->resize(levels);
}

Parcel parcel_at(const AirColumn& column, std::size_t level) {
  return {level, column.temperature[level], column.mixing_ratio[level], false};
}

Parcel most_unstable_parcel(const AirColumn& column) {
  Parcel parcel;
  parcel.is_mixed = true;
  double greatest = -1;
  for (std::size_t k = column.levels(); k-- > 0;) {
    if (column.height[k] - column.terrain >= kSearchDepth) continue;
    const double theta = equivalent_potential_temperature(column.temperature[k], 100 * column.pressure_hpa[k],
                                                          column.mixing_ratio[k]);
    if (theta <= greatest) continue;
    greatest = theta;
    parcel.start = k;
  }
  const std::size_t k0 = parcel.start;
  const double depth = kMixedDepth * column.pressure_hpa[k0] * kGravity /
                       (kGasDry * virtual_temperature(column.temperature[k0], column.mixing_ratio[k0]));
  const double bottom = std::min(column.pressure_hpa[k0] + 0.5 * depth, column.surface_pressure_hpa);
  const double top = bottom - depth;
  double total = 0;
  double theta = 0;
  double ratio = 0;
  for (std::size_t k = 0; k + 1 < column.levels(); ++k) {
    const double share =
        std::min(bottom, layer_bottom(column, k)) - std::max(top, layer_bottom(column, k + 1));
    if (share <= 0) continue;
    const double r = std::max(column.mixing_ratio[k], 1e-15);
    total += share;
    ratio += share * r;
    theta += share * column.temperature[k] *
             std::pow(1000.0 / column.pressure_hpa[k], kKappa * (1.0 + kKappaMoist * r));
  }
  parcel.mixing_ratio = ratio / total;
  parcel.temperature =
      theta / total *
      std::pow(column.pressure_hpa[k0] / 1000.0, kKappa * (1.0 + kKappaMoist * column.mixing_ratio[k0]));
  return parcel;
}

Ascent lift(const AirColumn& column, const Parcel& parcel) {
  const double start_height = column.height[parcel.start];
  const double vapour =
      std::max(1e-20, vapour_pressure_hpa(100 * column.pressure_hpa[parcel.start], parcel.mixing_ratio));
  const double condensed = condensation_temperature(parcel.temperature, vapour);
  const double moist = 1.0 + kHeatMoist * parcel.mixing_ratio;
  const double condensed_height = start_height + (parcel.temperature - condensed) * kHeatDry / kGravity *
                                                     (parcel.is_mixed ? moist : 1.0 / moist);
  const Path path = ascend(column, parcel, condensed, condensed_height);
  const double offset = start_height - column.terrain;
  Ascent found{kNan, kNan, path.height[path.condensation] + offset, path.height.back() + offset};
  std::vector<double> energy(path.height.size(), 0.0);
  for (std::size_t i = 1; i < energy.size(); ++i) {
    energy[i] = energy[i - 1] +
                0.5 * (path.height[i] - path.height[i - 1]) * (path.buoyancy[i - 1] + path.buoyancy[i]);
  }
  std::size_t highest = energy.size();
  while (highest > path.condensation && path.buoyancy[highest - 1] < 0) --highest;
  if (highest == path.condensation) return found;
  const auto first = energy.begin() + static_cast<std::ptrdiff_t>(path.condensation);
  const auto least = std::min_element(first, energy.begin() + static_cast<std::ptrdiff_t>(highest));
  found.lfc = path.height[static_cast<std::size_t>(least - energy.begin())] + offset;
  found.cape = std::max(energy[highest - 1] - *least, kEnergyMin);
  if (found.cape >= kCapeOfInterest) found.cin = std::max(-*least, kEnergyMin);
  return found;
}

}  // namespace nvmdb::query::derived
