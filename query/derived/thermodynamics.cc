#include <cmath>

#include "query/derived/constants.h"
#include "query/derived/definition.h"
#include "query/derived/moist_air.h"
#include "query/derived/pseudoadiabat.h"

// Parameters of WRF runs that depend on the air at one level, or at 2 m.
namespace nvmdb::query::derived {
namespace {

// Slots of the inputs that most have; potential temperature and vapour are last so that fewer may be asked
// for.
constexpr std::size_t kP = 0;
constexpr std::size_t kPb = 1;
constexpr std::size_t kT = 2;
constexpr std::size_t kQ = 3;

double pressure_at(const Block& b, std::size_t i) {
  return b.at(kP, i) + b.at(kPb, i);
}
double theta_at(const Block& b, std::size_t i) {
  return b.at(kT, i) + kThetaBase;
}
double temperature_at(const Block& b, std::size_t i) {
  return temperature(theta_at(b, i), pressure_at(b, i));
}

/// Applies a formula of one point to all of them.
template <auto Formula>
void each(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = Formula(block, i);
}

constexpr auto kPressure = [](const Block& b, std::size_t i) { return pressure_at(b, i); };
constexpr auto kPressureHpa = [](const Block& b, std::size_t i) { return 0.01 * pressure_at(b, i); };
constexpr auto kTheta = [](const Block& b, std::size_t i) { return b.at(0, i) + kThetaBase; };
constexpr auto kKelvin = [](const Block& b, std::size_t i) { return temperature_at(b, i); };
constexpr auto kCelsius = [](const Block& b, std::size_t i) { return temperature_at(b, i) - kFreezing; };
constexpr auto kVirtual = [](const Block& b, std::size_t i) {
  return virtual_temperature(temperature_at(b, i), b.at(kQ, i));
};
constexpr auto kDewPoint = [](const Block& b, std::size_t i) {
  return dew_point_celsius(pressure_at(b, i), b.at(2, i));
};
constexpr auto kHumidity = [](const Block& b, std::size_t i) {
  return relative_humidity(temperature_at(b, i), pressure_at(b, i), b.at(kQ, i));
};
constexpr auto kEquivalent = [](const Block& b, std::size_t i) {
  return equivalent_potential_temperature(temperature_at(b, i), pressure_at(b, i), b.at(kQ, i));
};
/// Along the pseudoadiabat through the air's condensation level. Source: NCL's wrf_wetbulb.
constexpr auto kWetBulb = [](const Block& b, std::size_t i) {
  const double theta = equivalent_potential_temperature(temperature_at(b, i), pressure_at(b, i), b.at(kQ, i));
  return Pseudoadiabat::instance().temperature(theta, 0.01 * pressure_at(b, i));
};
constexpr auto kGeopotential = [](const Block& b, std::size_t i) { return b.at(0, i) + b.at(1, i); };
constexpr auto kHeight = [](const Block& b, std::size_t i) { return (b.at(0, i) + b.at(1, i)) / kGravity; };
constexpr auto kHeightAboveGround = [](const Block& b, std::size_t i) {
  return (b.at(0, i) + b.at(1, i)) / kGravity - b.at(2, i);
};
constexpr auto kFirst = [](const Block& b, std::size_t i) { return b.at(0, i); };
/// Source: NCL's wrf_omega: hydrostatic, -g rho w.
constexpr auto kOmega = [](const Block& b, std::size_t i) {
  const double air = virtual_temperature(temperature_at(b, i), b.at(kQ, i));
  return -kGravity * pressure_at(b, i) / (kGasDry * air) * b.at(4, i);
};
constexpr auto kDewPoint2m = [](const Block& b, std::size_t i) {
  return dew_point_celsius(b.at(0, i), b.at(1, i));
};
constexpr auto kHumidity2m = [](const Block& b, std::size_t i) {
  return relative_humidity(b.at(2, i), b.at(0, i), b.at(1, i));
};

const std::vector<Input> kPressureInputs{{"P"}, {"PB"}};
const std::vector<Input> kTemperatureInputs{{"P"}, {"PB"}, {"T"}};
const std::vector<Input> kMoistInputs{{"P"}, {"PB"}, {"T"}, {"QVAPOR"}};
const std::vector<Input> kHeightInputs{{"PH"}, {"PHB"}};

Definition at_levels(std::string_view name, std::string_view units, std::string_view long_name,
                     std::vector<Input> inputs, void (*compute)(const Block&, std::span<double>)) {
  return {name, units, long_name, "wrf", Place::Levels, std::move(inputs), compute};
}

}  // namespace

std::vector<Definition> thermodynamic_definitions() {
  std::vector<Definition> list;
  for (const std::string_view name : {"p", "pres"})
    list.push_back(at_levels(name, "Pa", "pressure", kPressureInputs, each<kPressure>));
  list.push_back(at_levels("pressure", "hPa", "pressure", kPressureInputs, each<kPressureHpa>));
  for (const std::string_view name : {"th", "theta"})
    list.push_back(at_levels(name, "K", "potential temperature", {{"T"}}, each<kTheta>));
  for (const std::string_view name : {"tk", "temp"})
    list.push_back(at_levels(name, "K", "temperature", kTemperatureInputs, each<kKelvin>));
  list.push_back(at_levels("tc", "degC", "temperature", kTemperatureInputs, each<kCelsius>));
  list.push_back(at_levels("tv", "K", "virtual temperature", kMoistInputs, each<kVirtual>));
  list.push_back(
      at_levels("td", "degC", "dew point temperature", {{"P"}, {"PB"}, {"QVAPOR"}}, each<kDewPoint>));
  list.push_back(at_levels("rh", "%", "relative humidity over water", kMoistInputs, each<kHumidity>));
  for (const std::string_view name : {"eth", "theta_e"})
    list.push_back(at_levels(name, "K", "equivalent potential temperature", kMoistInputs, each<kEquivalent>));
  list.push_back(at_levels("twb", "K", "wet bulb temperature", kMoistInputs, each<kWetBulb>));
  std::vector<Input> with_w = kMoistInputs;
  with_w.push_back({"W"});
  for (const std::string_view name : {"omega", "omg"})
    list.push_back(at_levels(name, "Pa s-1", "vertical velocity in pressure", with_w, each<kOmega>));
  list.push_back(at_levels("geopt", "m2 s-2", "geopotential", kHeightInputs, each<kGeopotential>));
  for (const std::string_view name : {"z", "height"})
    list.push_back(at_levels(name, "m", "height above sea level", kHeightInputs, each<kHeight>));
  list.push_back({"zstag", "m", "height of interfaces above sea level", "wrf", Place::Interfaces,
                  kHeightInputs, each<kHeight>});
  list.push_back({"geopt_stag", "m2 s-2", "geopotential of interfaces", "wrf", Place::Interfaces,
                  kHeightInputs, each<kGeopotential>});
  std::vector<Input> with_terrain = kHeightInputs;
  with_terrain.push_back({"HGT", Span::Surface});
  list.push_back(at_levels("height_agl", "m", "height above ground", with_terrain, each<kHeightAboveGround>));
  list.push_back({"td2",
                  "degC",
                  "dew point temperature at 2 m",
                  "wrf",
                  Place::Surface,
                  {{"PSFC", Span::Surface}, {"Q2", Span::Surface}},
                  each<kDewPoint2m>});
  list.push_back({"rh2",
                  "%",
                  "relative humidity over water at 2 m",
                  "wrf",
                  Place::Surface,
                  {{"PSFC", Span::Surface}, {"Q2", Span::Surface}, {"T2", Span::Surface}},
                  each<kHumidity2m>});
  list.push_back(
      {"ter", "m", "terrain height", "wrf", Place::Surface, {{"HGT", Span::Surface}}, each<kFirst>});
  return list;
}

}  // namespace nvmdb::query::derived
