#include "ingest/decode/netcdf/positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "ingest/decode/netcdf/values.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest::netcdf {
namespace {

constexpr double kWrfEarthRadius = 6370000;
constexpr double kUnset = 1e19;  ///< WRF leaves 1e20 in attributes that were not set

bool is_row_name(std::string_view name) {
  constexpr std::string_view kNames[] = {"lat",  "latitude", "y",  "rlat",     "ny",
                                         "nlat", "j",        "yc", "Latitude", "south_north_subgrid"};
  return name.starts_with("south_north") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_column_name(std::string_view name) {
  constexpr std::string_view kNames[] = {"lon",  "longitude", "x",  "rlon",      "nx",
                                         "nlon", "i",         "xc", "Longitude", "west_east_subgrid"};
  return name.starts_with("west_east") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// Names of position arrays, the better first.
using NamePair = std::array<const char*, 2>;
std::vector<NamePair> known_names(std::string_view rows, std::string_view columns) {
  if (rows == "south_north" && columns == "west_east") return {{"XLAT", "XLONG"}, {"XLAT_M", "XLONG_M"}};
  if (rows == "south_north" && columns == "west_east_stag") return {{"XLAT_U", "XLONG_U"}};
  if (rows == "south_north_stag" && columns == "west_east") return {{"XLAT_V", "XLONG_V"}};
  if (rows == "south_north_stag" && columns == "west_east_stag") return {{"XLAT_C", "XLONG_C"}};
  if (rows == "south_north_subgrid" && columns == "west_east_subgrid") return {{"FXLAT", "FXLONG"}};
  return {{"lat", "lon"},
          {"latitude", "longitude"},
          {"XLAT", "XLONG"},
          {"nav_lat", "nav_lon"},
          {"Latitude", "Longitude"}};
}

bool has_units(const Variable& variable, std::string_view direction) {
  const std::string units = attribute_text(variable.attributes, "units");
  return units.starts_with("degree") && units.find(direction) != std::string::npos;
}

/// Ok when the arrays can be positions.
Status check_positions(const Positions& positions) {
  bool same = positions.latitudes.size() > 1;
  for (std::size_t i = 0; i < positions.latitudes.size(); ++i) {
    const float latitude = positions.latitudes[i];
    const float longitude = positions.longitudes[i];
    if (!(std::fabs(latitude) <= 90.0F) || !(std::fabs(longitude) <= 1080.0F))
      return Status::invalid_argument("the positions of the file are not latitudes and longitudes (point " +
                                      std::to_string(i) + ": " + std::to_string(latitude) + ", " +
                                      std::to_string(longitude) + ")");
    same = same && latitude == positions.latitudes[0] && longitude == positions.longitudes[0];
  }
  if (same) return Status::invalid_argument("all positions of the file are the same, as in idealised runs");
  return Status::ok();
}

/// Distance between neighbours when all are alike (within 1 %, for rounded coordinates); 0 otherwise.
double even_step(const std::vector<double>& axis) {
  if (axis.size() < 2) return 0;
  const double step = (axis.back() - axis.front()) / static_cast<double>(axis.size() - 1);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    if (!(std::fabs(axis[i] - (axis.front() + step * static_cast<double>(i))) <= 0.01 * std::fabs(step)))
      return 0;
  }
  return step;
}

Positions expand_axes(const std::vector<double>& latitudes, const std::vector<double>& longitudes) {
  Positions positions;
  for (const double latitude : latitudes) {
    for (const double longitude : longitudes) {
      positions.latitudes.push_back(static_cast<float>(latitude));
      positions.longitudes.push_back(static_cast<float>(longitude));
    }
  }
  return positions;
}

}  // namespace

met::Grid unlocated_grid(std::uint32_t rows, std::uint32_t columns, std::string why) {
  constexpr std::size_t kDescriptionMax = 1024;
  met::Grid grid;
  grid.type = met::GridType::Unlocated;
  grid.rows = rows;
  grid.columns = columns;
  grid.points = std::uint64_t{rows} * columns;
  grid.description = why.substr(0, kDescriptionMax);
  return grid;
}

bool has_horizontal_dimensions(const Dataset& dataset, const Variable& variable) {
  const std::size_t rank = variable.dimensions.size();
  if (rank < 2) return false;
  const std::string& rows = dataset.dimensions[variable.dimensions[rank - 2]].name;
  const std::string& columns = dataset.dimensions[variable.dimensions[rank - 1]].name;
  return is_row_name(rows) && is_column_name(columns);
}

bool GridMaker::lies_on(const Variable* variable, const HorizontalPair& pair) const {
  if (variable == nullptr || !is_numeric(variable->type) || !variable->unreadable.empty()) return false;
  std::vector<std::uint32_t> dimensions = variable->dimensions;
  if (dimensions.size() == 3 && dimensions[0] == time_dimension_) dimensions.erase(dimensions.begin());
  return dimensions == std::vector{pair.row_dimension, pair.column_dimension};
}

GridMaker::Source GridMaker::find(const HorizontalPair& pair) const {
  const Dataset& dataset = source_.dataset();
  const std::string& rows = dataset.dimensions[pair.row_dimension].name;
  const std::string& columns = dataset.dimensions[pair.column_dimension].name;
  for (const NamePair& names : known_names(rows, columns)) {
    const Variable* latitude = dataset.find_variable(names[0]);
    const Variable* longitude = dataset.find_variable(names[1]);
    if (lies_on(latitude, pair) && lies_on(longitude, pair)) return {latitude, longitude, false};
  }
  Source axes;
  Source arrays;
  for (const Variable& variable : dataset.variables) {
    const bool plain = is_numeric(variable.type) && variable.unreadable.empty();
    const bool on_rows = plain && variable.dimensions == std::vector{pair.row_dimension};
    const bool on_columns = plain && variable.dimensions == std::vector{pair.column_dimension};
    if (on_rows && (has_units(variable, "north") || variable.name == "lat" || variable.name == "latitude"))
      axes.latitude = &variable;
    if (on_columns && (has_units(variable, "east") || variable.name == "lon" || variable.name == "longitude"))
      axes.longitude = &variable;
    // CLAT is the latitude in the computing system of the model, which for a rotated grid is not the true
    // one.
    if (is_wrf_ || !lies_on(&variable, pair)) continue;
    if (has_units(variable, "north") && arrays.latitude == nullptr) arrays.latitude = &variable;
    if (has_units(variable, "east") && arrays.longitude == nullptr) arrays.longitude = &variable;
  }
  if (arrays.latitude != nullptr && arrays.longitude != nullptr) return arrays;
  axes.one_dimensional = true;
  return axes.latitude != nullptr && axes.longitude != nullptr ? axes : Source{};
}

/// The dimensions of the cell centres that a staggered pair lies around.
HorizontalPair GridMaker::centre_of(const HorizontalPair& pair) const {
  HorizontalPair centre = pair;
  const std::vector<Dimension>& dimensions = source_.dataset().dimensions;
  for (std::uint32_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[pair.row_dimension].name == "south_north_stag" && dimensions[i].name == "south_north")
      centre.row_dimension = i;
    if (dimensions[pair.column_dimension].name == "west_east_stag" && dimensions[i].name == "west_east")
      centre.column_dimension = i;
  }
  return centre;
}

bool GridMaker::is_fixed(const HorizontalPair& pair) const {
  for (const HorizontalPair& candidate : {pair, centre_of(pair)}) {
    const Source found = find(candidate);
    for (const Variable* variable : {found.latitude, found.longitude}) {
      if (variable != nullptr && variable->dimensions[0] == time_dimension_) return false;
    }
  }
  return true;
}

Result<std::vector<double>> GridMaker::read(const Variable& variable, std::uint64_t frame) {
  const Dataset& dataset = source_.dataset();
  const bool in_frames = !variable.dimensions.empty() && variable.dimensions[0] == time_dimension_;
  const std::uint64_t count = dataset.elements(variable, in_frames ? 1 : 0);
  const std::uint32_t number = dataset.index_of(variable);
  const std::uint64_t first = in_frames ? frame * count : 0;
  NVMDB_TRY(source_.check_present(number, first, count));
  std::vector<std::byte> raw(count * value_bytes(variable.type));
  NVMDB_TRY(source_.read(number, first, raw));
  return convert_to_doubles(plan_conversion(variable, source_.is_big_endian(number)), raw);
}

Result<Positions> GridMaker::read_positions(const Source& found, std::uint64_t frame) {
  NVMDB_ASSIGN(const std::vector<double> latitudes, read(*found.latitude, frame));
  NVMDB_ASSIGN(const std::vector<double> longitudes, read(*found.longitude, frame));
  Positions positions;
  positions.latitudes.assign(latitudes.size(), 0);
  positions.longitudes.assign(longitudes.size(), 0);
  std::transform(latitudes.begin(), latitudes.end(), positions.latitudes.begin(),
                 [](double v) { return static_cast<float>(v); });
  std::transform(longitudes.begin(), longitudes.end(), positions.longitudes.begin(),
                 [](double v) { return static_cast<float>(v); });
  NVMDB_TRY(check_positions(positions));
  return positions;
}

Result<Positions> GridMaker::derive(const HorizontalPair& pair, std::uint64_t frame) {
  const std::vector<Dimension>& dimensions = source_.dataset().dimensions;
  const HorizontalPair centre = centre_of(pair);
  const std::string shape =
      dimensions[pair.row_dimension].name + " x " + dimensions[pair.column_dimension].name;
  const Source found = centre == pair ? Source{} : find(centre);
  if (found.latitude == nullptr || found.one_dimensional)
    return Status::invalid_argument("the file has no positions for " + shape);
  const std::uint64_t rows = dimensions[centre.row_dimension].size;
  const std::uint64_t columns = dimensions[centre.column_dimension].size;
  const bool more_rows = pair.row_dimension != centre.row_dimension;
  const bool more_columns = pair.column_dimension != centre.column_dimension;
  if (dimensions[pair.row_dimension].size != rows + (more_rows ? 1 : 0) ||
      dimensions[pair.column_dimension].size != columns + (more_columns ? 1 : 0))
    return Status::invalid_argument("the file has no positions for " + shape +
                                    ", and its size does not fit the cell centres");
  NVMDB_ASSIGN(Positions positions, read_positions(found, frame));
  if (more_columns) positions = stagger_columns(positions, rows, columns);
  if (more_rows) positions = stagger_rows(positions, rows, columns + (more_columns ? 1 : 0));
  NVMDB_TRY(check_positions(positions));
  return positions;
}

void GridMaker::set_projection(met::Grid& grid) const {
  if (!is_wrf_) return;
  const std::vector<Attribute>& attributes = source_.dataset().attributes;
  const auto number = [&](const char* name, double otherwise) {
    const std::optional<double> value = attribute_number(attributes, name);
    return value && std::isfinite(*value) && std::fabs(*value) < kUnset ? *value : otherwise;
  };
  grid.earth_semi_major = kWrfEarthRadius;
  grid.earth_semi_minor = kWrfEarthRadius;
  const double projection = number("MAP_PROJ", -1);
  grid.wrf_map_projection = std::fabs(projection) < 1e6 ? static_cast<std::int32_t>(projection) : -1;
  grid.centre_latitude = number("CEN_LAT", number("MOAD_CEN_LAT", 0));
  grid.centre_longitude = number("CEN_LON", 0);
  grid.standard_longitude = number("STAND_LON", grid.centre_longitude);
  grid.true_latitude1 = number("TRUELAT1", 0);
  grid.true_latitude2 = number("TRUELAT2", grid.true_latitude1);
  grid.pole_latitude = number("POLE_LAT", 90);
  grid.pole_longitude = number("POLE_LON", 0);
  grid.column_step = std::fabs(number("DX", 0));
  grid.row_step = std::fabs(number("DY", 0));
  grid.south_pole_on_plane = grid.wrf_map_projection == 2 && grid.true_latitude1 < 0;
  grid.wind_relative_to_grid = true;
}

Result<PlacedGrid> GridMaker::from_axes(const Source& found, const HorizontalPair& pair,
                                        std::uint64_t frame) {
  NVMDB_ASSIGN(const std::vector<double> latitudes, read(*found.latitude, frame));
  NVMDB_ASSIGN(const std::vector<double> longitudes, read(*found.longitude, frame));
  PlacedGrid placed;
  met::Grid& grid = placed.grid;
  grid.rows = narrow<std::uint32_t>(source_.dataset().dimensions[pair.row_dimension].size);
  grid.columns = narrow<std::uint32_t>(source_.dataset().dimensions[pair.column_dimension].size);
  grid.points = std::uint64_t{grid.rows} * grid.columns;
  const double row_step = even_step(latitudes);
  const double column_step = even_step(longitudes);
  const bool on_earth =
      std::all_of(latitudes.begin(), latitudes.end(), [](double v) { return std::fabs(v) <= 90; });
  if (row_step != 0 && column_step > 0 && on_earth) {
    placed.rows_reversed = row_step > 0;
    grid.type = met::GridType::RegularLatLon;
    grid.first_latitude = std::max(latitudes.front(), latitudes.back());
    grid.last_latitude = std::min(latitudes.front(), latitudes.back());
    grid.first_longitude = longitudes.front();
    grid.last_longitude = longitudes.back();
    grid.row_step = std::fabs(row_step);
    grid.column_step = column_step;
    return placed;
  }
  Positions positions = expand_axes(latitudes, longitudes);
  NVMDB_TRY(check_positions(positions));
  grid.type = met::GridType::Curvilinear;
  grid.latitudes = std::move(positions.latitudes);
  grid.longitudes = std::move(positions.longitudes);
  return placed;
}

Result<PlacedGrid> GridMaker::make(const HorizontalPair& pair, std::uint64_t frame) {
  const std::vector<Dimension>& dimensions = source_.dataset().dimensions;
  const auto rows = narrow<std::uint32_t>(dimensions[pair.row_dimension].size);
  const auto columns = narrow<std::uint32_t>(dimensions[pair.column_dimension].size);
  const Source found = find(pair);
  PlacedGrid placed;
  Status why;
  if (found.one_dimensional) {
    Result<PlacedGrid> axes = from_axes(found, pair, frame);
    if (axes.is_ok()) return axes;
    why = axes.status();
  } else {
    Result<Positions> positions =
        found.latitude != nullptr ? read_positions(found, frame) : derive(pair, frame);
    if (positions.is_ok()) {
      placed.grid.type = met::GridType::Curvilinear;
      placed.grid.rows = rows;
      placed.grid.columns = columns;
      placed.grid.points = std::uint64_t{rows} * columns;
      placed.grid.latitudes = std::move(positions->latitudes);
      placed.grid.longitudes = std::move(positions->longitudes);
    }
    why = positions.status();
  }
  if (why.code() == Code::IoError || why.code() == Code::Corruption) return why;
  if (!why.is_ok()) placed.grid = unlocated_grid(rows, columns, why.message());
  set_projection(placed.grid);
  if (placed.grid.type == met::GridType::Curvilinear) {
    placed.grid.first_latitude = double{placed.grid.latitudes.front()};
    placed.grid.first_longitude = double{placed.grid.longitudes.front()};
    placed.grid.last_latitude = double{placed.grid.latitudes.back()};
    placed.grid.last_longitude = double{placed.grid.longitudes.back()};
  }
  return placed;
}

}  // namespace nvmdb::ingest::netcdf
