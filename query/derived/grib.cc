#include <algorithm>
#include <cmath>
#include <limits>

#include "query/derived/constants.h"
#include "query/derived/definition.h"
#include "query/derived/moist_air.h"

// Parameters of GRIB runs, from what they hold at the same level.
namespace nvmdb::query::derived {
namespace {

template <auto Formula>
void each(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = Formula(block, i);
}

/// Pa, of a pressure level; NaN elsewhere.
double level_pressure(const Block& b) {
  if (b.level_type == "isobaricInhPa") return 100.0 * b.level;
  return b.level_type == "isobaricInPa" ? b.level : std::numeric_limits<double>::quiet_NaN();
}
double mixing_ratio_of_specific(double q) {
  return q / (1.0 - q);
}

constexpr auto kHumidity = [](const Block& b, std::size_t i) {
  return relative_humidity(b.at(0, i), level_pressure(b), mixing_ratio_of_specific(b.at(1, i)));
};
constexpr auto kHumidityOfDewPoint = [](const Block& b, std::size_t i) {
  return std::clamp(100.0 * saturation_pressure_hpa(b.at(1, i)) / saturation_pressure_hpa(b.at(0, i)), 0.0,
                    100.0);
};
constexpr auto kDewPoint = [](const Block& b, std::size_t i) {
  return dew_point_celsius(level_pressure(b), mixing_ratio_of_specific(b.at(1, i)));
};
constexpr auto kDewPointOfHumidity = [](const Block& b, std::size_t i) {
  return dew_point_of_vapour_celsius(0.01 * b.at(1, i) * saturation_pressure_hpa(b.at(0, i)));
};
constexpr auto kTheta = [](const Block& b, std::size_t i) {
  return potential_temperature(b.at(0, i), level_pressure(b));
};
constexpr auto kVirtual = [](const Block& b, std::size_t i) {
  return virtual_temperature(b.at(0, i), mixing_ratio_of_specific(b.at(1, i)));
};
constexpr auto kEquivalent = [](const Block& b, std::size_t i) {
  return equivalent_potential_temperature(b.at(0, i), level_pressure(b),
                                          mixing_ratio_of_specific(b.at(1, i)));
};
constexpr auto kHeight = [](const Block& b, std::size_t i) { return b.at(0, i) / kGravityWmo; };
/// Parts of a total may differ from it by the packing's precision.
constexpr auto kDifference = [](const Block& b, std::size_t i) {
  return std::max(b.at(0, i) - b.at(1, i), 0.0);
};

Definition from(std::string_view name, std::string_view units, std::string_view long_name,
                std::vector<Input> inputs, void (*compute)(const Block&, std::span<double>)) {
  return {name, units, long_name, "grib", Place::Levels, std::move(inputs), compute};
}

/// Those of WRF, which are formulas of any two components: u and v, 10u and 10v.
void add_winds(std::vector<Definition>& list) {
  for (Definition wind : wind_definitions()) {
    const bool at_10m = wind.place == Place::Surface;
    if (wind.inputs.size() < 2 || wind.inputs.size() > 4) continue;
    wind.format = "grib";
    wind.place = Place::Levels;
    wind.inputs = at_10m ? std::vector<Input>{{"10u"}, {"10v"}} : std::vector<Input>{{"u"}, {"v"}};
    list.push_back(std::move(wind));
  }
}

}  // namespace

std::vector<Definition> grib_definitions() {
  std::vector<Definition> list;
  list.push_back(from("rh", "%", "relative humidity over water", {{"t"}, {"q"}}, each<kHumidity>));
  list.push_back(
      from("rh2", "%", "relative humidity over water at 2 m", {{"2t"}, {"2d"}}, each<kHumidityOfDewPoint>));
  list.push_back(from("td", "degC", "dew point temperature", {{"t"}, {"q"}}, each<kDewPoint>));
  list.push_back(from("td", "degC", "dew point temperature", {{"t"}, {"r"}}, each<kDewPointOfHumidity>));
  for (const std::string_view name : {"th", "theta"})
    list.push_back(from(name, "K", "potential temperature", {{"t"}}, each<kTheta>));
  list.push_back(from("tv", "K", "virtual temperature", {{"t"}, {"q"}}, each<kVirtual>));
  for (const std::string_view name : {"eth", "theta_e"})
    list.push_back(from(name, "K", "equivalent potential temperature", {{"t"}, {"q"}}, each<kEquivalent>));
  list.push_back(from("height", "m", "geopotential height", {{"z"}}, each<kHeight>));
  add_winds(list);
  list.push_back({"rain_interval",
                  "",
                  "precipitation over the interval",
                  "grib",
                  Place::Interval,
                  {{"tp", Span::Level}, {"tp", Span::Level, 0, 0, Side::Mean, false, true}},
                  each<kDifference>});
  return list;
}

}  // namespace nvmdb::query::derived
