#include "point_finder.h"

#include <proj.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "reference_decoder.h"

namespace nvmdb::ingest::testing {
namespace {

constexpr double kTolerance = 0.05;
constexpr double kRadians = std::numbers::pi / 180;

std::optional<std::uint64_t> whole(double value, std::uint64_t below) {
  const double rounded = std::round(value);
  if (std::fabs(value - rounded) > kTolerance || rounded < 0 || rounded >= static_cast<double>(below)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(rounded);
}

double eastward(double from, double to) {
  const double distance = std::fmod(to - from, 360.0);
  const double positive = distance < -1e-4 ? distance + 360 : distance;
  return positive > 360 - 1e-4 ? positive - 360 : positive;
}

std::optional<std::uint64_t> row_of(const met::Grid& g, double latitude) {
  if (g.type == met::GridType::RegularGaussian || g.type == met::GridType::ReducedGaussian) {
    const std::vector<double> all = gaussian_latitudes(g.gaussian_number);
    const double wanted = 0.01;
    for (std::uint64_t row = 0; row < all.size(); ++row) {
      if (std::fabs(all[row] - latitude) < wanted) return whole(static_cast<double>(row), g.rows);
    }
    return std::nullopt;
  }
  return g.rows == 1 ? std::optional<std::uint64_t>(0)
                     : whole((g.first_latitude - latitude) / g.row_step, g.rows);
}

std::optional<std::uint64_t> find_lat_lon(const met::Grid& g, double latitude, double longitude) {
  const auto row = row_of(g, latitude);
  if (!row) return std::nullopt;
  const double distance = eastward(g.first_longitude, longitude);
  if (g.row_lengths.empty()) {
    const auto column =
        g.columns == 1 ? std::optional<std::uint64_t>(0) : whole(distance / g.column_step, g.columns);
    return column ? std::optional(*row * g.columns + *column) : std::nullopt;
  }
  std::uint64_t begin = 0;
  for (std::uint64_t r = 0; r < *row; ++r) begin += g.row_lengths[r];
  const std::uint32_t length = g.row_lengths[*row];
  const bool ring = g.type == met::GridType::ReducedGaussian;
  const double step = ring ? 360.0 / length : eastward(g.first_longitude, g.last_longitude) / (length - 1);
  const auto column = length == 1 ? std::optional<std::uint64_t>(0) : whole(distance / step, length);
  return column ? std::optional(begin + *column) : std::nullopt;
}

/// Into the rotated system: the south pole of the plane lies at (south_pole_latitude, south_pole_longitude).
std::optional<std::uint64_t> find_rotated(const met::Grid& g, double latitude, double longitude) {
  const double tilt = (90 + g.south_pole_latitude) * kRadians;
  const double lat = latitude * kRadians;
  const double lon = (longitude - g.south_pole_longitude) * kRadians;
  const double x = std::cos(lat) * std::cos(lon);
  const double y = std::cos(lat) * std::sin(lon);
  const double z = std::sin(lat);
  const double rotated_x = std::cos(tilt) * x + std::sin(tilt) * z;
  const double rotated_z = -std::sin(tilt) * x + std::cos(tilt) * z;
  return find_lat_lon(g, std::asin(std::clamp(rotated_z, -1.0, 1.0)) / kRadians,
                      std::atan2(y, rotated_x) / kRadians);
}

std::optional<std::uint64_t> find_projected(const met::Grid& g, double latitude, double longitude) {
  char text[400];
  if (g.type == met::GridType::Lambert) {
    std::snprintf(
        text, sizeof text, "+proj=lcc +lat_1=%.15g +lat_2=%.15g +lat_0=0 +lon_0=%.15g +a=%.15g +b=%.15g",
        g.true_latitude1, g.true_latitude2, g.standard_longitude, g.earth_semi_major, g.earth_semi_minor);
  } else if (g.type == met::GridType::PolarStereographic) {
    std::snprintf(text, sizeof text, "+proj=stere +lat_0=%d +lat_ts=%.15g +lon_0=%.15g +a=%.15g +b=%.15g",
                  g.south_pole_on_plane ? -90 : 90, g.true_latitude1, g.standard_longitude,
                  g.earth_semi_major, g.earth_semi_minor);
  } else {
    std::snprintf(text, sizeof text, "+proj=merc +lat_ts=%.15g +lon_0=%.15g +a=%.15g +b=%.15g",
                  g.true_latitude1, g.standard_longitude, g.earth_semi_major, g.earth_semi_minor);
  }
  PJ* projection = proj_create(PJ_DEFAULT_CTX, text);
  if (projection == nullptr) return std::nullopt;
  const auto plane = [&](double lat, double lon) {
    return proj_trans(projection, PJ_FWD, proj_coord(proj_torad(lon), proj_torad(lat), 0, 0)).xy;
  };
  const PJ_XY origin = plane(g.first_latitude, g.first_longitude);
  const PJ_XY point = plane(latitude, longitude);
  proj_destroy(projection);
  const auto column = whole((point.x - origin.x) / g.column_step, g.columns);
  const auto row = whole((origin.y - point.y) / g.row_step, g.rows);
  return column && row ? std::optional(*row * g.columns + *column) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> find_point(const met::Grid& grid, double latitude, double longitude) {
  switch (grid.type) {
    case met::GridType::Unlocated:
    case met::GridType::Curvilinear:
      return std::nullopt;
    case met::GridType::RotatedLatLon:
      return find_rotated(grid, latitude, longitude);
    case met::GridType::Lambert:
    case met::GridType::PolarStereographic:
    case met::GridType::Mercator:
      return find_projected(grid, latitude, longitude);
    default:
      return find_lat_lon(grid, latitude, longitude);
  }
}

}  // namespace nvmdb::ingest::testing
