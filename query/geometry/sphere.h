#pragma once

#include <numbers>

#include "query/request.h"

namespace nvmdb::query {

constexpr double kRadians = std::numbers::pi / 180.0;  ///< of one degree

/// The same longitude in -180 (included) to 180 (excluded).
[[nodiscard]] double wrap_longitude(double degrees);

/// As it is shown: wrapped, and free of the last bits of noise that sums of steps leave (1e-9 degrees).
[[nodiscard]] double output_longitude(double degrees);

/// Angle between two points seen from the centre of the sphere; exact also for close ones (haversine). Units:
/// radians.
[[nodiscard]] double central_angle(const Point& a, const Point& b);

/// The sphere turned so that its south pole lies elsewhere.
/// Units:  degrees.
/// Source: GRIB edition 2, grid definition template 3.1; sense of the angle as in PROJ's pole rotation of the
/// GRIB
///         convention.
class Rotation {
 public:
  Rotation(double south_pole_latitude, double south_pole_longitude, double angle);
  /// True position of a point given in the rotated system, longitude -180..180.
  [[nodiscard]] Point to_true(const Point& rotated) const;
  [[nodiscard]] Point to_rotated(const Point& position) const;

 private:
  double sine_;  // of the tilt
  double cosine_;
  double pole_longitude_;
  double angle_;
};

}  // namespace nvmdb::query
