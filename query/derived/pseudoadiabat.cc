#include "query/derived/pseudoadiabat.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/derived/constants.h"
#include "query/derived/moist_air.h"

namespace nvmdb::query::derived {
namespace {

constexpr std::size_t kNodes = 150;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Logarithm of the equivalent potential temperature of saturated air; NaN where it boils.
/// Source: Bolton (1980), 43, whose 0.28 is written 0.887 - 0.608 elsewhere; with this one and this kappa the
/// nodes are those of the table that NCL and wrf-python interpolate in, within 3e-4 K (the tolerance of its
/// iteration).
double log_saturated_theta(double temperature, double pressure_hpa) {
  constexpr double kTableKappa = 287.04 / 1004.0;
  constexpr double kTableKappaMoist = -0.28;
  const double vapour = saturation_pressure_hpa(temperature);
  if (vapour >= pressure_hpa) return kNan;
  const double r = kGasRatio * vapour / (pressure_hpa - vapour);
  return std::log(temperature) +
         kTableKappa * (1.0 + kTableKappaMoist * r) * std::log(1000.0 / pressure_hpa) +
         (3376.0 / temperature - 2.54) * r * (1.0 + 0.81 * r);
}

/// By bisection: the equation is monotonic below the boiling point, and the table is made once.
double solve(double theta, double pressure_hpa) {
  const double wanted = std::log(theta);
  double low = 60.0;  // the formula of saturation has a pole at 29.65 K
  double high = 400.0;
  if (log_saturated_theta(low, pressure_hpa) > wanted) return kNan;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    const double found = log_saturated_theta(middle, pressure_hpa);
    (found < wanted ? low : high) = middle;  // NaN is too warm
  }
  return 0.5 * (low + high);
}

std::vector<double> nodes(double first, double last) {
  std::vector<double> values(kNodes);
  for (std::size_t i = 0; i < kNodes; ++i) {
    values[i] = first * std::pow(last / first, static_cast<double>(i) / static_cast<double>(kNodes - 1));
  }
  return values;
}

}  // namespace

Pseudoadiabat::Pseudoadiabat() : theta_(nodes(200, 688)), pressure_(nodes(1100, 40)) {
  temperature_.reserve(kNodes * kNodes);
  for (const double theta : theta_) {
    for (const double pressure : pressure_) temperature_.push_back(solve(theta, pressure));
  }
}

const Pseudoadiabat& Pseudoadiabat::instance() {
  static const Pseudoadiabat table;
  return table;
}

double Pseudoadiabat::temperature(double equivalent_theta, double pressure_hpa) const {
  if (pressure_hpa <= pressure_.back()) return equivalent_theta * std::pow(pressure_hpa / 1000.0, kKappa);
  if (!(equivalent_theta >= theta_.front() && equivalent_theta <= theta_.back())) return kNan;
  if (!(pressure_hpa <= pressure_.front())) return kNan;
  const auto above = std::upper_bound(theta_.begin(), theta_.end() - 1, equivalent_theta);
  const auto beyond =
      std::upper_bound(pressure_.begin(), pressure_.end() - 1, pressure_hpa, std::greater<>());
  const auto t = static_cast<std::size_t>(above - theta_.begin()) - 1;
  const std::size_t p =
      beyond == pressure_.begin() ? 0 : static_cast<std::size_t>(beyond - pressure_.begin()) - 1;
  const double along = (equivalent_theta - theta_[t]) / (theta_[t + 1] - theta_[t]);
  const double up = (pressure_[p] - pressure_hpa) / (pressure_[p] - pressure_[p + 1]);
  const double* const row = temperature_.data() + t * kNodes + p;
  return (1.0 - up) * ((1.0 - along) * row[0] + along * row[kNodes]) +
         up * ((1.0 - along) * row[1] + along * row[kNodes + 1]);
}

}  // namespace nvmdb::query::derived
