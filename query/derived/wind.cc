#include "query/derived/wind.h"

#include <cmath>
#include <limits>

#include "query/derived/constants.h"
#include "query/derived/definition.h"

namespace nvmdb::query::derived {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Degrees east of `from`, -180 to 180.
double degrees_east(double longitude, double from) {
  return std::remainder(longitude - from, 360.0);
}

/// Constant of the cone, negative around the south pole.
double cone(double latitude1, double latitude2) {
  if (std::fabs(latitude1 - latitude2) < 1e-6) return std::sin(latitude1 * kDegree);
  const auto tangent = [](double latitude) { return std::tan(0.25 * kPi - 0.5 * latitude * kDegree); };
  return std::log(std::cos(latitude1 * kDegree) / std::cos(latitude2 * kDegree)) /
         std::log(tangent(latitude1) / tangent(latitude2));
}

/// Bearing of the point (to_latitude, to_longitude) along the great circle.
double bearing_to(double latitude, double longitude, double to_latitude, double to_longitude) {
  const double east = (to_longitude - longitude) * kDegree;
  const double from = latitude * kDegree;
  const double to = to_latitude * kDegree;
  return std::atan2(std::sin(east) * std::cos(to),
                    std::cos(from) * std::sin(to) - std::sin(from) * std::cos(to) * std::cos(east));
}

double wrf_bearing(const met::Grid& grid, double longitude) {
  const double east = degrees_east(longitude, grid.standard_longitude) * kDegree;
  switch (grid.wrf_map_projection) {
    case 1:
      return east * cone(grid.true_latitude1, grid.true_latitude2);
    case 2:
      return grid.true_latitude1 < 0 ? -east : east;
    case 0:
    case 3:
      return 0;
    case 6:
      return grid.pole_latitude == 90 ? 0 : kNan;
    default:
      return kNan;
  }
}

struct Wind {
  double u = 0;
  double v = 0;
};

/// The wind towards true east and north. Slots 2 and 3, where there are any: WRF's SINALPHA and COSALPHA,
/// asked only where the definition of the grid does not say enough.
Wind earth_wind(const Block& b, std::size_t i) {
  const double bearing = grid_north_bearing(*b.grid, b.latitudes[i], b.longitudes[i]);
  double sine = std::sin(bearing);
  double cosine = std::cos(bearing);
  if (std::isnan(bearing) && b.slots.size() > 3 && b.has(2) && b.has(3)) {
    sine = -b.at(2, i);
    cosine = b.at(3, i);
  }
  const double u = b.at(0, i);
  const double v = b.at(1, i);
  return {u * cosine + v * sine, v * cosine - u * sine};
}

template <auto Formula>
void each(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = Formula(block, i);
}

constexpr auto kFirst = [](const Block& b, std::size_t i) { return b.at(0, i); };
constexpr auto kSpeed = [](const Block& b, std::size_t i) { return std::hypot(b.at(0, i), b.at(1, i)); };
constexpr auto kGridDirection = [](const Block& b, std::size_t i) {
  return direction_from(b.at(0, i), b.at(1, i));
};
constexpr auto kEarthU = [](const Block& b, std::size_t i) { return earth_wind(b, i).u; };
constexpr auto kEarthV = [](const Block& b, std::size_t i) { return earth_wind(b, i).v; };
constexpr auto kEarthDirection = [](const Block& b, std::size_t i) {
  const Wind wind = earth_wind(b, i);
  return direction_from(wind.u, wind.v);
};

// Slots of the vorticities: those of each variable lie one after the other.
constexpr std::size_t kU = 0;  // north-minus, north-plus, south-minus, south-plus
constexpr std::size_t kV = 4;  // east-minus, east-plus, west-minus, west-plus
constexpr std::size_t kMapU = 8;
constexpr std::size_t kMapV = 12;
constexpr std::size_t kMapM = 16;
constexpr std::size_t kCoriolis = 17;
constexpr std::size_t kAbove = 18;   // U, V, T, P, PB above
constexpr std::size_t kBelow = 23;   // and below
constexpr std::size_t kAround = 28;  // T north, south, east, west

void add_sides(std::vector<Input>& inputs, std::string_view name, Span span, bool along_rows) {
  for (const std::int8_t offset : {std::int8_t{1}, std::int8_t{-1}}) {
    for (const Side side : {Side::Minus, Side::Plus}) {
      inputs.push_back(
          {name, span, along_rows ? offset : std::int8_t{0}, along_rows ? std::int8_t{0} : offset, side});
    }
  }
}

std::vector<Input> vorticity_inputs() {
  std::vector<Input> inputs;
  add_sides(inputs, "U", Span::Level, true);
  add_sides(inputs, "V", Span::Level, false);
  add_sides(inputs, "MAPFAC_U", Span::Surface, true);
  add_sides(inputs, "MAPFAC_V", Span::Surface, false);
  inputs.push_back({"MAPFAC_M", Span::Surface});
  inputs.push_back({"F", Span::Surface});
  return inputs;
}

std::vector<Input> potential_vorticity_inputs() {
  std::vector<Input> inputs = vorticity_inputs();
  for (const Span span : {Span::Above, Span::Below}) {
    for (const std::string_view name : {"U", "V", "T", "P", "PB"}) inputs.push_back({name, span});
  }
  inputs.push_back({"T", Span::Level, 1, 0});
  inputs.push_back({"T", Span::Level, -1, 0});
  inputs.push_back({"T", Span::Level, 0, 1});
  inputs.push_back({"T", Span::Level, 0, -1});
  return inputs;
}

/// Source: the curl in map coordinates, m^2 (d(v/m)/dx - d(u/m)/dy) + f, centred but at the edges of the
/// grid, as NCL's wrf_avo. Units: s-1.
double absolute_vorticity(const Block& b, std::size_t i) {
  const auto sum = [&](std::size_t wind, std::size_t map) {
    return b.at(wind, i) / b.at(map, i) + b.at(wind + 1, i) / b.at(map + 1, i);
  };
  const double scale = 0.5 * b.at(kMapM, i) * b.at(kMapM, i);
  const double du = sum(kU, kMapU) - sum(kU + 2, kMapU + 2);
  const double dv = sum(kV, kMapV) - sum(kV + 2, kMapV + 2);
  return scale *
             (dv / (b.cells_across(i) * b.grid->column_step) - du / (b.cells_along(i) * b.grid->row_step)) +
         b.at(kCoriolis, i);
}

constexpr auto kVorticity = [](const Block& b, std::size_t i) { return 1e5 * absolute_vorticity(b, i); };
/// Source: Ertel's potential vorticity in pressure coordinates with the horizontal gradients taken along
/// model levels, as NCL's wrf_pvo. Units: 1e-6 K m2 kg-1 s-1.
constexpr auto kPotentialVorticity = [](const Block& b, std::size_t i) {
  const auto rise = [&](std::size_t slot) { return b.at(kAbove + slot, i) - b.at(kBelow + slot, i); };
  const double dp = rise(3) + rise(4);
  const double map = b.at(kMapM, i);
  const double dx = b.cells_across(i) * b.grid->column_step / map;
  const double dy = b.cells_along(i) * b.grid->row_step / map;
  const double theta_y = (b.at(kAround, i) - b.at(kAround + 1, i)) / dy;
  const double theta_x = (b.at(kAround + 2, i) - b.at(kAround + 3, i)) / dx;
  return -1e6 * kGravity * (rise(2) * absolute_vorticity(b, i) - rise(1) * theta_x + rise(0) * theta_y) / dp;
};

Definition wind(std::string_view name, std::string_view units, std::string_view long_name, Place place,
                std::vector<Input> inputs, void (*compute)(const Block&, std::span<double>),
                bool needs_positions, bool is_direction = false) {
  return {name, units, long_name, "wrf", place, std::move(inputs), compute, needs_positions, is_direction};
}

}  // namespace

double grid_north_bearing(const met::Grid& grid, double latitude, double longitude) {
  if (!grid.wind_relative_to_grid) return 0;
  switch (grid.type) {
    case met::GridType::Curvilinear:
      return wrf_bearing(grid, longitude);
    case met::GridType::Lambert:
      return degrees_east(longitude, grid.standard_longitude) * kDegree *
             cone(grid.true_latitude1, grid.true_latitude2);
    case met::GridType::PolarStereographic: {
      const double east = degrees_east(longitude, grid.standard_longitude) * kDegree;
      return grid.south_pole_on_plane ? -east : east;
    }
    case met::GridType::RotatedLatLon:
      return bearing_to(latitude, longitude, -grid.south_pole_latitude, grid.south_pole_longitude + 180.0);
    default:
      return 0;
  }
}

double direction_from(double u, double v) {
  if (u == 0 && v == 0) return kNan;
  const double degrees = 270.0 - std::atan2(v, u) / kDegree;
  return degrees >= 360.0 ? degrees - 360.0 : degrees;
}

std::vector<Definition> wind_definitions() {
  const std::vector<Input> levels{{"U"}, {"V"}};
  const std::vector<Input> levels_rotated{{"U"},
                                          {"V"},
                                          {"SINALPHA", Span::Surface, 0, 0, Side::Mean, true},
                                          {"COSALPHA", Span::Surface, 0, 0, Side::Mean, true}};
  std::vector<Input> surface = levels_rotated;
  surface[0] = {"U10", Span::Surface};
  surface[1] = {"V10", Span::Surface};
  const std::vector<Input> surface_plain(surface.begin(), surface.begin() + 2);
  std::vector<Definition> list;
  list.push_back(wind("ua", "m s-1", "x wind at cell centres", Place::Levels, {{"U"}}, each<kFirst>, false));
  list.push_back(wind("va", "m s-1", "y wind at cell centres", Place::Levels, {{"V"}}, each<kFirst>, false));
  list.push_back(wind("wa", "m s-1", "z wind at cell centres", Place::Levels, {{"W"}}, each<kFirst>, false));
  for (const bool at_10m : {false, true}) {
    const Place place = at_10m ? Place::Surface : Place::Levels;
    const std::vector<Input>& plain = at_10m ? surface_plain : levels;
    const std::vector<Input>& rotated = at_10m ? surface : levels_rotated;
    list.push_back(wind(at_10m ? "uvmet10_u" : "uvmet_u", "m s-1", "eastward wind", place, rotated,
                        each<kEarthU>, true));
    list.push_back(wind(at_10m ? "uvmet10_v" : "uvmet_v", "m s-1", "northward wind", place, rotated,
                        each<kEarthV>, true));
    list.push_back(
        wind(at_10m ? "wspd10" : "wspd", "m s-1", "wind speed", place, plain, each<kSpeed>, false));
    list.push_back(wind(at_10m ? "uvmet10_wspd" : "uvmet_wspd", "m s-1", "wind speed", place, plain,
                        each<kSpeed>, false));
    list.push_back(wind(at_10m ? "wdir10" : "wdir", "degree", "wind direction in the grid's axes", place,
                        plain, each<kGridDirection>, false, true));
    list.push_back(wind(at_10m ? "uvmet10_wdir" : "uvmet_wdir", "degree", "wind direction from true north",
                        place, rotated, each<kEarthDirection>, true, true));
  }
  list.push_back(wind("avo", "1e-5 s-1", "absolute vorticity", Place::Levels, vorticity_inputs(),
                      each<kVorticity>, false));
  list.push_back(wind("pvo", "1e-6 K m2 kg-1 s-1", "potential vorticity", Place::Levels,
                      potential_vorticity_inputs(), each<kPotentialVorticity>, false));
  return list;
}

}  // namespace nvmdb::query::derived
