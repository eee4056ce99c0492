#include "query/derived/moist_air.h"

#include <algorithm>
#include <cmath>

#include "query/derived/constants.h"

namespace nvmdb::query::derived {
namespace {

constexpr double kDriest = 1e-15;  // kg kg-1: logarithms of vapour stay finite

}  // namespace

double temperature(double theta, double pressure) {
  return theta * std::pow(pressure / kPressureBase, kKappa);
}

double potential_temperature(double temperature, double pressure) {
  return temperature * std::pow(kPressureBase / pressure, kKappa);
}

double saturation_pressure_hpa(double temperature) {
  return 6.112 * std::exp(17.67 * (temperature - kFreezing) / (temperature - 29.65));
}

double vapour_pressure_hpa(double pressure, double mixing_ratio) {
  return mixing_ratio * 0.01 * pressure / (kGasRatio + mixing_ratio);
}

double dew_point_of_vapour_celsius(double vapour_hpa) {
  const double log_vapour = std::log(std::max(vapour_hpa, 0.001));
  return (243.5 * log_vapour - 440.8) / (19.48 - log_vapour);
}

double dew_point_celsius(double pressure, double mixing_ratio) {
  return dew_point_of_vapour_celsius(vapour_pressure_hpa(pressure, std::max(mixing_ratio, 0.0)));
}

double relative_humidity(double temperature, double pressure, double mixing_ratio) {
  const double saturation = saturation_pressure_hpa(temperature);
  const double at_saturation = kGasRatio * saturation / (0.01 * pressure - (1.0 - kGasRatio) * saturation);
  return 100.0 * std::clamp(std::max(mixing_ratio, 0.0) / at_saturation, 0.0, 1.0);
}

double virtual_temperature(double temperature, double mixing_ratio) {
  return temperature * (kGasRatio + mixing_ratio) / (kGasRatio * (1.0 + mixing_ratio));
}

double condensation_temperature(double temperature, double vapour_hpa) {
  return 2840.0 / (3.5 * std::log(temperature) - std::log(vapour_hpa) - 4.805) + 55.0;
}

double equivalent_potential_temperature(double temperature, double pressure, double mixing_ratio) {
  const double r = std::max(mixing_ratio, kDriest);
  const double condensation = condensation_temperature(temperature, vapour_pressure_hpa(pressure, r));
  return temperature * std::pow(kPressureBase / pressure, kKappa * (1.0 + kKappaMoist * r)) *
         std::exp((3376.0 / condensation - 2.54) * r * (1.0 + 0.81 * r));
}

}  // namespace nvmdb::query::derived
