#include "query/geometry/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "query/geometry/gaussian.h"
#include "query/geometry/sphere.h"
#include "tests/unit/query/oracle.h"

namespace nvmdb::query {
namespace {

using oracle::OracleGrid;
using oracle::Place;
using oracle::Real;

struct Case {
  const char* name;
  OracleGrid (*make)();
};

met::Grid plane_grid(met::GridType type, double latitude, double longitude, double dx, double dy) {
  met::Grid grid = oracle::sized(type, 37, 29);
  grid.first_latitude = latitude;
  grid.first_longitude = longitude;
  grid.column_step = dx;
  grid.row_step = dy;
  return grid;
}

OracleGrid lambert_two_parallels() {
  met::Grid grid = plane_grid(met::GridType::Lambert, 52.5, 226.541, 120e3, 110e3);
  grid.true_latitude1 = 25;
  grid.true_latitude2 = 45;
  grid.standard_longitude = 265;
  return oracle::planar(grid, oracle::lambert_plane(6371229, 25, 45, 265));
}
OracleGrid lambert_over_date_line() {
  met::Grid grid = plane_grid(met::GridType::Lambert, 40, 172, 40e3, 40e3);
  grid.true_latitude1 = grid.true_latitude2 = 30;
  grid.standard_longitude = 180;
  return oracle::planar(grid, oracle::lambert_plane(6371229, 30, 30, 180));
}
OracleGrid lambert_south() {
  met::Grid grid = plane_grid(met::GridType::Lambert, -20, 280, 60e3, 60e3);
  grid.true_latitude1 = -30;
  grid.true_latitude2 = -60;
  grid.standard_longitude = -65;
  grid.south_pole_on_plane = true;
  return oracle::planar(grid, oracle::lambert_plane(6371229, -30, -60, -65));
}
OracleGrid polar_north() {
  met::Grid grid = plane_grid(met::GridType::PolarStereographic, 55, 75, 190e3, 190e3);
  grid.true_latitude1 = 60;
  grid.standard_longitude = 210;
  return oracle::planar(grid, oracle::polar_plane(6371229, 60, 210, false));
}
OracleGrid polar_south() {
  met::Grid grid = plane_grid(met::GridType::PolarStereographic, -50, 320, 180e3, 180e3);
  grid.true_latitude1 = -71;
  grid.standard_longitude = 0;
  grid.south_pole_on_plane = true;
  return oracle::planar(grid, oracle::polar_plane(6371229, -71, 0, true));
}
OracleGrid mercator_over_date_line() {
  met::Grid grid = plane_grid(met::GridType::Mercator, 30, 172, 50e3, 50e3);
  grid.true_latitude1 = 20;
  return oracle::planar(grid, oracle::mercator_plane(6371229, 20, 180));
}
OracleGrid regular_global() {
  return oracle::lat_lon(90, 0, 10, 10, 36, 19, 350);
}
OracleGrid regular_global_from_date_line() {
  return oracle::lat_lon(90, -180, 10, 10, 36, 19, 170);
}
OracleGrid regular_half_cell_off_the_poles() {
  return oracle::lat_lon(85, 5, 10, 10, 36, 18, 355);
}
OracleGrid regular_over_greenwich() {
  return oracle::lat_lon(70, 345, 2.5L, 2.5L, 13, 17, 15);
}
OracleGrid regular_over_date_line() {
  return oracle::lat_lon(20, 170, 2.5L, 1.25L, 19, 17, 192.5L);
}
OracleGrid rotated_plain() {
  return oracle::rotated(-40, 10, 0);
}
OracleGrid rotated_with_angle() {
  return oracle::rotated(-30, -170, 25);
}
OracleGrid wrf_lambert() {
  met::Grid grid = plane_grid(met::GridType::Lambert, 24, 172, 30e3, 30e3);
  grid.earth_semi_major = grid.earth_semi_minor = 6370000;
  grid.true_latitude1 = grid.true_latitude2 = 29.04;
  grid.standard_longitude = 180;
  return oracle::as_arrays(oracle::planar(grid, oracle::lambert_plane(6370000, 29.04L, 29.04L, 180), 1), 1);
}
OracleGrid wrf_mercator_without_standard_longitude() {
  met::Grid grid = plane_grid(met::GridType::Mercator, -8, 170, 60e3, 60e3);
  grid.earth_semi_major = grid.earth_semi_minor = 6370000;
  grid.true_latitude1 = 5;
  grid.standard_longitude = 1e20;
  return oracle::as_arrays(oracle::planar(grid, oracle::mercator_plane(6370000, 5, 180), 1), 3);
}
OracleGrid wrf_polar() {
  met::Grid grid = plane_grid(met::GridType::PolarStereographic, 60, 100, 90e3, 90e3);
  grid.earth_semi_major = grid.earth_semi_minor = 6370000;
  grid.true_latitude1 = 60;
  grid.standard_longitude = 150;
  return oracle::as_arrays(oracle::planar(grid, oracle::polar_plane(6370000, 60, 150, false), 1), 2);
}
OracleGrid wrf_lat_lon() {
  return oracle::as_arrays(regular_over_date_line(), 6);
}
OracleGrid wrf_rotated() {
  return oracle::as_arrays(oracle::rotated(-40, 170, 0), 6);
}
OracleGrid unknown_projection() {
  OracleGrid made = wrf_lambert();
  made.grid.wrf_map_projection = -1;
  return made;
}
OracleGrid wrong_attributes() {
  OracleGrid made = wrf_lambert();
  made.grid.standard_longitude = 100;
  return made;
}

const Case kCases[] = {{"LambertTwoParallels", lambert_two_parallels},
                       {"LambertOverDateLine", lambert_over_date_line},
                       {"LambertSouth", lambert_south},
                       {"PolarNorth", polar_north},
                       {"PolarSouth", polar_south},
                       {"MercatorOverDateLine", mercator_over_date_line},
                       {"RegularGlobal", regular_global},
                       {"RegularGlobalFromDateLine", regular_global_from_date_line},
                       {"RegularHalfCellOffThePoles", regular_half_cell_off_the_poles},
                       {"RegularOverGreenwich", regular_over_greenwich},
                       {"RegularOverDateLine", regular_over_date_line},
                       {"RotatedPlain", rotated_plain},
                       {"RotatedWithAngle", rotated_with_angle},
                       {"WrfLambert", wrf_lambert},
                       {"WrfMercatorWithoutStandardLongitude", wrf_mercator_without_standard_longitude},
                       {"WrfPolar", wrf_polar},
                       {"WrfLatLon", wrf_lat_lon},
                       {"WrfRotated", wrf_rotated},
                       {"UnknownProjection", unknown_projection},
                       {"WrongAttributes", wrong_attributes}};

class GeometryOn : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    oracle_ = GetParam().make();
    auto prepared = Geometry::prepare(std::make_shared<const met::Grid>(oracle_.grid));
    ASSERT_TRUE(prepared.is_ok()) << prepared.status().to_string();
    geometry_ = *prepared;
    for (std::uint64_t i = 0; i < oracle_.grid.points; ++i) places_.push_back(oracle_.position(i));
    global_ = oracle_.grid.type == met::GridType::RegularLatLon && oracle_.grid.columns == 36;
    // Positions in arrays are floats: a cell is known to about that.
    slack_ = oracle_.grid.latitudes.empty() ? 1e-6L : 5e-3L;
  }

  /// Points in and around the grid, and on awkward places.
  std::vector<Point> points(std::uint32_t seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> part(-1.2, 1.2);
    std::vector<Point> out;
    for (int i = 0; i < 250; ++i) {
      const Place near = oracle_.position(random() % oracle_.grid.points);
      const double cell =
          oracle_.grid.latitudes.empty() && oracle_.grid.column_step < 100
              ? oracle_.grid.column_step
              : std::min(2.0, oracle_.grid.column_step > 100 ? oracle_.grid.column_step / 111e3 : 1.0);
      Point p{static_cast<double>(near.latitude) + part(random) * cell,
              static_cast<double>(near.longitude) +
                  part(random) * cell /
                      std::max(0.2, std::cos(static_cast<double>(near.latitude * oracle::kDegree)))};
      p.latitude = std::clamp(p.latitude, -90.0, 90.0);
      p.longitude = static_cast<double>(oracle::turn_difference(static_cast<Real>(p.longitude)));
      out.push_back(p);
    }
    for (const double latitude : {90.0, 89.9, -90.0, -89.9, 0.0, 54.321}) {
      for (const double longitude : {-180.0, 180.0, 179.999, -179.999, 0.0, 359.999, 360.0, 12.3}) {
        out.push_back({latitude, longitude});
      }
    }
    return out;
  }

  /// 1 inside, -1 outside, 0 too close to tell (or at a pole, where a column means nothing).
  int side(const Point& p, Real margin) const {
    const oracle::Cell c = oracle_.cell({static_cast<Real>(p.latitude), static_cast<Real>(p.longitude)});
    if (global_) return 1;
    if (std::fabs(p.latitude) > 89.99) return 0;
    const Real out = std::max({-margin - c.u, c.u - (oracle_.grid.columns - 1 + margin), -margin - c.v,
                               c.v - (oracle_.grid.rows - 1 + margin)});
    return out > 10 * slack_ ? -1 : (out < -10 * slack_ ? 1 : 0);
  }

  OracleGrid oracle_;
  std::vector<Place> places_;  // of all points
  std::shared_ptr<const Geometry> geometry_;
  bool global_ = false;
  Real slack_ = 0;
};

TEST_P(GeometryOn, PutsEveryPointWhereTheFormulaDoes) {
  Positions all;
  all.latitudes.resize(oracle_.grid.points);
  all.longitudes.resize(oracle_.grid.points);
  geometry_->positions(0, all.latitudes, all.longitudes);
  for (std::uint64_t i = 0; i < oracle_.grid.points; ++i) {
    const Place expected = oracle_.position(i);
    const Place found{static_cast<Real>(all.latitudes[i]), static_cast<Real>(all.longitudes[i])};
    ASSERT_LT(oracle::angle_between(expected, found), 1e-10L) << i;
    ASSERT_GE(all.longitudes[i], -180.0);
    ASSERT_LE(all.longitudes[i], 180.0);
  }
}

TEST_P(GeometryOn, FindsTheNearestOfAllPoints) {
  int inside = 0;
  int outside = 0;
  for (const Point& p : points(7)) {
    const int expected_side = side(p, 0.5L);
    const auto found = geometry_->nearest(p);
    if (expected_side < 0) {
      ++outside;
      ASSERT_FALSE(found.is_ok()) << p.latitude << "," << p.longitude;
      ASSERT_EQ(found.status().code(), Code::InvalidArgument);
      continue;
    }
    if (expected_side == 0 && !found.is_ok()) continue;
    ++inside;
    ASSERT_TRUE(found.is_ok()) << found.status().to_string();
    const Place asked{static_cast<Real>(p.latitude), static_cast<Real>(p.longitude)};
    Real best = 10;
    for (const Place& place : places_) best = std::min(best, oracle::angle_between(asked, place));
    const Real got = oracle::angle_between(asked, places_[found->index]);
    // Of equally near points any is right.
    ASSERT_LE(got, best + 1e-10L + (oracle_.grid.latitudes.empty() ? 0 : 1e-7L))
        << p.latitude << "," << p.longitude << " index " << found->index;
    const Real metres = got * static_cast<Real>(oracle_.grid.earth_semi_major);
    ASSERT_NEAR(static_cast<double>(metres), found->distance_m, 0.01);
  }
  EXPECT_GT(inside, 100);
  if (!global_) {
    EXPECT_GT(outside, 10);
  }
}

TEST_P(GeometryOn, InterpolatesLinearlyInTheCell) {
  std::mt19937 random(11);
  std::vector<double> field(oracle_.grid.points);
  for (double& value : field) value = static_cast<double>(random() % 10000) / 100.0;
  int inside = 0;
  for (const Point& p : points(13)) {
    const int expected_side = side(p, 0);
    const auto found = geometry_->bilinear(p);
    if (expected_side < 0) {
      ASSERT_FALSE(found.is_ok()) << p.latitude << "," << p.longitude;
      continue;
    }
    if (!found.is_ok() && expected_side == 0) continue;
    ASSERT_TRUE(found.is_ok()) << found.status().to_string();
    if (std::fabs(p.latitude) > 89.99 && !global_ && oracle_.grid.type != met::GridType::PolarStereographic)
      continue;
    Real sum = 0;
    Real weights = 0;
    for (std::uint32_t i = 0; i < found->count; ++i) {
      sum += static_cast<Real>(found->corners[i].weight) * static_cast<Real>(field[found->corners[i].index]);
      weights += static_cast<Real>(found->corners[i].weight);
    }
    ASSERT_NEAR(static_cast<double>(weights), 1.0, 1e-12);
    const oracle::Cell c = oracle_.cell({static_cast<Real>(p.latitude), static_cast<Real>(p.longitude)});
    const auto columns = static_cast<std::int64_t>(oracle_.grid.columns);
    const auto rows = static_cast<std::int64_t>(oracle_.grid.rows);
    // A row beyond the pole is the last one again, half a turn on.
    const auto value = [&](std::int64_t row, std::int64_t column) -> Real {
      if (row < 0 || row >= rows) {
        row = row < 0 ? -1 - row : 2 * rows - 1 - row;
        column += columns / 2;
      }
      if (global_) column = ((column % columns) + columns) % columns;
      column = std::clamp<std::int64_t>(column, 0, columns - 1);
      return static_cast<Real>(field[static_cast<std::size_t>(row * columns + column)]);
    };
    const bool pole_row = global_ && rows == 19;
    const Real v = std::clamp<Real>(c.v, pole_row || !global_ ? 0 : -0.5L,
                                    static_cast<Real>(rows) - (pole_row || !global_ ? 1 : 0.5L));
    const auto row = static_cast<std::int64_t>(
        std::min<Real>(std::floor(v), static_cast<Real>(rows) - (pole_row || !global_ ? 2 : 1)));
    const auto column = static_cast<std::int64_t>(std::floor(c.u));
    const Real fv = v - static_cast<Real>(row);
    const Real fu = c.u - static_cast<Real>(column);
    const Real expected = (1 - fv) * ((1 - fu) * value(row, column) + fu * value(row, column + 1)) +
                          fv * ((1 - fu) * value(row + 1, column) + fu * value(row + 1, column + 1));
    const Real tolerance = std::max<Real>(3e-4L, 200 * slack_);
    ASSERT_NEAR(static_cast<double>(expected), static_cast<double>(sum), static_cast<double>(tolerance))
        << p.latitude << "," << p.longitude << " cell " << static_cast<double>(c.u) << ","
        << static_cast<double>(c.v);
    ++inside;
  }
  EXPECT_GT(inside, 100);
}

INSTANTIATE_TEST_SUITE_P(Grids, GeometryOn, testing::ValuesIn(kCases),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(GaussianLatitudes, AreTheRootsOfTheLegendrePolynomial) {
  for (const std::uint32_t n : {1U, 2U, 3U, 16U, 32U, 48U, 80U, 160U}) {
    const std::vector<double> latitudes = gaussian_latitudes(n);
    ASSERT_EQ(latitudes.size(), 2 * n);
    for (std::size_t i = 0; i < latitudes.size(); ++i) {
      if (i > 0) {
        ASSERT_LT(latitudes[i], latitudes[i - 1]);
      }
      const Real x = std::sin(static_cast<Real>(latitudes[i]) * oracle::kDegree);
      // The polynomial changes its sign there.
      const Real below = std::legendre(2 * n, x - 1e-14L);
      const Real above = std::legendre(2 * n, x + 1e-14L);
      ASSERT_LT(below * above, 0) << "N" << n << " row " << i;
    }
  }
}

met::Grid gaussian_grid(std::uint32_t n, std::uint32_t columns) {
  met::Grid grid = oracle::sized(met::GridType::RegularGaussian, columns, 2 * n);
  grid.gaussian_number = n;
  // As a GRIB 1 file has them: millidegrees.
  grid.first_latitude = std::round(gaussian_latitudes(n).front() * 1e3) / 1e3;
  grid.last_latitude = -grid.first_latitude;
  grid.last_longitude = std::round((360.0 - 360.0 / columns) * 1e3) / 1e3;
  grid.column_step = std::round(360.0 / columns * 1e3) / 1e3;
  return grid;
}

met::Grid reduced_grid() {
  met::Grid grid = gaussian_grid(4, 20);
  grid.type = met::GridType::ReducedGaussian;
  grid.row_lengths = {8, 12, 16, 20, 20, 16, 12, 8};
  grid.columns = 20;
  grid.points = 112;
  return grid;
}

std::shared_ptr<const Geometry> prepared(const met::Grid& grid) {
  auto made = Geometry::prepare(std::make_shared<const met::Grid>(grid));
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return made.is_ok() ? *made : nullptr;
}

struct ReducedPoint {
  Place place;
  std::size_t row;
};
std::vector<ReducedPoint> reduced_points() {
  const met::Grid grid = reduced_grid();
  const auto latitudes = gaussian_latitudes(4);
  std::vector<ReducedPoint> points;
  for (std::size_t r = 0; r < grid.row_lengths.size(); ++r) {
    for (std::uint32_t c = 0; c < grid.row_lengths[r]; ++c) {
      points.push_back({{static_cast<Real>(latitudes[r]), 360.0L * c / grid.row_lengths[r]}, r});
    }
  }
  return points;
}

TEST(ReducedGrid, FindsTheNearestOfAllPointsEverywhere) {
  const auto geometry = prepared(reduced_grid());
  const auto all = reduced_points();
  std::mt19937 random(3);
  std::uniform_real_distribution<double> latitude(-90, 90);
  std::uniform_real_distribution<double> longitude(-180, 360);
  for (int i = 0; i < 3000; ++i) {
    const Point p{i % 50 == 0 ? (i % 100 == 0 ? 90.0 : -90.0) : latitude(random), longitude(random)};
    const auto found = geometry->nearest(p);
    ASSERT_TRUE(found.is_ok()) << found.status().to_string();
    const Place asked{static_cast<Real>(p.latitude), static_cast<Real>(p.longitude)};
    Real best = 10;
    for (const ReducedPoint& point : all) best = std::min(best, oracle::angle_between(asked, point.place));
    ASSERT_LE(oracle::angle_between(asked, all[found->index].place), best + 1e-12L)
        << p.latitude << "," << p.longitude;
  }
}

TEST(ReducedGrid, InterpolatesInEachRowThenBetweenRows) {
  const auto geometry = prepared(reduced_grid());
  const met::Grid grid = reduced_grid();
  const auto latitudes = gaussian_latitudes(4);
  std::vector<std::vector<Real>> field;
  std::vector<Real> flat;
  std::mt19937 random(5);
  for (const std::uint32_t length : grid.row_lengths) {
    field.emplace_back();
    for (std::uint32_t c = 0; c < length; ++c) {
      field.back().push_back(static_cast<Real>(random() % 1000));
      flat.push_back(field.back().back());
    }
  }
  const auto in_row = [&](std::size_t row, Real longitude) {
    const auto count = static_cast<Real>(field[row].size());
    Real u = longitude * count / 360;
    u -= count * std::floor(u / count);
    const auto left = static_cast<std::size_t>(u) % field[row].size();
    return field[row][left] +
           (u - std::floor(u)) * (field[row][(left + 1) % field[row].size()] - field[row][left]);
  };
  std::uniform_real_distribution<double> latitude(-90, 90);
  std::uniform_real_distribution<double> longitude(-180, 360);
  for (int i = 0; i < 2000; ++i) {
    const Point p{latitude(random), longitude(random)};
    const auto found = geometry->bilinear(p);
    ASSERT_TRUE(found.is_ok()) << found.status().to_string();
    Real sum = 0;
    for (std::uint32_t k = 0; k < found->count; ++k) {
      sum += static_cast<Real>(found->corners[k].weight) * flat[found->corners[k].index];
    }
    Real expected = 0;
    const auto x = static_cast<Real>(p.longitude);
    if (p.latitude > latitudes.front() || p.latitude < latitudes.back()) {
      const std::size_t row = p.latitude > 0 ? 0 : 7;
      const Real t = static_cast<Real>(std::fabs(p.latitude) - latitudes.front()) /
                     static_cast<Real>(2 * (90 - latitudes.front()));
      expected = (1 - t) * in_row(row, x) + t * in_row(row, x + 180);
    } else {
      std::size_t row = 0;
      while (row < 6 && latitudes[row + 1] >= p.latitude) ++row;
      const Real t = static_cast<Real>((latitudes[row] - p.latitude) / (latitudes[row] - latitudes[row + 1]));
      expected = (1 - t) * in_row(row, x) + t * in_row(row + 1, x);
    }
    ASSERT_NEAR(static_cast<double>(expected), static_cast<double>(sum), 2e-3)
        << p.latitude << "," << p.longitude;
  }
}

TEST(ReducedGrid, SpansItsMeridiansInEveryRowWhenItIsRegional) {
  met::Grid grid = oracle::sized(met::GridType::ReducedLatLon, 5, 3);
  grid.first_latitude = 20;
  grid.last_latitude = 0;
  grid.first_longitude = -120;
  grid.last_longitude = -80;
  grid.row_lengths = {2, 3, 5};
  grid.points = 10;
  const auto geometry = prepared(grid);
  std::vector<double> latitudes(10);
  std::vector<double> longitudes(10);
  geometry->positions(0, latitudes, longitudes);
  EXPECT_EQ(longitudes, (std::vector<double>{-120, -80, -120, -100, -80, -120, -110, -100, -90, -80}));
  EXPECT_EQ(latitudes, (std::vector<double>{20, 20, 10, 10, 10, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(geometry->nearest({10, 10}).is_ok());
}

TEST(GaussianGrid, TakesItsRowsFromTheWholeGrid) {
  met::Grid grid = gaussian_grid(32, 128);
  const auto whole = prepared(grid);
  Point p;
  whole->positions(127, {&p.latitude, 1}, {&p.longitude, 1});
  // Source: the N32 table of ECMWF's model grids.
  EXPECT_NEAR(p.latitude, 87.8638, 1e-4);
  EXPECT_NEAR(p.longitude, -2.8125, 1e-3);
  grid.rows = 3;
  grid.points = 3 * 128;
  grid.first_latitude = 1.3953;
  grid.last_latitude = -4.1859;
  const auto part = prepared(grid);
  part->positions(128, {&p.latitude, 1}, {&p.longitude, 1});
  EXPECT_NEAR(p.latitude, -1.3953, 1e-4);
  EXPECT_FALSE(part->nearest({40, 0}).is_ok());
  grid.first_latitude = -80;
  grid.last_latitude = -90;
  grid.rows = 20;
  grid.points = 20 * 128;
  EXPECT_EQ(Geometry::prepare(std::make_shared<const met::Grid>(grid)).status().code(),
            Code::InvalidArgument);
}

TEST(Geometry, SaysWhyPointsHaveNoPositions) {
  met::Grid grid = oracle::sized(met::GridType::Unlocated, 10, 1);
  grid.description = "unstructured grid: positions are not in the file";
  const auto made = Geometry::prepare(std::make_shared<const met::Grid>(grid));
  ASSERT_EQ(made.status().code(), Code::InvalidArgument);
  EXPECT_NE(made.status().message().find("positions are not in the file"), std::string::npos);
}

TEST(Geometry, NamesItsBoundsToPointsOutside) {
  const auto geometry = prepared(regular_over_greenwich().grid);
  const auto found = geometry->nearest({10, 10});
  ASSERT_EQ(found.status().code(), Code::InvalidArgument);
  EXPECT_NE(found.status().message().find("latitude 30.0000..70.0000, longitude -15.0000..15.0000"),
            std::string::npos)
      << found.status().message();
  const auto polar = prepared(polar_north().grid)->nearest({-80, 0});
  EXPECT_NE(polar.status().message().find("..90.0000, all longitudes"), std::string::npos)
      << polar.status().message();
  EXPECT_EQ(geometry->nearest({91, 0}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(geometry->nearest({std::nan(""), 0}).status().code(), Code::InvalidArgument);
  EXPECT_EQ(geometry->nearest({0, 400}).status().code(), Code::InvalidArgument);
}

TEST(Geometry, CountsOnlyTheGridPointOnAGridPoint) {
  const auto geometry = prepared(regular_global().grid);
  const auto on_point = geometry->bilinear({40, -180});
  ASSERT_TRUE(on_point.is_ok());
  EXPECT_EQ(on_point->count, 1U);
  EXPECT_EQ(on_point->corners[0].index, 5U * 36 + 18);
  const auto on_side = geometry->bilinear({40, -5});
  ASSERT_TRUE(on_side.is_ok());
  EXPECT_EQ(on_side->count, 2U);
}

TEST(Geometry, RefusesPositionsThatAreNotNumbers) {
  met::Grid grid = wrf_lambert().grid;
  grid.latitudes[5] = std::nanf("");
  EXPECT_EQ(Geometry::prepare(std::make_shared<const met::Grid>(grid)).status().code(),
            Code::InvalidArgument);
}

TEST(Geometry, SurvivesPointsThatAreAllTheSame) {
  met::Grid grid = wrf_lambert().grid;
  grid.wrf_map_projection = 0;
  std::fill(grid.latitudes.begin(), grid.latitudes.end(), 0.0F);
  std::fill(grid.longitudes.begin(), grid.longitudes.end(), 0.0F);
  const auto geometry = prepared(grid);
  EXPECT_TRUE(geometry->nearest({0, 0}).is_ok());
  EXPECT_FALSE(geometry->nearest({10, 10}).is_ok());
}

}  // namespace
}  // namespace nvmdb::query
