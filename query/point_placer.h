#pragma once

#include <limits>
#include <vector>

#include "query/answer.h"
#include "query/geometry/geometry.h"

namespace nvmdb::query {

/// Where the points asked are in one grid.
struct PlacedPoints {
  static constexpr std::uint64_t kOutside = std::numeric_limits<std::uint64_t>::max();
  static constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

  std::vector<std::uint64_t> indexes;  ///< of the nearest grid point, or kOutside
  std::vector<Stencil> stencils;  ///< bilinear only; none of its corners counts when the point is outside

  [[nodiscard]] std::uint64_t first_index(std::size_t point) const {
    return stencils.empty() ? indexes[point] : stencils[point].corners[0].index;
  }
};

/// A missing corner makes the value missing; a corner that counts nothing is not in the stencil.
template <class ValueAt>
float interpolate(const ValueAt& value_at, const Stencil& stencil) {
  if (stencil.count == 0) return PlacedPoints::kMissing;
  double sum = 0;
  for (std::uint32_t i = 0; i < stencil.count; ++i) {
    sum += stencil.corners[i].weight * static_cast<double>(value_at(stencil.corners[i].index));
  }
  return static_cast<float>(sum);
}

/// Places the points asked in each grid that the steps have: a moving nest has another one at each step.
class PointPlacer {
 public:
  /// `points` outlive it.
  PointPlacer(const std::vector<Point>& points, Interpolation interpolation);

  [[nodiscard]] PlacedPoints place(const Geometry& geometry);
  /// Where each point was first found.
  /// Errors: InvalidArgument (a point is outside the grids of all steps; `last` is the last of them).
  [[nodiscard]] Result<std::vector<LocatedPoint>> located(const Geometry& last);

 private:
  const std::vector<Point>& points_;
  const Interpolation interpolation_;
  std::vector<bool> found_;
  std::vector<LocatedPoint> located_;
};

}  // namespace nvmdb::query
