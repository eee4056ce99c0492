#include "query/section_line.h"

#include <array>
#include <cmath>
#include <numbers>

#include "query/geometry/sphere.h"

namespace nvmdb::query {
namespace {

using Vector = std::array<double, 3>;

Vector unit_vector(const Point& point) {
  const double latitude = point.latitude * kRadians;
  const double longitude = point.longitude * kRadians;
  return {std::cos(latitude) * std::cos(longitude), std::cos(latitude) * std::sin(longitude),
          std::sin(latitude)};
}

}  // namespace

Result<std::vector<Point>> section_line(const Point& from, const Point& to, std::uint32_t count) {
  constexpr double kAngleMin = 1e-9;
  constexpr double kOppositeWithin = 1e-6;  // some metres; angles near a half turn are no better known
  if (count < 2) return Status::invalid_argument("a section needs at least 2 points");
  const double angle = central_angle(from, to);
  if (!(angle > kAngleMin))
    return Status::invalid_argument("a section needs two ends: both are the same place");
  if (angle > std::numbers::pi - kOppositeWithin) {
    return Status::invalid_argument(
        "the ends of the section are opposite each other: any great circle joins them; "
        "ask for two sections");
  }
  const Vector first = unit_vector(from);
  const Vector last = unit_vector(to);
  std::vector<Point> points{from};
  for (std::uint32_t i = 1; i + 1 < count; ++i) {
    const double share = static_cast<double>(i) / (count - 1);
    const double near = std::sin((1 - share) * angle);
    const double far = std::sin(share * angle);
    Vector at{};
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] = near * first[axis] + far * last[axis];
    points.push_back(
        {std::atan2(at[2], std::hypot(at[0], at[1])) / kRadians, std::atan2(at[1], at[0]) / kRadians});
  }
  points.push_back(to);
  return points;
}

std::vector<double> distances_along(const std::vector<Point>& points, double radius_m) {
  std::vector<double> distances;
  double total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0) total += central_angle(points[i - 1], points[i]) * radius_m;
    distances.push_back(total);
  }
  return distances;
}

}  // namespace nvmdb::query
