// Goal: profiles and sections give the values of the right points, levels and places between levels.
// Method: WRF columns are read by libnetcdf, GRIB levels as whole fields (which other tests check); nearest
// points are searched one by one, vertical interpolation and great circles are computed in long double by
// other formulas.

#include <gtest/gtest.h>
#include <netcdf.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/e2e/queries/stored_file.h"

namespace nvmdb::e2e {
namespace {

using Real = long double;

constexpr Real kDegree = 3.14159265358979323846264338327950288L / 180.0L;

struct Vector {
  Real x = 0;
  Real y = 0;
  Real z = 0;
};

Vector vector_of(double latitude, double longitude) {
  const Real lat = static_cast<Real>(latitude) * kDegree;
  const Real lon = static_cast<Real>(longitude) * kDegree;
  return {std::cos(lat) * std::cos(lon), std::cos(lat) * std::sin(lon), std::sin(lat)};
}
Real dot(const Vector& a, const Vector& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
Vector cross(const Vector& a, const Vector& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
Real length(const Vector& a) {
  return std::sqrt(dot(a, a));
}
Real angle_between(const Vector& a, const Vector& b) {
  return std::atan2(length(cross(a, b)), dot(a, b));
}

/// A variable of a NetCDF file at one time; dimensions after that.
struct Variable {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

Variable read_variable(const std::filesystem::path& path, const char* name, std::size_t time) {
  int file = -1;
  int id = -1;
  int rank = 0;
  Variable read;
  EXPECT_EQ(nc_open(path.c_str(), NC_NOWRITE, &file), NC_NOERR);
  EXPECT_EQ(nc_inq_varid(file, name, &id), NC_NOERR) << name;
  nc_inq_varndims(file, id, &rank);
  std::vector<int> dimensions(static_cast<std::size_t>(rank));
  nc_inq_vardimid(file, id, dimensions.data());
  std::vector<std::size_t> start(dimensions.size(), 0);
  std::vector<std::size_t> count;
  std::size_t total = 1;
  for (const int dimension : dimensions) {
    std::size_t size = 0;
    nc_inq_dimlen(file, dimension, &size);
    count.push_back(size);
  }
  start[0] = time;
  count[0] = 1;
  for (const std::size_t size : count) total *= size;
  read.shape.assign(count.begin() + 1, count.end());
  read.values.resize(total);
  EXPECT_EQ(nc_get_vara_float(file, id, start.data(), count.data(), read.values.data()), NC_NOERR);
  nc_close(file);
  return read;
}

/// One column of a WRF file.
struct WrfColumn {
  std::vector<Real> pressure;  // hPa
  std::vector<Real> height;    // m
  std::vector<float> t;
  double latitude = 0;
  double longitude = 0;
};

WrfColumn read_column(const std::filesystem::path& file, const query::Point& point) {
  const Variable lat = read_variable(file, "XLAT", 0);
  const Variable lon = read_variable(file, "XLONG", 0);
  const Vector at = vector_of(point.latitude, point.longitude);
  std::size_t nearest = 0;
  Real least = 10;
  for (std::size_t i = 0; i < lat.values.size(); ++i) {
    const Real angle =
        angle_between(at, vector_of(static_cast<double>(lat.values[i]), static_cast<double>(lon.values[i])));
    if (angle < least) nearest = i;
    least = std::min(least, angle);
  }
  const std::size_t plane = lat.values.size();
  const Variable p = read_variable(file, "P", 0);
  const Variable pb = read_variable(file, "PB", 0);
  const Variable ph = read_variable(file, "PH", 0);
  const Variable phb = read_variable(file, "PHB", 0);
  const Variable t = read_variable(file, "T", 0);
  WrfColumn column;
  column.latitude = static_cast<double>(lat.values[nearest]);
  column.longitude = static_cast<double>(lon.values[nearest]);
  const auto interface = [&](std::size_t k) {
    return (static_cast<Real>(ph.values[k * plane + nearest]) +
            static_cast<Real>(phb.values[k * plane + nearest])) /
           9.81L;
  };
  for (std::size_t k = 0; k < t.shape[0]; ++k) {
    const std::size_t i = k * plane + nearest;
    column.pressure.push_back((static_cast<Real>(p.values[i]) + static_cast<Real>(pb.values[i])) / 100);
    column.height.push_back((interface(k) + interface(k + 1)) / 2);
    column.t.push_back(t.values[i]);
  }
  return column;
}

/// The value where `axis` reaches `at`, by similar triangles; NaN outside.
Real between(const std::vector<Real>& axis, const std::vector<float>& values, Real at) {
  for (std::size_t k = 0; k + 1 < axis.size(); ++k) {
    if ((axis[k] - at) * (axis[k + 1] - at) > 0) continue;
    const Real lower = static_cast<Real>(values[k]);
    const Real upper = static_cast<Real>(values[k + 1]);
    return (upper * (at - axis[k]) + lower * (axis[k + 1] - at)) / (axis[k + 1] - axis[k]);
  }
  return std::nanl("");
}

class Curtains : public testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_data();
    if (!shared.has_value())
      GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA";
    given_ = *shared / "given";
  }
  std::filesystem::path given_;
};

TEST_F(Curtains, ProfileIsTheColumnOfTheNearestPoint) {
  const auto path = given_ / "wrf_python_ci_mercator.nc";
  StoredFile file(path);
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::ProfileRequest request;
  request.selection.parameter = "T";
  request.point = {25.43, -87.61};
  const WrfColumn column = read_column(path, request.point);
  const auto profile = file.queries().profile(request);
  ASSERT_TRUE(profile.is_ok()) << profile.status().to_string();
  EXPECT_EQ(profile->provenance.level_type, "eta");
  EXPECT_EQ(profile->step, met::Step::instant(profile->step.end_seconds));
  EXPECT_FLOAT_EQ(static_cast<float>(profile->points.at(0).grid.latitude),
                  static_cast<float>(column.latitude));
  EXPECT_FLOAT_EQ(static_cast<float>(profile->points.at(0).grid.longitude),
                  static_cast<float>(column.longitude));
  EXPECT_EQ(profile->values, column.t);
  ASSERT_EQ(profile->levels.size(), column.t.size());
  EXPECT_EQ(profile->levels.front(), 1);
}

TEST_F(Curtains, InterpolateToPressureAndHeight) {
  const auto path = given_ / "wrf_python_ci_mercator.nc";
  StoredFile file(path);
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::ProfileRequest request;
  request.selection.parameter = "T";
  request.point = {25.43, -87.61};
  const WrfColumn column = read_column(path, request.point);
  request.vertical = query::Vertical::Pressure;
  request.levels = {940, 925, 850, 777.7, 700, 600};
  std::vector<Real> logs;
  for (const Real p : column.pressure) logs.push_back(std::log(p));
  const auto at_pressures = file.queries().profile(request);
  ASSERT_TRUE(at_pressures.is_ok()) << at_pressures.status().to_string();
  EXPECT_EQ(at_pressures->provenance.level_type, "isobaricInhPa");
  for (std::size_t i = 0; i < request.levels.size(); ++i) {
    EXPECT_NEAR(at_pressures->values.at(i),
                static_cast<double>(between(logs, column.t, std::log(static_cast<Real>(request.levels[i])))),
                2e-5)
        << request.levels[i];
  }
  request.vertical = query::Vertical::Height;
  request.levels = {100, 500, 1234.5, 5000};
  const auto at_heights = file.queries().profile(request);
  ASSERT_TRUE(at_heights.is_ok()) << at_heights.status().to_string();
  for (std::size_t i = 0; i < request.levels.size(); ++i) {
    EXPECT_NEAR(at_heights->values.at(i),
                static_cast<double>(between(column.height, column.t, static_cast<Real>(request.levels[i]))),
                2e-5)
        << request.levels[i];
  }
}

TEST_F(Curtains, LevelsThatAreMetExactlyAreTheirOwnAndOthersEndAtTheLowest) {
  const auto path = given_ / "wrf_python_ci_mercator.nc";
  StoredFile file(path);
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::ProfileRequest request;
  request.point = {25.43, -87.61};
  request.selection.parameter = "pressure";
  const auto pressures = file.queries().profile(request);
  ASSERT_TRUE(pressures.is_ok()) << pressures.status().to_string();
  const WrfColumn column = read_column(path, request.point);
  request.selection.parameter = "T";
  request.vertical = query::Vertical::Pressure;
  for (const float pressure : pressures->values) request.levels.push_back(static_cast<double>(pressure));
  request.levels.push_back(static_cast<double>(pressures->values.front()) + 0.5);  // below the lowest
  request.levels.push_back(static_cast<double>(pressures->values.back()) - 0.5);   // above the highest
  const auto own = file.queries().profile(request);
  ASSERT_TRUE(own.is_ok()) << own.status().to_string();
  for (std::size_t k = 0; k < column.t.size(); ++k) EXPECT_EQ(own->values.at(k), column.t[k]) << k;
  EXPECT_TRUE(std::isnan(own->values.at(column.t.size())));
  EXPECT_TRUE(std::isnan(own->values.at(column.t.size() + 1)));
}

TEST_F(Curtains, ValuesOnInterfacesHaveHeightsOfInterfaces) {
  const auto path = given_ / "wrf_python_ci_mercator.nc";
  StoredFile file(path);
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::ProfileRequest request;
  request.point = {25.43, -87.61};
  request.selection.parameter = "PHB";
  request.vertical = query::Vertical::Height;
  request.levels = {1000};
  const auto answer = file.queries().profile(request);
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  request.selection.parameter = "PH";
  const auto rest = file.queries().profile(request);
  ASSERT_TRUE(rest.is_ok());
  // Their sum is the geopotential there: 1,000 m times 9.81.
  EXPECT_NEAR(static_cast<double>(answer->values.at(0)) + static_cast<double>(rest->values.at(0)), 9810.0,
              0.02);
  request.vertical = query::Vertical::Pressure;
  EXPECT_EQ(file.queries().profile(request).status().code(), Code::InvalidArgument);
}

/// Nearest point of a regular grid that goes round the earth, by its definition.
std::size_t nearest_index(const query::SlabAnswer& slab, const Vector& at) {
  std::size_t nearest = 0;
  Real least = 10;
  for (std::size_t i = 0; i < slab.values.size(); ++i) {
    const Real angle =
        angle_between(at, vector_of(slab.latitudes[i / slab.columns], slab.longitudes[i % slab.columns]));
    // Ties: the first is as good, so that points asked must have none.
    if (angle < least) nearest = i;
    least = std::min(least, angle);
  }
  return nearest;
}

TEST_F(Curtains, SectionCrossesTheDateLineAndKeepsOutOfTheGround) {
  StoredFile file(given_ / "gfs.t12z.pgrbf120.2p5deg.grib2");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::SectionRequest request;
  request.selection.parameter = "t";
  request.selection.level_type = "isobaricInhPa";
  request.from = {61.3, 142.7};
  request.to = {60.2, -121.9};
  request.points = 23;
  request.vertical = query::Vertical::Pressure;
  request.levels = {1000, 975, 950, 910, 850, 640, 500, 123};
  const auto section = file.queries().section(request);
  ASSERT_TRUE(section.is_ok()) << section.status().to_string();
  ASSERT_EQ(section->points.size(), 23U);

  // The stored levels, lowest first, and the ground.
  query::ProfileRequest stored;
  stored.selection = request.selection;
  stored.point = request.from;
  const auto profile = file.queries().profile(stored);
  ASSERT_TRUE(profile.is_ok()) << profile.status().to_string();
  ASSERT_EQ(profile->levels.front(), 1000);
  query::SlabRequest whole;
  whole.selection = request.selection;
  std::vector<query::SlabAnswer> slabs;
  std::vector<Real> logs;
  for (const double level : profile->levels) {
    whole.selection.level = level;
    slabs.push_back(file.queries().slab(whole).value());
    logs.push_back(std::log(static_cast<Real>(level)));
  }
  whole.selection = {};
  whole.selection.parameter = "sp";
  const query::SlabAnswer ground = file.queries().slab(whole).value();

  const Vector from = vector_of(request.from.latitude, request.from.longitude);
  const Vector to = vector_of(request.to.latitude, request.to.longitude);
  const Vector axis = cross(from, to);
  Vector side = cross(axis, from);
  const Real whole_angle = angle_between(from, to);
  std::size_t below = 0;
  for (std::size_t i = 0; i < section->points.size(); ++i) {
    // A turn about the axis of the great circle.
    const Real turn = whole_angle * static_cast<Real>(i) / 22;
    const Real unit = length(side);
    const Vector at{from.x * std::cos(turn) + side.x / unit * std::sin(turn),
                    from.y * std::cos(turn) + side.y / unit * std::sin(turn),
                    from.z * std::cos(turn) + side.z / unit * std::sin(turn)};
    const query::Point& asked = section->points[i].asked;
    EXPECT_LT(static_cast<double>(angle_between(at, vector_of(asked.latitude, asked.longitude))), 1e-12) << i;
    EXPECT_NEAR(section->distances_m.at(i), static_cast<double>(turn * 6371229), 1e-3) << i;
    const std::size_t nearest = nearest_index(ground, at);
    std::vector<float> column;
    for (const query::SlabAnswer& slab : slabs) column.push_back(slab.values.at(nearest));
    for (std::size_t k = 0; k < request.levels.size(); ++k) {
      const float value = section->values.at(i * request.levels.size() + k);
      if (100 * request.levels[k] > static_cast<double>(ground.values.at(nearest))) {
        ++below;
        EXPECT_TRUE(std::isnan(value)) << i << " " << request.levels[k];
      } else {
        EXPECT_NEAR(
            value, static_cast<double>(between(logs, column, std::log(static_cast<Real>(request.levels[k])))),
            1e-4)
            << i << " " << request.levels[k];
      }
    }
  }
  EXPECT_GT(below, 0U);
  EXPECT_LT(below, 60U);
}

TEST_F(Curtains, HeightsOfIsobaricLevelsAreTheirGeopotentialHeights) {
  StoredFile file(given_ / "nam.t00z.awp21100.tm00.grib2");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::ProfileRequest request;
  request.selection.parameter = "t";
  request.selection.level_type = "isobaricInhPa";
  request.point = {40.1, -95.3};
  request.interpolation = query::Interpolation::Bilinear;
  const auto t = file.queries().profile(request);
  ASSERT_TRUE(t.is_ok()) << t.status().to_string();
  request.selection.parameter = "gh";
  const auto gh = file.queries().profile(request);
  ASSERT_TRUE(gh.is_ok()) << gh.status().to_string();
  std::vector<Real> heights;
  for (const double level : t->levels) {
    const auto at = std::find(gh->levels.begin(), gh->levels.end(), level);
    ASSERT_NE(at, gh->levels.end()) << level;
    heights.push_back(static_cast<Real>(gh->values[static_cast<std::size_t>(at - gh->levels.begin())]));
  }
  request.selection.parameter = "t";
  request.vertical = query::Vertical::Height;
  request.levels = {1000, 3000, 5500, 9000, -300};
  request.units = "degC";
  const auto at_heights = file.queries().profile(request);
  ASSERT_TRUE(at_heights.is_ok()) << at_heights.status().to_string();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(
        at_heights->values.at(i),
        static_cast<double>(between(heights, t->values, static_cast<Real>(request.levels[i]))) - 273.15,
        1e-4);
  }
  EXPECT_TRUE(std::isnan(at_heights->values.at(4)));
}

TEST_F(Curtains, RefuseWhatMakesNoSense) {
  StoredFile file(given_ / "gfs.t12z.pgrbf120.2p5deg.grib2");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::SectionRequest request;
  request.selection.parameter = "t";
  request.selection.level_type = "isobaricInhPa";
  request.from = {10, 20};
  request.to = {-10, -160};
  EXPECT_EQ(file.queries().section(request).status().code(), Code::InvalidArgument);  // opposite
  request.to = request.from;
  EXPECT_EQ(file.queries().section(request).status().code(), Code::InvalidArgument);
  request.to = {11, 20};
  request.points = 1;
  EXPECT_EQ(file.queries().section(request).status().code(), Code::InvalidArgument);
  request.points = 2;
  request.vertical = query::Vertical::Pressure;
  EXPECT_EQ(file.queries().section(request).status().code(), Code::InvalidArgument);  // no levels
  request.levels = {500, -1};
  EXPECT_EQ(file.queries().section(request).status().code(), Code::InvalidArgument);
  request.levels = {500};
  EXPECT_TRUE(file.queries().section(request).is_ok());
  request.selection.parameter = "nothing";
  EXPECT_EQ(file.queries().section(request).status().code(), Code::NotFound);
}

}  // namespace
}  // namespace nvmdb::e2e
