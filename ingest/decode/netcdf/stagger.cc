#include <array>
#include <cmath>
#include <numbers>

#include "ingest/decode/netcdf/positions.h"

namespace nvmdb::ingest::netcdf {
namespace {

constexpr double kDegree = std::numbers::pi / 180.0;

using Vector = std::array<double, 3>;

Vector to_vector(double latitude, double longitude) {
  const double cosine = std::cos(latitude * kDegree);
  return {cosine * std::cos(longitude * kDegree), cosine * std::sin(longitude * kDegree),
          std::sin(latitude * kDegree)};
}

/// The position of a vector of any length; the longitude is the one nearest to `beside`.
void put(Positions& out, std::size_t at, const Vector& v, double beside) {
  const double horizontal = std::hypot(v[0], v[1]);
  double longitude = horizontal == 0 ? beside : std::atan2(v[1], v[0]) / kDegree;
  longitude += 360.0 * std::round((beside - longitude) / 360.0);
  out.latitudes[at] = static_cast<float>(std::atan2(v[2], horizontal) / kDegree);
  out.longitudes[at] = static_cast<float>(longitude);
}

/// Staggers one line of `count` points that lie `stride` apart; the result has count + 1 points.
void stagger_line(const Positions& centre, std::size_t first, std::size_t stride, std::size_t count,
                  Positions& out, std::size_t out_first, std::size_t out_stride) {
  const auto vector = [&](std::size_t i) {
    return to_vector(double{centre.latitudes[first + i * stride]},
                     double{centre.longitudes[first + i * stride]});
  };
  const auto combine = [](const Vector& a, double wa, const Vector& b, double wb) {
    return Vector{a[0] * wa + b[0] * wb, a[1] * wa + b[1] * wb, a[2] * wa + b[2] * wb};
  };
  const auto longitude = [&](std::size_t i) { return double{centre.longitudes[first + i * stride]}; };
  // Half a step beyond b on the great circle from a through b: b + (b cos d - a) tan(d / 2) / sin d, up to
  // length.
  const auto beyond = [&](const Vector& a, const Vector& b) {
    const double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const double factor = 1.0 / (1.0 + cosine);
    return combine(b, 1.0 + factor * cosine, a, -factor);
  };
  if (count == 1) {
    put(out, out_first, vector(0), longitude(0));
    put(out, out_first + out_stride, vector(0), longitude(0));
    return;
  }
  put(out, out_first, beyond(vector(1), vector(0)), longitude(0));
  for (std::size_t i = 1; i < count; ++i)
    put(out, out_first + i * out_stride, combine(vector(i - 1), 1, vector(i), 1), longitude(i - 1));
  put(out, out_first + count * out_stride, beyond(vector(count - 2), vector(count - 1)),
      longitude(count - 1));
}

}  // namespace

Positions stagger_columns(const Positions& centre, std::uint64_t rows, std::uint64_t columns) {
  Positions out;
  out.latitudes.resize(rows * (columns + 1));
  out.longitudes.resize(rows * (columns + 1));
  for (std::uint64_t row = 0; row < rows; ++row)
    stagger_line(centre, row * columns, 1, columns, out, row * (columns + 1), 1);
  return out;
}

Positions stagger_rows(const Positions& centre, std::uint64_t rows, std::uint64_t columns) {
  Positions out;
  out.latitudes.resize((rows + 1) * columns);
  out.longitudes.resize((rows + 1) * columns);
  for (std::uint64_t column = 0; column < columns; ++column)
    stagger_line(centre, column, columns, rows, out, column, columns);
  return out;
}

}  // namespace nvmdb::ingest::netcdf
