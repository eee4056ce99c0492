#include "query/geometry/plane_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "query/geometry/sphere.h"

namespace nvmdb::query {
namespace {

// Of a cell: positions in files are floats, and wrong by up to some 10 m in WRF output.
constexpr double kFitTolerance = 0.05;
// Points checked when positions are compared with a projection, per direction.
constexpr std::uint32_t kFitChecks = 100;

std::string ellipsoid(const met::Grid& grid) {
  char text[96];
  std::snprintf(text, sizeof(text), " +a=%.10g +b=%.10g", grid.earth_semi_major, grid.earth_semi_minor);
  return text;
}

std::string definition(const char* format, double a, double b, double c) {
  char text[160];
  std::snprintf(text, sizeof(text), format, a, b, c);
  return text;
}

std::string lambert(const met::Grid& grid) {
  return definition("+proj=lcc +lat_1=%.12g +lat_2=%.12g +lon_0=%.12g", grid.true_latitude1,
                    grid.true_latitude2, wrap_longitude(grid.standard_longitude)) +
         ellipsoid(grid);
}

std::string polar(const met::Grid& grid, bool south) {
  return definition("+proj=stere +lat_0=%.12g +lat_ts=%.12g +lon_0=%.12g", south ? -90.0 : 90.0,
                    std::copysign(grid.true_latitude1, south ? -1.0 : 1.0),
                    wrap_longitude(grid.standard_longitude)) +
         ellipsoid(grid);
}

/// The plane is cut opposite to the middle of the grid, so that the grid lies in one piece.
std::string mercator(const met::Grid& grid, double middle_longitude) {
  return definition("+proj=merc +lat_ts=%.12g +lon_0=%.12g%.0s", std::fabs(grid.true_latitude1),
                    wrap_longitude(middle_longitude), 0.0) +
         ellipsoid(grid);
}

double mercator_circumference(const met::Grid& grid) {
  const double sine = std::sin(grid.true_latitude1 * kRadians);
  const double ratio = grid.earth_semi_minor / grid.earth_semi_major;
  const double eccentricity2 = 1 - ratio * ratio;
  return 2 * std::numbers::pi * grid.earth_semi_major * std::cos(grid.true_latitude1 * kRadians) /
         std::sqrt(1 - eccentricity2 * sine * sine);
}

std::string grib_definition(const met::Grid& grid) {
  switch (grid.type) {
    case met::GridType::Lambert:
      return lambert(grid);
    case met::GridType::PolarStereographic:
      return polar(grid, grid.south_pole_on_plane);
    default:
      break;
  }
  const double width = 360.0 * grid.column_step * (grid.columns - 1.0) / mercator_circumference(grid);
  return mercator(grid, grid.first_longitude + width / 2);
}

/// Empty when WRF's attributes name no projection of the plane.
std::string wrf_definition(const met::Grid& grid) {
  switch (grid.wrf_map_projection) {
    case 1:
      return lambert(grid);
    case 2:
      return polar(grid, grid.true_latitude1 < 0);
    case 3: {
      const std::uint64_t middle = std::uint64_t{grid.rows / 2} * grid.columns + grid.columns / 2;
      return mercator(grid, static_cast<double>(grid.longitudes[middle]));
    }
    default:
      return {};
  }
}

}  // namespace

Result<std::shared_ptr<const Geometry>> PlaneGrid::create(std::shared_ptr<const met::Grid> shared) {
  const met::Grid& grid = *shared;
  if (!(grid.column_step > 0 && grid.row_step > 0)) {
    return Status::invalid_argument("grid " + grid.summary() + ": the distance between points is missing");
  }
  NVMDB_ASSIGN(auto projection, Projection::create(grib_definition(grid)));
  auto made = std::make_shared<PlaneGrid>(std::move(shared), std::move(projection));
  made->column_dx_ = grid.column_step;
  made->row_dy_ = -grid.row_step;
  if (grid.type == met::GridType::Mercator) {
    const double period = mercator_circumference(grid) / grid.column_step;
    if (period - grid.columns <= 0.05) made->period_ = period;
  }
  if (!made->place({grid.first_latitude, grid.first_longitude})) {
    return Status::invalid_argument("grid " + grid.summary() +
                                    ": the projection has no image of the first point");
  }
  return std::shared_ptr<const Geometry>(std::move(made));
}

std::shared_ptr<const PlaneGrid> PlaneGrid::from_arrays(const std::shared_ptr<const met::Grid>& grid) {
  const std::string text = wrf_definition(*grid);
  if (text.empty() || grid->columns < 2 || grid->rows < 2) return nullptr;
  auto projection = Projection::create(text);
  if (!projection.is_ok()) return nullptr;
  auto made = std::make_shared<PlaneGrid>(grid, std::move(projection).value());
  if (!made->fit_arrays()) return nullptr;
  return made;
}

bool PlaneGrid::place(const Point& first_point) {
  const Projection::Lease lease(*projection_);
  origin_ = lease.forward(first_point);
  return std::isfinite(origin_.x) && std::isfinite(origin_.y);
}

bool PlaneGrid::fit_arrays() {
  const met::Grid& g = grid();
  const Projection::Lease lease(*projection_);
  const auto at = [&](std::uint32_t column, std::uint32_t row) {
    return lease.forward(position_at(lease, column, row));
  };
  origin_ = at(0, 0);
  const PlanePoint far = at(g.columns - 1, g.rows - 1);
  column_dx_ = (far.x - origin_.x) / (g.columns - 1);
  row_dy_ = (far.y - origin_.y) / (g.rows - 1);
  if (!(std::fabs(column_dx_) > 1e-3 && std::fabs(row_dy_) > 1e-3)) return false;
  const std::uint32_t column_stride = std::max(1U, g.columns / kFitChecks);
  const std::uint32_t row_stride = std::max(1U, g.rows / kFitChecks);
  const auto agrees = [&](std::uint32_t column, std::uint32_t row) {
    const PlanePoint p = at(column, row);
    // Written so that a value that is not finite does not agree.
    return std::fabs((p.x - origin_.x) / column_dx_ - column) <= kFitTolerance &&
           std::fabs((p.y - origin_.y) / row_dy_ - row) <= kFitTolerance;
  };
  for (std::uint32_t row = 0; row < g.rows; row += row_stride) {
    for (std::uint32_t column = 0; column < g.columns; column += column_stride) {
      if (!agrees(column, row)) return false;
    }
  }
  return agrees(g.columns - 1, 0) && agrees(0, g.rows - 1);
}

std::uint64_t PlaneGrid::bytes() const {
  return sizeof(*this) + 64 * 1024 + (grid().latitudes.empty() ? Geometry::bytes() : grid().points * 8);
}

PlaneGrid::Cell PlaneGrid::cell_of(const Projection::Lease& lease, const Point& point) const {
  const PlanePoint p = lease.forward(point);
  Cell cell{(p.x - origin_.x) / column_dx_, (p.y - origin_.y) / row_dy_};
  if (wraps()) cell.u -= period_ * std::floor(cell.u / period_);
  return cell;
}

Point PlaneGrid::position_at(const Projection::Lease& lease, std::uint64_t column, std::uint64_t row) const {
  const met::Grid& g = grid();
  if (!g.latitudes.empty()) {
    const std::uint64_t index = row * g.columns + column;
    return {static_cast<double>(g.latitudes[index]), static_cast<double>(g.longitudes[index])};
  }
  return lease.inverse(
      {origin_.x + static_cast<double>(column) * column_dx_, origin_.y + static_cast<double>(row) * row_dy_});
}

void PlaneGrid::positions(std::uint64_t first, std::span<double> latitudes,
                          std::span<double> longitudes) const {
  const Projection::Lease lease(*projection_);
  for (std::size_t i = 0; i < latitudes.size(); ++i) {
    const Point point = position_at(lease, (first + i) % grid().columns, (first + i) / grid().columns);
    latitudes[i] = point.latitude;
    longitudes[i] = output_longitude(point.longitude);
  }
}

bool PlaneGrid::find_nearest(const Point& point, GridPoint& found) const {
  const Projection::Lease lease(*projection_);
  const Cell cell = cell_of(lease, point);
  const double columns = grid().columns;
  const double rows = grid().rows;
  const double margin = 0.5 + kEdgeTolerance;
  if (!(cell.v >= -margin && cell.v <= rows - 1 + margin)) return false;
  if (!wraps() && !(cell.u >= -margin && cell.u <= columns - 1 + margin)) return false;
  // The scale of the plane changes a little from point to point, so the nearest in the plane need not be the
  // nearest on the earth: all points of the block around that are not clearly farther in the plane are
  // compared on the sphere.
  struct Candidate {
    double plane2 = 0;
    std::uint64_t column = 0;
    std::uint64_t row = 0;
  };
  std::array<Candidate, 16> candidates;
  std::size_t count = 0;
  double closest2 = std::numeric_limits<double>::infinity();
  for (int dr = -1; dr <= 2; ++dr) {
    const double row = std::floor(cell.v) + dr;
    if (row < 0 || row > rows - 1) continue;
    for (int dc = -1; dc <= 2; ++dc) {
      double column = std::floor(cell.u) + dc;
      const double du = (column - cell.u) * column_dx_;
      const double dv = (row - cell.v) * row_dy_;
      if (wraps())
        column = column < 0 ? column + columns : (column > columns - 1 ? column - columns : column);
      if (column < 0 || column > columns - 1) continue;
      candidates[count++] = {du * du + dv * dv, static_cast<std::uint64_t>(column),
                             static_cast<std::uint64_t>(row)};
      closest2 = std::min(closest2, candidates[count - 1].plane2);
    }
  }
  constexpr double kClearly2 = 1.5 * 1.5;
  double best = std::numeric_limits<double>::infinity();
  for (const Candidate& c : std::span(candidates).first(count)) {
    if (c.plane2 > kClearly2 * closest2) continue;
    const double angle = central_angle(point, position_at(lease, c.column, c.row));
    if (angle < best) {
      best = angle;
      found.index = c.row * grid().columns + c.column;
    }
  }
  return std::isfinite(best);
}

bool PlaneGrid::find_stencil(const Point& point, Stencil& found) const {
  const Projection::Lease lease(*projection_);
  Cell cell = cell_of(lease, point);
  const double last_column = grid().columns - 1.0;
  const double last_row = grid().rows - 1.0;
  if (!(cell.v >= -kEdgeTolerance && cell.v <= last_row + kEdgeTolerance)) return false;
  cell.v = std::clamp(cell.v, 0.0, last_row);
  double column = 0;
  std::uint64_t next = 0;
  PairWeights across;
  if (wraps() && cell.u > last_column) {
    column = last_column;
    across = pair_weights((cell.u - last_column) / (period_ - last_column));
  } else {
    if (!(cell.u >= -kEdgeTolerance && cell.u <= last_column + kEdgeTolerance)) return false;
    cell.u = std::clamp(cell.u, 0.0, last_column);
    column = std::min(std::floor(cell.u), std::max(0.0, last_column - 1));
    next = static_cast<std::uint64_t>(column) + 1;
    across = pair_weights(cell.u - column);
  }
  const double row = std::min(std::floor(cell.v), std::max(0.0, last_row - 1));
  const PairWeights along = pair_weights(cell.v - row);
  const std::uint64_t upper = static_cast<std::uint64_t>(row) * grid().columns;
  const std::uint64_t lower = upper + grid().columns;
  found.add(upper + static_cast<std::uint64_t>(column), along.first * across.first);
  found.add(upper + next, along.first * across.second);
  found.add(lower + static_cast<std::uint64_t>(column), along.second * across.first);
  found.add(lower + next, along.second * across.second);
  return true;
}

}  // namespace nvmdb::query
