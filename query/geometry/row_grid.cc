#include "query/geometry/row_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/geometry/gaussian.h"
#include "storage/base/narrow.h"

namespace nvmdb::query {
namespace {

constexpr std::uint32_t kRowsMax = 1U << 20U;
constexpr std::uint32_t kGaussianNumberMax = 10'000;
constexpr double kPoleTolerance = 1e-9;

/// Degrees from the first to the last point of a row of `columns`, eastwards; the step decides how many turns
/// when the longitudes alone do not.
double row_width(const met::Grid& grid, std::uint32_t columns) {
  const double width = grid.last_longitude - grid.first_longitude;
  if (columns < 2) return 0;
  if (grid.column_step > 0) {
    const double expected = grid.column_step * (columns - 1);
    return width + 360.0 * std::round((expected - width) / 360.0);
  }
  return width > 0 ? width : width + 360.0 * std::ceil(-width / 360.0 + 1e-12);
}

/// Latitudes of `rows` evenly spaced rows.
std::vector<double> even_latitudes(const met::Grid& grid) {
  std::vector<double> latitudes(grid.rows);
  const double step = grid.rows > 1 ? (grid.last_latitude - grid.first_latitude) / (grid.rows - 1) : 0.0;
  for (std::uint32_t row = 0; row < grid.rows; ++row) {
    // Free of the noise of the sum: 1e-10 degrees is 0.01 mm.
    latitudes[row] = std::round((grid.first_latitude + row * step) * 1e10) / 1e10;
  }
  return latitudes;
}

/// The rows of a whole Gaussian grid that this one has: those from its first latitude on.
Result<std::vector<double>> gaussian_rows(const met::Grid& grid) {
  if (grid.gaussian_number > kGaussianNumberMax) {
    return Status::invalid_argument("Gaussian number " + std::to_string(grid.gaussian_number) + " is above " +
                                    std::to_string(kGaussianNumberMax));
  }
  std::vector<double> all = gaussian_latitudes(grid.gaussian_number);
  if (grid.first_latitude < grid.last_latitude) std::reverse(all.begin(), all.end());
  const auto distance = [&](double latitude) { return std::fabs(latitude - grid.first_latitude); };
  const auto first =
      std::min_element(all.begin(), all.end(), [&](double a, double b) { return distance(a) < distance(b); });
  if (all.end() - first < static_cast<std::ptrdiff_t>(grid.rows)) {
    return Status::invalid_argument("a Gaussian grid N" + std::to_string(grid.gaussian_number) + " has no " +
                                    std::to_string(grid.rows) + " rows from latitude " +
                                    std::to_string(grid.first_latitude) + " on");
  }
  return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(grid.rows));
}

}  // namespace

double RowGrid::Row::column(double longitude) const {
  const double turn = 360.0 / step;
  double u = (longitude - first_longitude) / step;
  if (!wraps()) return u - turn * std::round((u - (count - 1) * 0.5) / turn);
  u -= period * std::floor(u / period);
  return u < period ? u : 0.0;
}

void RowGrid::add_row(double latitude, double first_longitude, double width, double step,
                      std::uint32_t count) {
  Row row;
  row.latitude = latitude;
  row.first_longitude = first_longitude;
  row.step = count > 1 && width > 0 ? width / (count - 1) : (step > 0 ? step : 1.0);
  row.period = 360.0 / row.step;
  row.first_index = rows_.empty() ? 0 : rows_.back().first_index + rows_.back().count;
  row.count = count;
  if (count > 0) rows_.push_back(row);
}

Result<std::shared_ptr<const Geometry>> RowGrid::create(std::shared_ptr<const met::Grid> shared) {
  const met::Grid& grid = *shared;
  auto made = std::make_shared<RowGrid>(std::move(shared));
  if (grid.rows > kRowsMax) {
    return Status::invalid_argument("grid of " + std::to_string(grid.rows) + " rows: at most " +
                                    std::to_string(kRowsMax) + " are served");
  }
  std::vector<double> latitudes;
  if (grid.type == met::GridType::RegularGaussian || grid.type == met::GridType::ReducedGaussian) {
    NVMDB_ASSIGN(latitudes, gaussian_rows(grid));
  } else {
    latitudes = even_latitudes(grid);
  }
  const bool reduced = !grid.row_lengths.empty();
  const std::uint32_t longest =
      reduced ? *std::max_element(grid.row_lengths.begin(), grid.row_lengths.end()) : grid.columns;
  const double width = row_width(grid, longest);
  // A reduced grid either goes round the earth in every row, or has all rows end at the same two meridians.
  const bool round = reduced && width + 1.05 * (longest > 1 ? width / (longest - 1) : 360.0) >= 360.0;
  for (std::uint32_t r = 0; r < grid.rows; ++r) {
    const std::uint32_t count = reduced ? grid.row_lengths[r] : grid.columns;
    const double turn = 360.0 / std::max(1U, count);
    made->add_row(latitudes[r], grid.first_longitude, round ? turn * (count - 1.0) : width,
                  round ? turn : grid.column_step, count);
  }
  if (grid.type == met::GridType::RotatedLatLon) {
    made->rotation_.emplace(grid.south_pole_latitude, grid.south_pole_longitude, grid.rotation_angle);
  } else if (!reduced) {
    made->axes_.emplace();
    made->axes_->latitudes = std::move(latitudes);
    const Row& row = made->rows_.front();
    for (std::uint32_t c = 0; c < row.count; ++c)
      made->axes_->longitudes.push_back(row.first_longitude + c * row.step);
  }
  made->finish();
  return std::shared_ptr<const Geometry>(std::move(made));
}

std::shared_ptr<const RowGrid> RowGrid::from_arrays(const std::shared_ptr<const met::Grid>& shared) {
  // Positions are floats: to about 1e-5 degrees at 180.
  constexpr double kNoise = 5e-5;
  const met::Grid& grid = *shared;
  if (grid.columns < 2 || grid.rows < 2) return nullptr;
  const double first = static_cast<double>(grid.longitudes[0]);
  double width = 0;
  for (std::uint32_t c = 1; c < grid.columns; ++c) {
    width +=
        wrap_longitude(static_cast<double>(grid.longitudes[c]) - static_cast<double>(grid.longitudes[c - 1]));
  }
  const double step = width / (grid.columns - 1);
  const double row_step =
      static_cast<double>(grid.latitudes[grid.columns]) - static_cast<double>(grid.latitudes[0]);
  if (step <= 4 * kNoise || width > 360.0 + step || std::fabs(row_step) <= 4 * kNoise) return nullptr;
  for (std::uint64_t i = 0; i < grid.points; ++i) {
    const auto row = static_cast<double>(grid.latitudes[i / grid.columns * grid.columns]);
    const double column = first + static_cast<double>(i % grid.columns) * step;
    if (std::fabs(static_cast<double>(grid.latitudes[i]) - row) > kNoise) return nullptr;
    if (std::fabs(wrap_longitude(static_cast<double>(grid.longitudes[i]) - column)) > kNoise) return nullptr;
  }
  auto made = std::make_shared<RowGrid>(shared);
  for (std::uint32_t r = 0; r < grid.rows; ++r) {
    const auto latitude = static_cast<double>(grid.latitudes[std::uint64_t{r} * grid.columns]);
    if (r > 0 && (latitude - made->rows_.back().latitude) * row_step <= 0) return nullptr;
    made->add_row(latitude, first, width, step, grid.columns);
  }
  made->finish();
  return made;
}

void RowGrid::finish() {
  descending_ = rows_.front().latitude >= rows_.back().latitude;
  const std::size_t last = rows_.size() - 1;
  const Row& north = descending_ ? rows_.front() : rows_[last];
  const Row& south = descending_ ? rows_[last] : rows_.front();
  double north_gap = grid().row_step > 0 && grid().row_step < 90 ? grid().row_step : 0.0;
  double south_gap = north_gap;
  if (last > 0) {
    const double first_gap = std::fabs(rows_[0].latitude - rows_[1].latitude);
    const double last_gap = std::fabs(rows_[last - 1].latitude - rows_[last].latitude);
    north_gap = descending_ ? first_gap : last_gap;
    south_gap = descending_ ? last_gap : first_gap;
  }
  north_limit_ = north.latitude + (0.5 + kEdgeTolerance) * north_gap;
  south_limit_ = south.latitude - (0.5 + kEdgeTolerance) * south_gap;
  covers_north_pole_ = north.wraps() && 90.0 - north.latitude <= north_gap;
  covers_south_pole_ = south.wraps() && 90.0 + south.latitude <= south_gap;
}

std::uint64_t RowGrid::bytes() const {
  return sizeof(*this) + rows_.size() * (sizeof(Row) + sizeof(double)) + grid().points * sizeof(float) * 2;
}

Point RowGrid::to_grid(const Point& point) const {
  return rotation_ ? rotation_->to_rotated(point) : point;
}

void RowGrid::positions(std::uint64_t first, std::span<double> latitudes,
                        std::span<double> longitudes) const {
  const bool arrays = !grid().latitudes.empty();
  auto row = std::upper_bound(rows_.begin(), rows_.end(), first,
                              [](std::uint64_t index, const Row& r) { return index < r.first_index; }) -
             1;
  for (std::size_t i = 0; i < latitudes.size(); ++i) {
    const std::uint64_t index = first + i;
    while (index - row->first_index >= row->count) ++row;
    Point point{row->latitude,
                row->first_longitude + static_cast<double>(index - row->first_index) * row->step};
    if (arrays)
      point = {static_cast<double>(grid().latitudes[index]), static_cast<double>(grid().longitudes[index])};
    if (rotation_) point = rotation_->to_true(point);
    latitudes[i] = point.latitude;
    longitudes[i] = output_longitude(point.longitude);
  }
}

std::ptrdiff_t RowGrid::row_north_of(double latitude) const {
  if (descending_) {
    return std::partition_point(rows_.begin(), rows_.end(),
                                [&](const Row& r) { return r.latitude >= latitude; }) -
           rows_.begin() - 1;
  }
  const auto found =
      std::partition_point(rows_.begin(), rows_.end(), [&](const Row& r) { return r.latitude < latitude; });
  return found == rows_.end() ? -1 : found - rows_.begin();
}

void RowGrid::search_row(const Row& row, const Point& point, double& best, std::uint64_t& index) const {
  const double u = row.column(point.longitude);
  // In one row the smallest difference of longitude is the smallest distance; after the last column of a row
  // that goes all the way round comes the first one, at the row's period.
  double column = std::round(std::clamp(u, 0.0, row.count - 1.0));
  if (row.wraps() && row.period - u < std::fabs(u - column)) column = 0;
  const double angle = central_angle(point, {row.latitude, row.first_longitude + column * row.step});
  if (angle < best) {
    best = angle;
    index = row.first_index + static_cast<std::uint64_t>(column);
  }
}

bool RowGrid::inside_half_cell(const Row& row, const Point& point) const {
  if (std::fabs(point.latitude) >= 90.0 - kPoleTolerance) return true;
  if (row.wraps()) return true;
  const double u = row.column(point.longitude);
  return u >= -0.5 - kEdgeTolerance && u <= row.count - 0.5 + kEdgeTolerance;
}

bool RowGrid::find_nearest(const Point& asked, GridPoint& found) const {
  const Point point = to_grid(asked);
  if (point.latitude > north_limit_ && !covers_north_pole_) return false;
  if (point.latitude < south_limit_ && !covers_south_pole_) return false;
  const auto count = static_cast<std::ptrdiff_t>(rows_.size());
  // Rows at or north of the point, then those south of it, until the row alone is farther than the best.
  const std::ptrdiff_t north = row_north_of(point.latitude);
  const std::ptrdiff_t northwards = descending_ ? -1 : 1;
  const std::ptrdiff_t start = north >= 0 ? north : (descending_ ? 0 : count - 1);
  const auto latitude_distance = [&](std::ptrdiff_t r) {
    return std::fabs(rows_[static_cast<std::size_t>(r)].latitude - point.latitude);
  };
  std::ptrdiff_t closest = start;
  if (const std::ptrdiff_t next = start - northwards; next >= 0 && next < count) {
    if (latitude_distance(next) < latitude_distance(start)) closest = next;
  }
  if (!inside_half_cell(rows_[static_cast<std::size_t>(closest)], point)) return false;
  double best = std::numeric_limits<double>::infinity();
  const auto walk = [&](std::ptrdiff_t r, std::ptrdiff_t by) {
    for (; r >= 0 && r < count && latitude_distance(r) * kRadians < best; r += by) {
      search_row(rows_[static_cast<std::size_t>(r)], point, best, found.index);
    }
  };
  walk(closest, northwards);
  walk(closest - northwards, -northwards);
  return std::isfinite(best);
}

bool RowGrid::add_pair(const Row& row, double longitude, double weight, Stencil& stencil) {
  const double u = row.column(longitude);
  const double last = row.count - 1.0;
  if (u <= last && u >= 0) {
    const double column = std::min(std::floor(u), std::max(0.0, last - 1));
    const PairWeights pair = pair_weights(u - column);
    const std::uint64_t index = row.first_index + static_cast<std::uint64_t>(column);
    stencil.add(index, weight * pair.first);
    stencil.add(index + 1, weight * pair.second);
    return true;
  }
  if (row.wraps()) {
    const PairWeights pair = pair_weights((u - last) / (row.period - last));
    stencil.add(row.first_index + row.count - 1, weight * pair.first);
    stencil.add(row.first_index, weight * pair.second);
    return true;
  }
  if (u < -kEdgeTolerance || u > last + kEdgeTolerance) return false;
  stencil.add(row.first_index + (u < 0 ? 0 : row.count - 1), weight);
  return true;
}

bool RowGrid::across_pole(const Row& row, const Point& point, Stencil& stencil) const {
  // On the great circle through the pole, from the row on this side to the same row on the far side.
  const double here = std::fabs(point.latitude - row.latitude);
  const double across = 2.0 * (90.0 - std::fabs(row.latitude));
  const PairWeights pair = pair_weights(across > 0 ? here / across : 0.0);
  return (pair.first == 0 || add_pair(row, point.longitude, pair.first, stencil)) &&
         (pair.second == 0 || add_pair(row, point.longitude + 180.0, pair.second, stencil));
}

bool RowGrid::find_stencil(const Point& asked, Stencil& found) const {
  const Point point = to_grid(asked);
  const auto count = static_cast<std::ptrdiff_t>(rows_.size());
  const std::ptrdiff_t north = row_north_of(point.latitude);
  const std::ptrdiff_t south = north >= 0 ? north + (descending_ ? 1 : -1) : (descending_ ? 0 : count - 1);
  if (north >= 0 && south >= 0 && south < count) {
    const Row& upper = rows_[static_cast<std::size_t>(north)];
    const Row& lower = rows_[static_cast<std::size_t>(south)];
    const PairWeights pair =
        pair_weights((upper.latitude - point.latitude) / (upper.latitude - lower.latitude));
    return (pair.first == 0 || add_pair(upper, point.longitude, pair.first, found)) &&
           (pair.second == 0 || add_pair(lower, point.longitude, pair.second, found));
  }
  const Row& edge = rows_[static_cast<std::size_t>(north >= 0 ? north : south)];
  const bool beyond_north = north < 0;
  if (beyond_north ? covers_north_pole_ : covers_south_pole_) return across_pole(edge, point, found);
  const double gap = beyond_north ? north_limit_ - edge.latitude : edge.latitude - south_limit_;
  if (std::fabs(point.latitude - edge.latitude) > std::max(1e-9, 2 * gap * kEdgeTolerance)) return false;
  return add_pair(edge, point.longitude, 1.0, found);
}

}  // namespace nvmdb::query
