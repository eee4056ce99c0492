#include "query/geometry/sphere.h"

#include <algorithm>
#include <cmath>

namespace nvmdb::query {

double wrap_longitude(double degrees) {
  const double wrapped = degrees - 360.0 * std::floor((degrees + 180.0) / 360.0);
  return wrapped < 180.0 ? wrapped : -180.0;
}

double output_longitude(double degrees) {
  // What a file holds as float32 is printed as it is; sums of steps lose the noise of their last digits.
  if (degrees >= -180.0 && degrees < 180.0 && degrees == static_cast<double>(static_cast<float>(degrees))) {
    return degrees + 0.0;
  }
  const double rounded = std::round(wrap_longitude(degrees) * 1e9) / 1e9;
  return rounded < 180.0 ? rounded + 0.0 : -180.0;
}

double central_angle(const Point& a, const Point& b) {
  const double sine_latitude = std::sin((a.latitude - b.latitude) * 0.5 * kRadians);
  const double sine_longitude = std::sin((a.longitude - b.longitude) * 0.5 * kRadians);
  const double h = sine_latitude * sine_latitude + std::cos(a.latitude * kRadians) *
                                                       std::cos(b.latitude * kRadians) * sine_longitude *
                                                       sine_longitude;
  return 2.0 * std::asin(std::sqrt(std::clamp(h, 0.0, 1.0)));
}

Rotation::Rotation(double south_pole_latitude, double south_pole_longitude, double angle)
    : sine_(std::sin((90.0 + south_pole_latitude) * kRadians)),
      cosine_(std::cos((90.0 + south_pole_latitude) * kRadians)),
      pole_longitude_(south_pole_longitude),
      angle_(angle) {}

namespace {

/// Turns about the axis through longitudes -90 and 90.
Point tilt(const Point& from, double sine, double cosine) {
  const double latitude = from.latitude * kRadians;
  const double longitude = from.longitude * kRadians;
  const double x = std::cos(latitude) * std::cos(longitude);
  const double y = std::cos(latitude) * std::sin(longitude);
  const double z = std::sin(latitude);
  const double tilted_x = cosine * x - sine * z;
  const double tilted_z = sine * x + cosine * z;
  // atan2 keeps its precision near the poles, where asin loses half of the digits.
  return {std::atan2(tilted_z, std::hypot(tilted_x, y)) / kRadians, std::atan2(y, tilted_x) / kRadians};
}

}  // namespace

Point Rotation::to_true(const Point& rotated) const {
  Point position = tilt({rotated.latitude, rotated.longitude + angle_}, sine_, cosine_);
  position.longitude = wrap_longitude(position.longitude + pole_longitude_);
  return position;
}

Point Rotation::to_rotated(const Point& position) const {
  Point rotated = tilt({position.latitude, position.longitude - pole_longitude_}, -sine_, cosine_);
  rotated.longitude = wrap_longitude(rotated.longitude - angle_);
  return rotated;
}

}  // namespace nvmdb::query
