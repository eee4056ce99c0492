#include <gtest/gtest.h>

#include <cmath>

#include "query/derived/definition.h"
#include "query/derived/moist_air.h"
#include "query/derived/pseudoadiabat.h"
#include "query/derived/wind.h"
#include "query/geometry/geometry.h"

namespace nvmdb::query::derived {
namespace {

constexpr double kDegree = 3.141592653589793 / 180;

double compute(std::string_view name, std::string_view format, const std::vector<double>& inputs) {
  for (const Definition* definition : definitions_named(name)) {
    if (definition->format != format) continue;
    Block block;
    block.points = 1;
    for (const double input : inputs) block.slots.push_back({1, {input}, input});
    double value = 0;
    definition->compute(block, std::span(&value, 1));
    return value;
  }
  ADD_FAILURE() << "nobody computes " << name;
  return 0;
}

TEST(Derived, HasEachNameOncePerFormatAndInputs) {
  for (const Definition& definition : all_definitions()) {
    EXPECT_FALSE(definition.inputs.empty()) << definition.name;
    EXPECT_NE(definition.compute, nullptr) << definition.name;
    EXPECT_FALSE(definition.inputs.front().optional) << definition.name;
  }
  for (const std::string_view group : {"uvmet", "cape_2d", "cape_3d", "uvmet10", "wspd_wdir"}) {
    for (const std::string_view part : parts_of(group)) EXPECT_FALSE(definitions_named(part).empty()) << part;
  }
}

// Slots: RAINC, RAINNC, RAINSH, I_RAINC, I_RAINNC, and the same at the start of the interval.
TEST(Derived, RainGoesOnAfterARestart) {
  EXPECT_NEAR(compute("rain_interval", "wrf", {3, 4, 0, 0, 0, 1, 2, 0, 0, 0}), 4, 1e-12);
  EXPECT_NEAR(compute("rain_interval", "wrf", {0.5, 1, 0, 0, 0, 10, 20, 0, 0, 0}), 1.5, 1e-12);
  EXPECT_EQ(compute("rain_interval", "wrf", {10, 20, 0, 0, 0, 10, 20.00001, 0, 0, 0}), 0);
}

// Source: WMO-No. 8, annex 4.B: saturation over water at 0 and 20 degrees; Bolton's formula is good to 0.1 %.
TEST(Derived, SaturatesAsTablesSay) {
  EXPECT_NEAR(saturation_pressure_hpa(273.15), 6.112, 0.001);
  EXPECT_NEAR(saturation_pressure_hpa(293.15), 23.37, 0.025);
  EXPECT_NEAR(dew_point_of_vapour_celsius(23.37), 20, 0.05);
}

TEST(Derived, PseudoadiabatKeepsItsTheta) {
  const Pseudoadiabat& table = Pseudoadiabat::instance();
  for (const double pressure : {1000.0, 850.0, 500.0, 300.0}) {
    const double air = table.temperature(340, pressure);
    const double vapour = saturation_pressure_hpa(air);
    const double saturated =
        equivalent_potential_temperature(air, 100 * pressure, 0.622 * vapour / (pressure - vapour));
    EXPECT_NEAR(saturated, 340, 0.1) << pressure;  // linear between nodes, and another gas constant
  }
  EXPECT_TRUE(std::isnan(table.temperature(100, 900)));
  EXPECT_TRUE(std::isnan(table.temperature(340, 1200)));
}

TEST(Derived, DirectionsAreWhereTheWindComesFrom) {
  EXPECT_DOUBLE_EQ(direction_from(0, -1), 0);
  EXPECT_DOUBLE_EQ(direction_from(-1, 0), 90);
  EXPECT_DOUBLE_EQ(direction_from(0, 1), 180);
  EXPECT_DOUBLE_EQ(direction_from(1, 0), 270);
  EXPECT_TRUE(std::isnan(direction_from(0, 0)));
}

met::Grid small_grid(met::GridType type) {
  met::Grid grid;
  grid.type = type;
  grid.columns = 40;
  grid.rows = 40;
  grid.points = 1600;
  grid.wind_relative_to_grid = true;
  grid.column_step = grid.row_step = type == met::GridType::RotatedLatLon ? 0.05 : 5000;
  return grid;
}

/// Grid north against the direction from each point to the next one north of it, which PROJ gives.
void check_bearing(const met::Grid& grid) {
  const auto geometry = Geometry::prepare(std::make_shared<met::Grid>(grid));
  ASSERT_TRUE(geometry.is_ok()) << geometry.status().to_string();
  for (const std::uint64_t point : {45U, 79U, 820U, 1500U, 1599U}) {
    std::vector<double> latitudes(2);
    std::vector<double> longitudes(2);
    for (const std::size_t end : {0U, 1U}) {
      (*geometry)->positions(point - 40 * end, std::span(latitudes).subspan(end, 1),
                             std::span(longitudes).subspan(end, 1));
    }
    const double north = latitudes[1] - latitudes[0];
    const double east = std::remainder(longitudes[1] - longitudes[0], 360.0) *
                        std::cos(0.5 * (latitudes[0] + latitudes[1]) * kDegree);
    const double bearing =
        grid_north_bearing(grid, 0.5 * (latitudes[0] + latitudes[1]),
                           longitudes[0] + 0.5 * std::remainder(longitudes[1] - longitudes[0], 360.0));
    EXPECT_NEAR(std::remainder(bearing - std::atan2(east, north), 360 * kDegree), 0, 2e-4)
        << grid.summary() << point;
  }
}

TEST(Derived, BearingOfGridNorthIsThatOfTheProjection) {
  met::Grid lambert = small_grid(met::GridType::Lambert);
  lambert.first_latitude = 50;
  lambert.first_longitude = 230;
  lambert.standard_longitude = 262.5;
  lambert.true_latitude1 = 38.5;
  lambert.true_latitude2 = 30;
  check_bearing(lambert);
  met::Grid southern = lambert;
  southern.first_latitude = -30;
  southern.true_latitude1 = -60;
  southern.true_latitude2 = -30;
  southern.south_pole_on_plane = true;
  check_bearing(southern);
  met::Grid polar = small_grid(met::GridType::PolarStereographic);
  polar.first_latitude = 70;
  polar.first_longitude = 20;
  polar.standard_longitude = -105;
  polar.true_latitude1 = 60;
  check_bearing(polar);
  met::Grid rotated = small_grid(met::GridType::RotatedLatLon);
  rotated.first_latitude = 10;
  rotated.last_latitude = 10 - 39 * 0.05;
  rotated.first_longitude = -5;
  rotated.last_longitude = -5 + 39 * 0.05;
  rotated.south_pole_latitude = -40;
  rotated.south_pole_longitude = 10;
  check_bearing(rotated);
  rotated.wind_relative_to_grid = false;
  EXPECT_EQ(grid_north_bearing(rotated, 50, 10), 0);
}

}  // namespace
}  // namespace nvmdb::query::derived
