#include "query/geometry/gaussian.h"

#include <cmath>

#include "query/geometry/sphere.h"

namespace nvmdb::query {
namespace {

constexpr int kIterationsMax = 20;

/// One Newton step towards a root of the Legendre polynomial of this degree.
double newton_step(double x, std::uint32_t degree) {
  double previous = 1.0;
  double value = x;
  for (std::uint32_t k = 2; k <= degree; ++k) {
    const double next = ((2.0 * k - 1.0) * x * value - (k - 1.0) * previous) / k;
    previous = value;
    value = next;
  }
  const double derivative = degree * (x * value - previous) / (x * x - 1.0);
  return value / derivative;
}

}  // namespace

std::vector<double> gaussian_latitudes(std::uint32_t n) {
  const std::uint32_t degree = 2 * n;
  std::vector<double> latitudes(degree);
  for (std::uint32_t row = 0; row < n; ++row) {
    double x = std::cos(std::numbers::pi * (row + 0.75) / (degree + 0.5));
    for (int iteration = 0; iteration < kIterationsMax; ++iteration) {
      const double step = newton_step(x, degree);
      x -= step;
      if (std::fabs(step) < 1e-15) break;
    }
    latitudes[row] = std::asin(x) / kRadians;
    latitudes[degree - 1 - row] = -latitudes[row];
  }
  return latitudes;
}

}  // namespace nvmdb::query
