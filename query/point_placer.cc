#include "query/point_placer.h"

namespace nvmdb::query {

PointPlacer::PointPlacer(const std::vector<Point>& points, Interpolation interpolation)
    : points_(points), interpolation_(interpolation), found_(points.size(), false), located_(points.size()) {
  for (std::size_t i = 0; i < points.size(); ++i) located_[i].asked = points[i];
}

PlacedPoints PointPlacer::place(const Geometry& geometry) {
  PlacedPoints placed;
  placed.indexes.assign(points_.size(), PlacedPoints::kOutside);
  const bool bilinear = interpolation_ == Interpolation::Bilinear;
  if (bilinear) placed.stencils.resize(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto nearest = geometry.nearest(points_[i]);
    const auto stencil =
        bilinear && nearest.is_ok() ? geometry.bilinear(points_[i]) : Result<Stencil>(Stencil{});
    if (!nearest.is_ok() || !stencil.is_ok()) continue;
    placed.indexes[i] = nearest->index;
    if (bilinear) placed.stencils[i] = *stencil;
    if (found_[i]) continue;
    found_[i] = true;
    located_[i] = {points_[i], nearest->position, nearest->index, nearest->distance_m};
  }
  return placed;
}

Result<std::vector<LocatedPoint>> PointPlacer::located(const Geometry& last) {
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (found_[i]) continue;
    NVMDB_TRY(last.nearest(points_[i]).status());
    NVMDB_TRY(last.bilinear(points_[i]).status());
  }
  return std::move(located_);
}

}  // namespace nvmdb::query
