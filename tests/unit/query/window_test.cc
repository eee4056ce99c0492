#include "query/geometry/window.h"

#include <gtest/gtest.h>

#include <numeric>

#include "query/geometry/sphere.h"
#include "tests/unit/query/oracle.h"

namespace nvmdb::query {
namespace {

using oracle::lat_lon;

constexpr std::uint64_t kMany = 1ULL << 30U;

std::shared_ptr<const Geometry> prepared(const met::Grid& grid) {
  auto made = Geometry::prepare(std::make_shared<const met::Grid>(grid));
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return *made;
}

std::vector<std::uint64_t> indexes(const Window& window) {
  std::vector<std::uint64_t> out;
  for (const IndexRun& run : window.runs) {
    for (std::uint64_t i = 0; i < run.count; ++i) out.push_back(run.first + i);
  }
  return out;
}

Window window_of(const met::Grid& grid, const Box& box) {
  auto made = box_window(*prepared(grid), box, kMany);
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return made.is_ok() ? *std::move(made) : Window{};
}

std::vector<double> counted(double from, double step, std::size_t count) {
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = wrap_longitude(from + step * static_cast<double>(i));
  return out;
}

met::Grid global_from_greenwich() {
  return lat_lon(90, 0, 2.5L, 2.5L, 144, 73, 357.5L).grid;
}

TEST(Window, CrossesGreenwich) {
  for (const Box& box : {Box{-10, 40, 10, 60}, Box{350, 40, 10, 60}}) {
    const Window w = window_of(global_from_greenwich(), box);
    EXPECT_TRUE(w.rectilinear);
    EXPECT_EQ(w.latitudes, (std::vector<double>{60, 57.5, 55, 52.5, 50, 47.5, 45, 42.5, 40}));
    EXPECT_EQ(w.longitudes, (std::vector<double>{-10, -7.5, -5, -2.5, 0, 2.5, 5, 7.5, 10}));
    const auto index = indexes(w);
    ASSERT_EQ(index.size(), 81U);
    EXPECT_EQ(index[0], 12U * 144 + 140);
    EXPECT_EQ(index[4], 12U * 144);
    EXPECT_EQ(index[80], 20U * 144 + 4);
  }
}

TEST(Window, CrossesTheDateLine) {
  for (const Box& box : {Box{170, -20, -170, 20}, Box{170, -20, 190, 20}}) {
    const Window w = window_of(global_from_greenwich(), box);
    EXPECT_EQ(w.longitudes, (std::vector<double>{170, 172.5, 175, 177.5, -180, -177.5, -175, -172.5, -170}));
    EXPECT_EQ(w.rows, 17U);
  }
}

TEST(Window, HasEachColumnOfTheGlobeOnce) {
  const met::Grid doubled = lat_lon(90, 0, 2.5L, 2.5L, 145, 73, 360).grid;
  for (const met::Grid& grid : {global_from_greenwich(), doubled}) {
    const Window from_greenwich = window_of(grid, {0, -90, 360, 90});
    EXPECT_EQ(from_greenwich.rows, 73U);
    EXPECT_EQ(from_greenwich.longitudes, counted(0, 2.5, 144));
    const Window from_date_line = window_of(grid, {-180, -90, 180, 90});
    EXPECT_EQ(from_date_line.longitudes, counted(-180, 2.5, 144));
    EXPECT_EQ(indexes(from_date_line)[0], 72U);
  }
}

TEST(Window, TakesARegionFromBothOfItsEnds) {
  // The grid has -15..15; the box is all but -5..5.
  const met::Grid grid = lat_lon(70, 345, 2.5L, 2.5L, 13, 17, 15).grid;
  const Window w = window_of(grid, {5, 50, -5, 60});
  EXPECT_EQ(w.longitudes, (std::vector<double>{5, 7.5, 10, 12.5, 15, -15, -12.5, -10, -7.5, -5}));
  EXPECT_EQ(w.rows, 5U);
  const Window middle = window_of(grid, {-10, 40, 10, 60});
  EXPECT_EQ(middle.longitudes, (std::vector<double>{-10, -7.5, -5, -2.5, 0, 2.5, 5, 7.5, 10}));
}

TEST(Window, CountsPointsOnItsEdges) {
  EXPECT_EQ(window_of(global_from_greenwich(), {10, 10, 10, 10}).rows, 1U);
  EXPECT_EQ(window_of(global_from_greenwich(), {10.0000009, 10, 12.4999991, 12.4999991}).columns, 2U);
  EXPECT_EQ(window_of(global_from_greenwich(), {180, 0, -180, 0}).longitudes, (std::vector<double>{-180}));
}

TEST(Window, SaysWhenNothingIsInside) {
  const auto geometry = prepared(global_from_greenwich());
  EXPECT_EQ(box_window(*geometry, {11, 11, 12, 12}, kMany).status().code(), Code::NotFound);
  EXPECT_EQ(box_window(*geometry, {0, 20, 10, 10}, kMany).status().code(), Code::InvalidArgument);
  EXPECT_EQ(box_window(*geometry, {0, 20, 500, 30}, kMany).status().code(), Code::InvalidArgument);
  EXPECT_EQ(box_window(*geometry, {0, std::nan(""), 10, 30}, kMany).status().code(), Code::InvalidArgument);
  EXPECT_EQ(box_window(*geometry, {-180, -90, 180, 90}, 100).status().code(), Code::OutOfSpace);
}

TEST(Window, HoldsEveryPointInsideOnAProjectedGrid) {
  met::Grid grid = oracle::sized(met::GridType::PolarStereographic, 37, 29);
  grid.first_latitude = 55;
  grid.first_longitude = 75;
  grid.column_step = grid.row_step = 190e3;
  grid.true_latitude1 = 60;
  grid.standard_longitude = 210;
  const auto oracle_grid = oracle::planar(grid, oracle::polar_plane(6371229, 60, 210, false));
  const Box box{170, 70, -120, 88};
  const Window w = window_of(grid, box);
  EXPECT_FALSE(w.rectilinear);
  const auto inside = [&](std::uint64_t i) {
    const oracle::Place p = oracle_grid.position(i);
    const oracle::Real east = p.longitude - 170 - 360 * std::floor((p.longitude - 170) / 360);
    return p.latitude >= 70 && p.latitude <= 88 && east <= 70;
  };
  std::uint64_t left = 37, right = 0, top = 29, bottom = 0, expected_inside = 0;
  for (std::uint64_t i = 0; i < grid.points; ++i) {
    if (!inside(i)) continue;
    ++expected_inside;
    left = std::min(left, i % 37);
    right = std::max(right, i % 37);
    top = std::min(top, i / 37);
    bottom = std::max(bottom, i / 37);
  }
  ASSERT_GT(expected_inside, 20U);
  EXPECT_EQ(w.rows, bottom - top + 1);
  EXPECT_EQ(w.columns, right - left + 1);
  const auto index = indexes(w);
  EXPECT_EQ(index.front(), top * 37 + left);
  EXPECT_EQ(index.back(), bottom * 37 + right);
  EXPECT_EQ(w.latitudes.size(), index.size());
  EXPECT_EQ(w.outside.size(), index.size() - expected_inside);
  for (const std::uint64_t at : w.outside) EXPECT_FALSE(inside(index[at]));
}

TEST(Window, ListsThePointsInsideOnAReducedGrid) {
  met::Grid grid = oracle::sized(met::GridType::ReducedLatLon, 5, 3);
  grid.first_latitude = 20;
  grid.last_latitude = 0;
  grid.first_longitude = -120;
  grid.last_longitude = -80;
  grid.row_lengths = {2, 3, 5};
  grid.points = 10;
  const Window w = window_of(grid, {-110, 0, -80, 10});
  EXPECT_EQ(w.rows, 1U);
  EXPECT_EQ(indexes(w), (std::vector<std::uint64_t>{3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(w.longitudes, (std::vector<double>{-100, -80, -110, -100, -90, -80}));
}

TEST(Window, IsTheWholeGridWithoutABox) {
  const auto w = whole_window(*prepared(global_from_greenwich()));
  ASSERT_TRUE(w.is_ok());
  EXPECT_EQ(w->rows, 73U);
  EXPECT_EQ(w->columns, 144U);
  ASSERT_EQ(w->runs.size(), 1U);
  EXPECT_EQ(w->runs[0].count, 10512U);
  EXPECT_EQ(w->longitudes[143], -2.5);
}

}  // namespace
}  // namespace nvmdb::query
