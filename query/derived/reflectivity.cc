#include "query/derived/reflectivity.h"

#include <algorithm>
#include <cmath>

#include "query/derived/constants.h"
#include "query/derived/moist_air.h"

namespace nvmdb::query::derived {
namespace {

constexpr std::size_t kP = 0;
constexpr std::size_t kPb = 1;
constexpr std::size_t kT = 2;
constexpr std::size_t kQ = 3;
constexpr std::size_t kRain = 4;
constexpr std::size_t kSnow = 5;
constexpr std::size_t kGraupel = 6;

/// Reflectivity of particles with an exponential distribution of sizes: factor * (rho q)^1.75.
struct Scatterers {
  double density = 0;    // kg m-3
  double intercept = 0;  // m-4
  bool is_frozen = false;

  [[nodiscard]] double factor() const {
    constexpr double kGammaOfSeven = 720.0;
    constexpr double kWaterDensity = 1000.0;
    constexpr double kDielectric = 0.224;  // of ice over that of water
    const double solid =
        is_frozen ? kDielectric * (density / kWaterDensity) * (density / kWaterDensity) : 1.0;
    return solid * kGammaOfSeven * 1e18 * std::pow(1.0 / (kPi * density), 1.75) / std::pow(intercept, 0.75);
  }
};

/// Radar reflectivity by constant intercepts. Without snow in the run, rain below freezing is snow.
/// Source: Stoelinga (2005), "Simulated equivalent reflectivity as currently formulated in RIP"; NCL's
/// wrf_dbz with varint and liqskin off. Units: dBZ, at least -30.
double reflectivity(const Block& b, std::size_t k, std::size_t i) {
  static const double rain_factor = Scatterers{1000.0, 8e6, false}.factor();
  static const double snow_factor = Scatterers{100.0, 2e7, true}.factor();
  static const double graupel_factor = Scatterers{400.0, 4e6, true}.factor();
  const double pressure = b.at(kP, k, i) + b.at(kPb, k, i);
  const double air = temperature(b.at(kT, k, i) + kThetaBase, pressure);
  const double density = pressure / (kGasDry * virtual_temperature(air, std::max(b.at(kQ, k, i), 0.0)));
  double rain = std::max(b.at(kRain, k, i), 0.0);
  double snow = b.has(kSnow) ? std::max(b.at(kSnow, k, i), 0.0) : 0.0;
  const double graupel = b.has(kGraupel) ? std::max(b.at(kGraupel, k, i), 0.0) : 0.0;
  const bool run_has_snow = b.has(kSnow) && !(b.slots[kSnow].maximum <= 0);
  if (!run_has_snow && air < kFreezing) {
    snow = rain;
    rain = 0;
  }
  const double sum = rain_factor * std::pow(density * rain, 1.75) +
                     snow_factor * std::pow(density * snow, 1.75) +
                     graupel_factor * std::pow(density * graupel, 1.75);
  return 10.0 * std::log10(std::max(sum, 0.001));
}

void at_level(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = reflectivity(block, 0, i);
}

void greatest(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) {
    values[i] = reflectivity(block, 0, i);
    for (std::size_t k = 1; k < block.slots[kP].levels; ++k)
      values[i] = std::max(values[i], reflectivity(block, k, i));
  }
}

std::vector<Input> inputs(Span span) {
  std::vector<Input> list;
  for (const std::string_view name : {"P", "PB", "T", "QVAPOR", "QRAIN"}) list.push_back({name, span});
  for (const std::string_view name : {"QSNOW", "QGRAUP"})
    list.push_back({name, span, 0, 0, Side::Mean, true});
  return list;
}

}  // namespace

std::vector<Definition> reflectivity_definitions() {
  std::vector<Definition> list;
  list.push_back({"dbz", "dBZ", "radar reflectivity", "wrf", Place::Levels, inputs(Span::Level), at_level});
  for (const std::string_view name : {"mdbz", "maxdbz"}) {
    list.push_back({name, "dBZ", "greatest radar reflectivity of the column", "wrf", Place::Surface,
                    inputs(Span::Column), greatest});
  }
  return list;
}

}  // namespace nvmdb::query::derived
