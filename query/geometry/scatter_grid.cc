#include "query/geometry/scatter_grid.h"

#include <algorithm>
#include <cmath>

#include "query/geometry/sphere.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <nanoflann.hpp>
#pragma GCC diagnostic pop

namespace nvmdb::query {
namespace {

constexpr int kNewtonMax = 20;
constexpr std::size_t kLeafPoints = 16;

using Vector = std::array<double, 3>;

Vector unit_vector(const Point& point) {
  const double latitude = point.latitude * kRadians;
  const double longitude = point.longitude * kRadians;
  return {std::cos(latitude) * std::cos(longitude), std::cos(latitude) * std::sin(longitude),
          std::sin(latitude)};
}

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// The plane that touches the sphere at a point; coordinates are of the central projection (great circles are
/// lines).
class TangentPlane {
 public:
  explicit TangentPlane(const Point& at) : up_(unit_vector(at)) {
    const double latitude = at.latitude * kRadians;
    const double longitude = at.longitude * kRadians;
    east_ = {-std::sin(longitude), std::cos(longitude), 0};
    north_ = {-std::sin(latitude) * std::cos(longitude), -std::sin(latitude) * std::sin(longitude),
              std::cos(latitude)};
  }
  struct Place {
    double x = 0;
    double y = 0;
  };
  /// Not finite for points that are not on this half of the sphere.
  [[nodiscard]] Place operator()(const Point& point) const {
    const Vector v = unit_vector(point);
    const double height = dot(v, up_);
    if (height <= 0.01) return {NAN, NAN};
    return {dot(v, east_) / height, dot(v, north_) / height};
  }

 private:
  Vector up_;
  Vector east_;
  Vector north_;
};

}  // namespace

struct ScatterGrid::Tree {
  std::vector<Vector> vectors;

  [[nodiscard]] std::size_t kdtree_get_point_count() const { return vectors.size(); }
  [[nodiscard]] double kdtree_get_pt(std::size_t point, std::size_t dimension) const {
    return vectors[point][dimension];
  }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }

  using Index =
      nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<double, Tree>, Tree, 3, std::uint32_t>;
  std::unique_ptr<Index> index;
};

Status check_position_arrays(const met::Grid& grid) {
  for (std::uint64_t i = 0; i < grid.points; ++i) {
    if (!(std::fabs(grid.latitudes[i]) <= 90.001F) || !(std::fabs(grid.longitudes[i]) <= 720.0F)) {
      return Status::invalid_argument("the grid's points have no positions: point " + std::to_string(i) +
                                      " has latitude " + std::to_string(grid.latitudes[i]) +
                                      " and longitude " + std::to_string(grid.longitudes[i]));
    }
  }
  if (grid.points > UINT32_MAX)
    return Status::invalid_argument("a curvilinear grid of more than 2^32 points");
  return Status::ok();
}

ScatterGrid::ScatterGrid(std::shared_ptr<const met::Grid> grid)
    : Geometry(std::move(grid)), tree_(std::make_unique<Tree>()) {
  tree_->vectors.reserve(this->grid().points);
  for (std::uint64_t i = 0; i < this->grid().points; ++i)
    tree_->vectors.push_back(unit_vector(position_at(i)));
  tree_->index =
      std::make_unique<Tree::Index>(3, *tree_, nanoflann::KDTreeSingleIndexAdaptorParams(kLeafPoints));
  tree_->index->buildIndex();
}

ScatterGrid::~ScatterGrid() = default;

std::uint64_t ScatterGrid::bytes() const {
  return sizeof(*this) + grid().points * (8 + sizeof(Vector) + 8);
}

Point ScatterGrid::position_at(std::uint64_t index) const {
  return {static_cast<double>(grid().latitudes[index]), static_cast<double>(grid().longitudes[index])};
}

void ScatterGrid::positions(std::uint64_t first, std::span<double> latitudes,
                            std::span<double> longitudes) const {
  for (std::size_t i = 0; i < latitudes.size(); ++i) {
    const Point point = position_at(first + i);
    latitudes[i] = point.latitude;
    longitudes[i] = output_longitude(point.longitude);
  }
}

std::uint64_t ScatterGrid::tree_nearest(const Point& point) const {
  const Vector v = unit_vector(point);
  std::uint32_t index = 0;
  double distance2 = 0;
  nanoflann::KNNResultSet<double, std::uint32_t> result(1);
  result.init(&index, &distance2);
  tree_->index->findNeighbors(result, v.data(), nanoflann::SearchParams());
  return index;
}

bool ScatterGrid::offset_from(std::uint64_t index, const Point& point, Offset& offset) const {
  const std::uint64_t columns = grid().columns;
  const std::uint64_t column = index % columns;
  const std::uint64_t row = index / columns;
  const TangentPlane plane(position_at(index));
  const auto difference = [&](std::uint64_t at, std::uint64_t last, std::uint64_t stride) {
    const std::uint64_t low = at > 0 ? index - stride : index;
    const std::uint64_t high = at < last ? index + stride : index;
    const double steps = low == high ? 1 : static_cast<double>((high - low) / stride);
    const auto a = plane(position_at(low));
    const auto b = plane(position_at(high));
    return TangentPlane::Place{(b.x - a.x) / steps, (b.y - a.y) / steps};
  };
  const auto along_row = difference(column, columns - 1, 1);
  const auto along_column = difference(row, grid().rows - 1, columns);
  const auto p = plane(point);
  const double determinant = along_row.x * along_column.y - along_row.y * along_column.x;
  offset.u = (p.x * along_column.y - p.y * along_column.x) / determinant;
  offset.v = (along_row.x * p.y - along_row.y * p.x) / determinant;
  return std::isfinite(offset.u) && std::isfinite(offset.v);
}

bool ScatterGrid::find_nearest(const Point& point, GridPoint& found) const {
  found.index = tree_nearest(point);
  if (central_angle(point, position_at(found.index)) < 1e-9) return true;
  Offset offset;
  if (!offset_from(found.index, point, offset)) return false;
  const std::uint64_t column = found.index % grid().columns;
  const std::uint64_t row = found.index / grid().columns;
  const double margin = 0.5 + kEdgeTolerance;
  // Inside, the nearest point may well be a whole cell away where cells are skewed.
  const auto within = [&](double by, std::uint64_t at, std::uint64_t last) {
    return by >= (at == 0 ? -margin : -1.5) && by <= (at == last ? margin : 1.5);
  };
  return within(offset.u, column, grid().columns - 1) && within(offset.v, row, grid().rows - 1);
}

bool ScatterGrid::cell_stencil(std::uint64_t column, std::uint64_t row, const Point& point,
                               Stencil& found) const {
  const std::uint64_t first = row * grid().columns + column;
  const std::array<std::uint64_t, 4> corners{first, first + 1, first + grid().columns,
                                             first + grid().columns + 1};
  const TangentPlane plane(point);
  std::array<TangentPlane::Place, 4> p;
  for (std::size_t i = 0; i < 4; ++i) p[i] = plane(position_at(corners[i]));
  // Newton's iteration for the (u, v) that the bilinear map of the cell sends to the point, the origin of the
  // plane.
  double u = 0.5;
  double v = 0.5;
  for (int i = 0; i < kNewtonMax; ++i) {
    const double ux = (1 - v) * (p[1].x - p[0].x) + v * (p[3].x - p[2].x);
    const double uy = (1 - v) * (p[1].y - p[0].y) + v * (p[3].y - p[2].y);
    const double vx = (1 - u) * (p[2].x - p[0].x) + u * (p[3].x - p[1].x);
    const double vy = (1 - u) * (p[2].y - p[0].y) + u * (p[3].y - p[1].y);
    const double x = (1 - v) * ((1 - u) * p[0].x + u * p[1].x) + v * ((1 - u) * p[2].x + u * p[3].x);
    const double y = (1 - v) * ((1 - u) * p[0].y + u * p[1].y) + v * ((1 - u) * p[2].y + u * p[3].y);
    const double determinant = ux * vy - uy * vx;
    const double du = (x * vy - y * vx) / determinant;
    const double dv = (ux * y - uy * x) / determinant;
    u -= du;
    v -= dv;
    if (!std::isfinite(u) || !std::isfinite(v)) return false;
    if (std::fabs(du) + std::fabs(dv) < 1e-13) break;
  }
  // A float position is wrong by up to this part of a cell of 1 km.
  constexpr double kTolerance = 1e-3;
  if (u < -kTolerance || u > 1 + kTolerance || v < -kTolerance || v > 1 + kTolerance) return false;
  const PairWeights across = pair_weights(std::clamp(u, 0.0, 1.0));
  const PairWeights along = pair_weights(std::clamp(v, 0.0, 1.0));
  found.add(corners[0], along.first * across.first);
  found.add(corners[1], along.first * across.second);
  found.add(corners[2], along.second * across.first);
  found.add(corners[3], along.second * across.second);
  return true;
}

bool ScatterGrid::find_stencil(const Point& point, Stencil& found) const {
  const std::uint64_t nearest = tree_nearest(point);
  if (central_angle(point, position_at(nearest)) < 1e-9) {
    found.add(nearest, 1.0);
    return true;
  }
  if (grid().columns < 2 || grid().rows < 2) return false;
  // The cell is one of those that touch the nearest point; where cells are skewed, one of the next ring.
  const auto column = static_cast<std::int64_t>(nearest % grid().columns);
  const auto row = static_cast<std::int64_t>(nearest / grid().columns);
  constexpr std::array<std::int64_t, 4> kOrder{-1, 0, -2, 1};
  for (const std::int64_t dr : kOrder) {
    for (const std::int64_t dc : kOrder) {
      const std::int64_t c = column + dc;
      const std::int64_t r = row + dr;
      if (c < 0 || r < 0 || c > std::int64_t{grid().columns} - 2 || r > std::int64_t{grid().rows} - 2)
        continue;
      if (cell_stencil(static_cast<std::uint64_t>(c), static_cast<std::uint64_t>(r), point, found))
        return true;
    }
  }
  return false;
}

}  // namespace nvmdb::query
