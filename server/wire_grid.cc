#include <array>

#include "server/wire.h"

namespace nvmdb::server::wire {

void put(const GridRow& from, v1::Grid& to) {
  const met::Grid& grid = from.grid;
  put(from.run, *to.mutable_run());
  to.set_type(std::string(met::grid_type_name(grid.type)));
  to.set_summary(from.summary);
  to.set_columns(grid.columns);
  to.set_rows(grid.rows);
  to.set_points(grid.points);
  to.set_first_latitude(grid.first_latitude);
  to.set_first_longitude(grid.first_longitude);
  to.set_last_latitude(grid.last_latitude);
  to.set_last_longitude(grid.last_longitude);
  to.set_column_step(grid.column_step);
  to.set_row_step(grid.row_step);
  to.set_standard_longitude(grid.standard_longitude);
  to.set_true_latitude1(grid.true_latitude1);
  to.set_true_latitude2(grid.true_latitude2);
  to.set_south_pole_latitude(grid.south_pole_latitude);
  to.set_south_pole_longitude(grid.south_pole_longitude);
  to.set_gaussian_number(grid.gaussian_number);
  to.set_earth_semi_major(grid.earth_semi_major);
  to.set_earth_semi_minor(grid.earth_semi_minor);
  to.set_wrf_map_projection(grid.wrf_map_projection);
  to.set_description(grid.description);
  to.set_field_columns(from.field_columns);
  to.set_example_parameter(from.example_parameter);
}

GridRow take(const v1::Grid& from) {
  constexpr std::array kTypes = {met::GridType::RegularLatLon,   met::GridType::RotatedLatLon,
                                 met::GridType::Lambert,         met::GridType::PolarStereographic,
                                 met::GridType::Mercator,        met::GridType::RegularGaussian,
                                 met::GridType::ReducedGaussian, met::GridType::ReducedLatLon,
                                 met::GridType::Curvilinear,     met::GridType::Unlocated};
  GridRow row;
  row.run = take(from.run());
  row.summary = from.summary();
  met::Grid& grid = row.grid;
  for (const met::GridType type : kTypes) {
    if (met::grid_type_name(type) == from.type()) grid.type = type;
  }
  grid.columns = from.columns();
  grid.rows = from.rows();
  grid.points = from.points();
  grid.first_latitude = from.first_latitude();
  grid.first_longitude = from.first_longitude();
  grid.last_latitude = from.last_latitude();
  grid.last_longitude = from.last_longitude();
  grid.column_step = from.column_step();
  grid.row_step = from.row_step();
  grid.standard_longitude = from.standard_longitude();
  grid.true_latitude1 = from.true_latitude1();
  grid.true_latitude2 = from.true_latitude2();
  grid.south_pole_latitude = from.south_pole_latitude();
  grid.south_pole_longitude = from.south_pole_longitude();
  grid.gaussian_number = from.gaussian_number();
  grid.earth_semi_major = from.earth_semi_major();
  grid.earth_semi_minor = from.earth_semi_minor();
  grid.wrf_map_projection = from.wrf_map_projection();
  grid.description = from.description();
  row.field_columns = from.field_columns();
  row.example_parameter = from.example_parameter();
  return row;
}

}  // namespace nvmdb::server::wire
