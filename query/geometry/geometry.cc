#include "query/geometry/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "query/geometry/plane_grid.h"
#include "query/geometry/row_grid.h"
#include "query/geometry/scatter_grid.h"
#include "query/geometry/sphere.h"

namespace nvmdb::query {
namespace {

constexpr std::uint64_t kPositionsMax = 64ULL << 20U;

Status check_point(const Point& point) {
  if (!(std::fabs(point.latitude) <= 90.0)) {
    return Status::invalid_argument("latitude " + std::to_string(point.latitude) + " is not within -90..90");
  }
  if (!(point.longitude >= -180.0 && point.longitude <= 360.0)) {
    return Status::invalid_argument("longitude " + std::to_string(point.longitude) +
                                    " is not within -180..360");
  }
  return Status::ok();
}

/// What the outermost points enclose: follows them once round the grid.
class Extremes {
 public:
  explicit Extremes(const Geometry& geometry) : geometry_(geometry) {}

  void visit(std::uint64_t index) {
    Point point;
    geometry_.positions(index, {&point.latitude, 1}, {&point.longitude, 1});
    if (!std::isfinite(point.latitude) || !std::isfinite(point.longitude)) return;
    if (!started_) {
      first_ = west_ = east_ = turned_ = last_ = point.longitude;
      started_ = true;
    }
    south_ = std::min(south_, point.latitude);
    north_ = std::max(north_, point.latitude);
    turned_ += wrap_longitude(point.longitude - last_);
    last_ = point.longitude;
    west_ = std::min(west_, turned_);
    east_ = std::max(east_, turned_);
  }
  void visit_rows(const std::vector<std::uint32_t>& row_lengths) {
    std::uint64_t first = 0;
    for (const std::uint32_t length : row_lengths) {
      for (std::uint64_t c = 0; c < length; ++c) visit(first + c);
      first += length;
    }
  }
  void visit_ring(std::uint64_t rows, std::uint64_t columns) {
    for (std::uint64_t c = 0; c < columns; ++c) visit(c);
    for (std::uint64_t r = 1; r < rows; ++r) visit(r * columns + columns - 1);
    for (std::uint64_t c = columns; c-- > 0;) visit((rows - 1) * columns + c);
    for (std::uint64_t r = rows; r-- > 0;) visit(r * columns);
    // A ring that turned once goes round a pole.
    if (std::fabs(turned_ - first_) > 300)
      (south_ + north_ > 0 ? north_ : south_) = south_ + north_ > 0 ? 90 : -90;
  }
  [[nodiscard]] std::string text(double column_gap) const {
    char out[160];
    if (east_ - west_ + column_gap >= 359.99) {
      std::snprintf(out, sizeof(out), "latitude %.4f..%.4f, all longitudes", south_, north_);
    } else {
      std::snprintf(out, sizeof(out), "latitude %.4f..%.4f, longitude %.4f..%.4f", south_, north_,
                    wrap_longitude(west_), wrap_longitude(east_));
    }
    return out;
  }

 private:
  const Geometry& geometry_;
  double south_ = 90;
  double north_ = -90;
  double first_ = 0;
  double west_ = 0;
  double east_ = 0;
  double turned_ = 0;  // degrees of longitude since the first point, eastwards
  double last_ = 0;
  bool started_ = false;
};

std::string describe_bounds(const Geometry& geometry) {
  const met::Grid& grid = geometry.grid();
  Extremes extremes(geometry);
  if (grid.row_lengths.empty()) {
    extremes.visit_ring(grid.rows, grid.columns);
  } else {
    extremes.visit_rows(grid.row_lengths);
  }
  const bool on_parallels = geometry.axes() != nullptr || !grid.row_lengths.empty();
  const double gap = on_parallels ? 1.05 * 360.0 / std::max(1U, grid.columns) : 0.0;
  return extremes.text(gap);
}

}  // namespace

PairWeights pair_weights(double fraction) {
  if (fraction < kEdgeTolerance) return {1, 0};
  if (fraction > 1 - kEdgeTolerance) return {0, 1};
  return {1 - fraction, fraction};
}

Result<std::shared_ptr<const Geometry>> Geometry::prepare(std::shared_ptr<const met::Grid> grid) {
  NVMDB_TRY(grid->validate());
  switch (grid->type) {
    case met::GridType::RegularLatLon:
    case met::GridType::RotatedLatLon:
    case met::GridType::RegularGaussian:
    case met::GridType::ReducedGaussian:
    case met::GridType::ReducedLatLon:
      return RowGrid::create(std::move(grid));
    case met::GridType::Lambert:
    case met::GridType::PolarStereographic:
    case met::GridType::Mercator:
      return PlaneGrid::create(std::move(grid));
    case met::GridType::Curvilinear:
      break;
    case met::GridType::Unlocated:
      return Status::invalid_argument("the grid's points have no positions" +
                                      (grid->description.empty() ? std::string() : ": " + grid->description));
  }
  NVMDB_TRY(check_position_arrays(*grid));
  if (auto rows = RowGrid::from_arrays(grid); rows != nullptr)
    return std::shared_ptr<const Geometry>(std::move(rows));
  if (auto plane = PlaneGrid::from_arrays(grid); plane != nullptr) {
    return std::shared_ptr<const Geometry>(std::move(plane));
  }
  return std::shared_ptr<const Geometry>(std::make_shared<ScatterGrid>(std::move(grid)));
}

Result<GridPoint> Geometry::nearest(const Point& point) const {
  NVMDB_TRY(check_point(point));
  GridPoint found;
  if (!find_nearest(point, found)) return outside(point);
  positions(found.index, {&found.position.latitude, 1}, {&found.position.longitude, 1});
  const double radius = (2 * grid_->earth_semi_major + grid_->earth_semi_minor) / 3;
  found.distance_m = central_angle(point, found.position) * radius;
  return found;
}

Result<Stencil> Geometry::bilinear(const Point& point) const {
  NVMDB_TRY(check_point(point));
  Stencil found;
  if (!find_stencil(point, found)) return outside(point);
  return found;
}

Result<std::shared_ptr<const Positions>> Geometry::all_positions() const {
  const MutexLock lock(positions_mutex_);
  if (positions_ == nullptr) {
    if (grid_->points > kPositionsMax) {
      return Status::out_of_space("positions of " + std::to_string(grid_->points) +
                                  " points are asked for, at most " + std::to_string(kPositionsMax) +
                                  " are computed");
    }
    auto all = std::make_shared<Positions>();
    all->latitudes.resize(grid_->points);
    all->longitudes.resize(grid_->points);
    positions(0, all->latitudes, all->longitudes);
    positions_ = std::move(all);
  }
  return positions_;
}

std::uint64_t Geometry::bytes() const {
  return sizeof(*this) + std::min(grid_->points, kPositionsMax) * 2 * sizeof(double);
}

Status Geometry::outside(const Point& point) const {
  char text[96];
  std::snprintf(text, sizeof(text), "point %.6g,%.6g (latitude,longitude) is outside the grid ",
                point.latitude, point.longitude);
  const MutexLock lock(bounds_mutex_);
  if (bounds_.empty()) bounds_ = describe_bounds(*this);
  return Status::invalid_argument(text + grid_->summary() + ": " + bounds_);
}

}  // namespace nvmdb::query
