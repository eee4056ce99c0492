#include "query/geometry/window.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "query/geometry/sphere.h"

namespace nvmdb::query {
namespace {

constexpr double kTolerance = 1e-6;

void add_run(std::vector<IndexRun>& runs, std::uint64_t first, std::uint64_t count) {
  if (!runs.empty() && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({first, count});
  }
}

Status nothing_inside(const Box& box, const met::Grid& grid) {
  char text[160];
  std::snprintf(text, sizeof(text), "no point of the grid %s is inside the box %.6g,%.6g,%.6g,%.6g (W,S,E,N)",
                grid.summary().c_str(), box.west, box.south, box.east, box.north);
  return Status::not_found(text);
}

Status too_many(std::uint64_t points, std::uint64_t points_max) {
  return Status::out_of_space("the box holds " + std::to_string(points) + " points, at most " +
                              std::to_string(points_max) + " are answered; ask for a smaller box");
}

Result<Window> rectilinear_window(const Geometry& geometry, const BoxTest& test, const Box& box,
                                  std::uint64_t points_max) {
  const Axes& axes = *geometry.axes();
  const std::uint64_t columns = axes.longitudes.size();
  Window window;
  window.rectilinear = true;
  std::vector<std::uint64_t> rows;
  for (std::uint64_t r = 0; r < axes.latitudes.size(); ++r) {
    if (test.has_latitude(axes.latitudes[r])) rows.push_back(r);
  }
  if (axes.latitudes.front() < axes.latitudes.back()) std::reverse(rows.begin(), rows.end());
  // A last column at the place of the first one is the same column again.
  std::uint64_t distinct = columns;
  if (columns > 1 && std::fabs(wrap_longitude(axes.longitudes.back() - axes.longitudes.front())) < kTolerance)
    --distinct;
  std::uint64_t start = distinct;
  double nearest = 361;
  for (std::uint64_t c = 0; c < distinct; ++c) {
    const double eastwards = test.eastwards(axes.longitudes[c]);
    if (eastwards >= nearest || !test.has_longitude(axes.longitudes[c])) continue;
    nearest = eastwards;
    start = c;
  }
  if (rows.empty() || start == distinct) return nothing_inside(box, geometry.grid());
  std::vector<IndexRun> column_runs;
  for (std::uint64_t k = 0; k < distinct; ++k) {
    const std::uint64_t c = (start + k) % distinct;
    if (!test.has_longitude(axes.longitudes[c])) continue;
    add_run(column_runs, c, 1);
    window.longitudes.push_back(output_longitude(axes.longitudes[c]));
  }
  window.rows = rows.size();
  window.columns = window.longitudes.size();
  if (window.rows * window.columns > points_max) return too_many(window.rows * window.columns, points_max);
  for (const std::uint64_t r : rows) {
    window.latitudes.push_back(axes.latitudes[r]);
    for (const IndexRun& run : column_runs) add_run(window.runs, r * columns + run.first, run.count);
  }
  return window;
}

Result<Window> index_window(const Geometry& geometry, const Positions& all, const BoxTest& test,
                            const Box& box, std::uint64_t points_max) {
  const std::uint64_t columns = geometry.grid().columns;
  const std::uint64_t rows = geometry.grid().rows;
  std::uint64_t top = rows;
  std::uint64_t bottom = 0;
  std::uint64_t left = columns;
  std::uint64_t right = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t c = 0; c < columns; ++c) {
      const std::uint64_t index = r * columns + c;
      if (!test.contains(all.latitudes[index], all.longitudes[index])) continue;
      top = std::min(top, r);
      bottom = r;
      left = std::min(left, c);
      right = std::max(right, c);
    }
  }
  if (top == rows) return nothing_inside(box, geometry.grid());
  Window window;
  window.rows = bottom - top + 1;
  window.columns = right - left + 1;
  if (window.rows * window.columns > points_max) return too_many(window.rows * window.columns, points_max);
  window.latitudes.reserve(window.rows * window.columns);
  window.longitudes.reserve(window.rows * window.columns);
  for (std::uint64_t r = top; r <= bottom; ++r) {
    add_run(window.runs, r * columns + left, window.columns);
    for (std::uint64_t index = r * columns + left; index <= r * columns + right; ++index) {
      if (!test.contains(all.latitudes[index], all.longitudes[index]))
        window.outside.push_back(window.latitudes.size());
      window.latitudes.push_back(all.latitudes[index]);
      window.longitudes.push_back(all.longitudes[index]);
    }
  }
  return window;
}

Result<Window> list_window(const Geometry& geometry, const Positions& all, const BoxTest& test,
                           const Box& box, std::uint64_t points_max) {
  Window window;
  for (std::uint64_t index = 0; index < all.latitudes.size(); ++index) {
    if (!test.contains(all.latitudes[index], all.longitudes[index])) continue;
    add_run(window.runs, index, 1);
    window.latitudes.push_back(all.latitudes[index]);
    window.longitudes.push_back(all.longitudes[index]);
  }
  window.rows = 1;
  window.columns = window.latitudes.size();
  if (window.columns == 0) return nothing_inside(box, geometry.grid());
  if (window.columns > points_max) return too_many(window.columns, points_max);
  return window;
}

}  // namespace

Result<BoxTest> BoxTest::create(const Box& box) {
  const auto longitude_ok = [](double value) { return value >= -180.0 && value <= 360.0; };
  if (!longitude_ok(box.west) || !longitude_ok(box.east)) {
    return Status::invalid_argument("box: longitudes " + std::to_string(box.west) + ", " +
                                    std::to_string(box.east) + " are not within -180..360");
  }
  if (!(box.south >= -90.0 && box.north <= 90.0 && box.south <= box.north)) {
    return Status::invalid_argument("box: south " + std::to_string(box.south) + ", north " +
                                    std::to_string(box.north) +
                                    " are not in order within -90..90 (the order is W,S,E,N)");
  }
  BoxTest test;
  test.south_ = box.south - kTolerance;
  test.north_ = box.north + kTolerance;
  test.west_ = box.west - kTolerance;
  double width = box.east - box.west;
  if (width < 0) width += 360.0;
  test.width_ = std::min(360.0, width + 2 * kTolerance);
  return test;
}

double BoxTest::eastwards(double longitude) const {
  const double degrees = longitude - west_;
  return degrees - 360.0 * std::floor(degrees / 360.0);
}

Result<Window> whole_window(const Geometry& geometry) {
  const met::Grid& grid = geometry.grid();
  Window window;
  const bool reduced = !grid.row_lengths.empty();
  window.rows = reduced ? 1 : grid.rows;
  window.columns = reduced ? grid.points : grid.columns;
  window.runs.push_back({0, grid.points});
  if (const Axes* axes = geometry.axes(); axes != nullptr) {
    window.rectilinear = true;
    window.latitudes = axes->latitudes;
    for (const double longitude : axes->longitudes) window.longitudes.push_back(output_longitude(longitude));
    return window;
  }
  NVMDB_ASSIGN(const auto all, geometry.all_positions());
  window.latitudes = all->latitudes;
  window.longitudes = all->longitudes;
  return window;
}

Result<Window> box_window(const Geometry& geometry, const Box& box, std::uint64_t points_max) {
  NVMDB_ASSIGN(const BoxTest test, BoxTest::create(box));
  if (geometry.axes() != nullptr) return rectilinear_window(geometry, test, box, points_max);
  NVMDB_ASSIGN(const auto all, geometry.all_positions());
  if (!geometry.grid().row_lengths.empty()) return list_window(geometry, *all, test, box, points_max);
  return index_window(geometry, *all, test, box, points_max);
}

}  // namespace nvmdb::query
