#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "engine/met/grid.h"

// Grids and where their points are, by formulas that share nothing with the code under test: long double,
// textbook forms (Snyder, Map Projections: A Working Manual) on the sphere.
namespace nvmdb::oracle {

using Real = long double;
constexpr Real kDegree = std::numbers::pi_v<Real> / 180;

struct Place {
  Real latitude = 0;
  Real longitude = 0;
};
struct Cell {
  Real u = 0;
  Real v = 0;
};
struct OracleGrid {
  met::Grid grid;
  std::function<Place(std::uint64_t)> position;
  std::function<Cell(const Place&)> cell;  ///< column and row with fractions; unset for reduced grids
};

inline Real angle_between(const Place& a, const Place& b) {
  const auto vector = [](const Place& p) {
    return std::array<Real, 3>{std::cos(p.latitude * kDegree) * std::cos(p.longitude * kDegree),
                               std::cos(p.latitude * kDegree) * std::sin(p.longitude * kDegree),
                               std::sin(p.latitude * kDegree)};
  };
  const auto x = vector(a);
  const auto y = vector(b);
  const Real cross =
      std::hypot(x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]);
  return std::atan2(cross, x[0] * y[0] + x[1] * y[1] + x[2] * y[2]);
}

inline Real turn_difference(Real degrees) {
  return degrees - 360 * std::round(degrees / 360);
}

inline met::Grid sized(met::GridType type, std::uint32_t columns, std::uint32_t rows) {
  met::Grid grid;
  grid.type = type;
  grid.columns = columns;
  grid.rows = rows;
  grid.points = std::uint64_t{columns} * rows;
  return grid;
}

/// Column of a longitude in an evenly spaced row, as near to the row's middle as whole turns allow.
inline Real even_column(Real longitude, Real first, Real step, std::uint32_t columns) {
  const Real middle = first + step * (columns - 1) / 2;
  return (middle + turn_difference(longitude - middle) - first) / step;
}

inline OracleGrid lat_lon(Real first_latitude, Real first_longitude, Real row_step, Real column_step,
                          std::uint32_t columns, std::uint32_t rows, Real shown_last_longitude) {
  OracleGrid made{sized(met::GridType::RegularLatLon, columns, rows), {}, {}};
  made.grid.first_latitude = static_cast<double>(first_latitude);
  made.grid.first_longitude = static_cast<double>(first_longitude);
  made.grid.last_latitude = static_cast<double>(first_latitude - row_step * (rows - 1));
  made.grid.last_longitude = static_cast<double>(shown_last_longitude);
  made.grid.column_step = static_cast<double>(column_step);
  made.grid.row_step = static_cast<double>(row_step);
  made.position = [=](std::uint64_t i) {
    return Place{first_latitude - row_step * static_cast<Real>(i / columns),
                 first_longitude + column_step * static_cast<Real>(i % columns)};
  };
  made.cell = [=](const Place& p) {
    return Cell{even_column(p.longitude, first_longitude, column_step, columns),
                (first_latitude - p.latitude) / row_step};
  };
  return made;
}

/// The point turned by `degrees` about an axis (Rodrigues' formula).
inline Place turned(const Place& p, const std::array<Real, 3>& axis, Real degrees) {
  const std::array<Real, 3> x{std::cos(p.latitude * kDegree) * std::cos(p.longitude * kDegree),
                              std::cos(p.latitude * kDegree) * std::sin(p.longitude * kDegree),
                              std::sin(p.latitude * kDegree)};
  const Real c = std::cos(degrees * kDegree);
  const Real s = std::sin(degrees * kDegree);
  const Real along = axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2];
  const std::array<Real, 3> cross{axis[1] * x[2] - axis[2] * x[1], axis[2] * x[0] - axis[0] * x[2],
                                  axis[0] * x[1] - axis[1] * x[0]};
  std::array<Real, 3> y{};
  for (std::size_t i = 0; i < 3; ++i) y[i] = x[i] * c + cross[i] * s + axis[i] * along * (1 - c);
  return {std::atan2(y[2], std::hypot(y[0], y[1])) / kDegree, std::atan2(y[1], y[0]) / kDegree};
}

inline OracleGrid rotated(Real pole_latitude, Real pole_longitude, Real angle) {
  OracleGrid made = lat_lon(6.5L, -5, 0.25L, 0.25L, 42, 47, 5.25L);
  made.grid.type = met::GridType::RotatedLatLon;
  made.grid.south_pole_latitude = static_cast<double>(pole_latitude);
  made.grid.south_pole_longitude = static_cast<double>(pole_longitude);
  made.grid.rotation_angle = static_cast<double>(angle);
  const auto plain_position = made.position;
  const auto plain_cell = made.cell;
  // The south pole goes from -90 to its place along the meridian of Greenwich, which then turns to its
  // longitude.
  const Real tilt = 90 + pole_latitude;
  made.position = [=](std::uint64_t i) {
    Place p = turned(plain_position(i), {0, 0, 1}, angle);
    p = turned(p, {0, 1, 0}, -tilt);
    return turned(p, {0, 0, 1}, pole_longitude);
  };
  made.cell = [=](const Place& place) {
    Place p = turned(place, {0, 0, 1}, -pole_longitude);
    p = turned(p, {0, 1, 0}, tilt);
    return plain_cell(turned(p, {0, 0, 1}, -angle));
  };
  return made;
}

struct Plane {
  std::function<Cell(const Place&)> forward;  ///< x, y in metres
  std::function<Place(const Cell&)> inverse;
};

inline Plane lambert_plane(Real r, Real latitude1, Real latitude2, Real longitude0) {
  const auto tangent = [](Real latitude) { return std::tan((45 + latitude / 2) * kDegree); };
  const Real n = latitude1 == latitude2
                     ? std::sin(latitude1 * kDegree)
                     : std::log(std::cos(latitude1 * kDegree) / std::cos(latitude2 * kDegree)) /
                           std::log(tangent(latitude2) / tangent(latitude1));
  const Real f = std::cos(latitude1 * kDegree) * std::pow(tangent(latitude1), n) / n;
  return {[=](const Place& p) {
            const Real rho = r * f / std::pow(tangent(p.latitude), n);
            const Real theta = n * turn_difference(p.longitude - longitude0) * kDegree;
            return Cell{rho * std::sin(theta), -rho * std::cos(theta)};
          },
          [=](const Cell& c) {
            const Real sign = n < 0 ? -1 : 1;
            const Real rho = sign * std::hypot(c.u, c.v);
            const Real theta = std::atan2(sign * c.u, -sign * c.v);
            return Place{2 * std::atan(std::pow(r * f / rho, 1 / n)) / kDegree - 90,
                         longitude0 + theta / n / kDegree};
          }};
}

inline Plane polar_plane(Real r, Real true_latitude, Real longitude0, bool south) {
  const Real scale = r * (1 + std::sin(std::fabs(true_latitude) * kDegree));
  const Real sign = south ? -1 : 1;
  return {[=](const Place& p) {
            const Real rho = scale * std::tan((45 - sign * p.latitude / 2) * kDegree);
            const Real theta = (p.longitude - longitude0) * kDegree;
            return Cell{rho * std::sin(theta), -sign * rho * std::cos(theta)};
          },
          [=](const Cell& c) {
            const Real rho = std::hypot(c.u, c.v);
            return Place{sign * (90 - 2 * std::atan(rho / scale) / kDegree),
                         longitude0 + std::atan2(c.u, -sign * c.v) / kDegree};
          }};
}

inline Plane mercator_plane(Real r, Real true_latitude, Real longitude0) {
  const Real scale = r * std::cos(true_latitude * kDegree);
  return {
      [=](const Place& p) {
        return Cell{scale * turn_difference(p.longitude - longitude0) * kDegree,
                    scale * std::log(std::tan((45 + p.latitude / 2) * kDegree))};
      },
      [=](const Cell& c) {
        return Place{2 * std::atan(std::exp(c.v / scale)) / kDegree - 90, longitude0 + c.u / scale / kDegree};
      }};
}

/// A grid in a plane, from its first point eastwards and southwards (`row_sign` 1: northwards).
inline OracleGrid planar(met::Grid grid, const Plane& plane, int row_sign = -1) {
  const Cell origin =
      plane.forward({static_cast<Real>(grid.first_latitude), static_cast<Real>(grid.first_longitude)});
  const Real dx = static_cast<Real>(grid.column_step);
  const Real dy = static_cast<Real>(grid.row_step) * row_sign;
  const std::uint32_t columns = grid.columns;
  return {std::move(grid),
          [=](std::uint64_t i) {
            return plane.inverse({origin.u + dx * static_cast<Real>(i % columns),
                                  origin.v + dy * static_cast<Real>(i / columns)});
          },
          [=](const Place& p) {
            const Cell c = plane.forward(p);
            return Cell{(c.u - origin.u) / dx, (c.v - origin.v) / dy};
          }};
}

/// The same grid known by arrays of positions, as WRF files have it.
inline OracleGrid as_arrays(OracleGrid from, std::int32_t wrf_map_projection) {
  from.grid.type = met::GridType::Curvilinear;
  from.grid.wrf_map_projection = wrf_map_projection;
  for (std::uint64_t i = 0; i < from.grid.points; ++i) {
    const Place p = from.position(i);
    from.grid.latitudes.push_back(static_cast<float>(p.latitude));
    from.grid.longitudes.push_back(static_cast<float>(turn_difference(p.longitude)));
  }
  const auto latitudes = from.grid.latitudes;
  const auto longitudes = from.grid.longitudes;
  from.position = [latitudes, longitudes](std::uint64_t i) {
    return Place{static_cast<Real>(latitudes[i]), static_cast<Real>(longitudes[i])};
  };
  return from;
}

}  // namespace nvmdb::oracle
