#include "engine/met/grid.h"

#include <cmath>
#include <numeric>

namespace nvmdb::met {
namespace {

constexpr std::uint32_t kDefinitionVersion = 1;
constexpr std::uint64_t kPointsMax = 1ULL << 32U;
constexpr std::size_t kDescriptionMax = 4096;

bool is_reduced(GridType type) { return type == GridType::ReducedGaussian || type == GridType::ReducedLatLon; }

Status bad(const std::string& what) { return Status::invalid_argument("grid: " + what); }

Status check_numbers(const Grid& g) {
  const double numbers[] = {g.first_latitude,     g.first_longitude,      g.last_latitude,     g.last_longitude,
                            g.column_step,        g.row_step,             g.rotation_angle,    g.south_pole_latitude,
                            g.south_pole_longitude, g.standard_longitude, g.true_latitude1,    g.true_latitude2,
                            g.earth_semi_major,   g.earth_semi_minor,     g.pole_latitude,     g.pole_longitude,
                            g.centre_latitude,    g.centre_longitude};
  for (const double number : numbers) {
    if (!std::isfinite(number)) return bad("a number of the definition is not finite");
  }
  for (const double latitude : {g.first_latitude, g.last_latitude}) {
    if (g.type != GridType::Unlocated && std::fabs(latitude) > 90.0 + 1e-6) {
      return bad("latitude " + std::to_string(latitude) + " is outside -90..90");
    }
  }
  if (g.earth_semi_major < 1e6 || g.earth_semi_minor < 1e6 || g.earth_semi_major > 1e8 || g.earth_semi_minor > 1e8) {
    return bad("earth axes " + std::to_string(g.earth_semi_major) + ", " + std::to_string(g.earth_semi_minor) +
               " m are not those of the earth");
  }
  if (g.column_step < 0 || g.row_step < 0) return bad("a negative step between points");
  return Status::ok();
}

}  // namespace

std::string_view grid_type_name(GridType type) {
  switch (type) {
    case GridType::RegularLatLon: return "regular_ll";
    case GridType::RotatedLatLon: return "rotated_ll";
    case GridType::Lambert: return "lambert";
    case GridType::PolarStereographic: return "polar_stereographic";
    case GridType::Mercator: return "mercator";
    case GridType::RegularGaussian: return "regular_gg";
    case GridType::ReducedGaussian: return "reduced_gg";
    case GridType::ReducedLatLon: return "reduced_ll";
    case GridType::Curvilinear: return "curvilinear";
    case GridType::Unlocated: return "unlocated";
  }
  return "unlocated";
}

Bytes Grid::encode_definition() const {
  ByteWriter out;
  out.put(kDefinitionVersion);
  out.put(static_cast<std::uint32_t>(type));
  out.put(columns);
  out.put(rows);
  out.put(points);
  for (const double number :
       {first_latitude, first_longitude, last_latitude, last_longitude, column_step, row_step, south_pole_latitude,
        south_pole_longitude, rotation_angle, standard_longitude, true_latitude1, true_latitude2, earth_semi_major,
        earth_semi_minor, pole_latitude, pole_longitude, centre_latitude, centre_longitude}) {
    out.put(number);
  }
  out.put(gaussian_number);
  out.put(wrf_map_projection);
  out.put(static_cast<std::uint8_t>(south_pole_on_plane));
  out.put(static_cast<std::uint8_t>(wind_relative_to_grid));
  out.put(static_cast<std::uint32_t>(row_lengths.size()));
  for (const std::uint32_t length : row_lengths) out.put(length);
  out.put_string(description);
  return out.take();
}

Result<Grid> Grid::decode_definition(ByteSpan bytes) {
  ByteReader in(bytes);
  const auto version = in.get<std::uint32_t>();
  if (version != kDefinitionVersion) {
    return Status::corruption("grid definition: expected version " + std::to_string(kDefinitionVersion) + ", found " +
                              std::to_string(version));
  }
  Grid g;
  g.type = static_cast<GridType>(in.get<std::uint32_t>());
  g.columns = in.get<std::uint32_t>();
  g.rows = in.get<std::uint32_t>();
  g.points = in.get<std::uint64_t>();
  for (double* number :
       {&g.first_latitude, &g.first_longitude, &g.last_latitude, &g.last_longitude, &g.column_step, &g.row_step,
        &g.south_pole_latitude, &g.south_pole_longitude, &g.rotation_angle, &g.standard_longitude, &g.true_latitude1,
        &g.true_latitude2, &g.earth_semi_major, &g.earth_semi_minor, &g.pole_latitude, &g.pole_longitude,
        &g.centre_latitude, &g.centre_longitude}) {
    *number = in.get<double>();
  }
  g.gaussian_number = in.get<std::uint32_t>();
  g.wrf_map_projection = in.get<std::int32_t>();
  g.south_pole_on_plane = in.get<std::uint8_t>() != 0;
  g.wind_relative_to_grid = in.get<std::uint8_t>() != 0;
  const auto lengths = in.get<std::uint32_t>();
  if (lengths > in.remaining() / sizeof(std::uint32_t)) return Status::corruption("grid definition: too many rows");
  g.row_lengths.resize(lengths);
  for (std::uint32_t& length : g.row_lengths) length = in.get<std::uint32_t>();
  g.description = in.get_string();
  if (!in.complete()) return Status::corruption("grid definition: " + std::to_string(bytes.size()) + " bytes do not parse");
  return g;
}

Status Grid::validate() const {
  if (grid_type_name(type) == "unlocated" && type != GridType::Unlocated) {
    return bad("unknown type " + std::to_string(static_cast<unsigned>(type)));
  }
  if (points == 0 || points > kPointsMax) return bad("number of points " + std::to_string(points) + " is out of range");
  if (is_reduced(type)) {
    if (row_lengths.size() != rows) {
      return bad("expected " + std::to_string(rows) + " row lengths, found " + std::to_string(row_lengths.size()));
    }
    const std::uint64_t sum = std::accumulate(row_lengths.begin(), row_lengths.end(), std::uint64_t{0});
    if (sum != points) return bad("row lengths add up to " + std::to_string(sum) + ", expected " + std::to_string(points));
  } else {
    if (!row_lengths.empty()) return bad("row lengths on a grid that is not reduced");
    if (std::uint64_t{columns} * rows != points) {
      return bad(std::to_string(columns) + " x " + std::to_string(rows) + " is not " + std::to_string(points) + " points");
    }
  }
  const std::uint64_t positions = type == GridType::Curvilinear ? points : 0;
  if (latitudes.size() != positions || longitudes.size() != positions) {
    return bad("expected " + std::to_string(positions) + " positions, found " + std::to_string(latitudes.size()) +
               " latitudes and " + std::to_string(longitudes.size()) + " longitudes");
  }
  if (description.size() > kDescriptionMax) return bad("description is too long");
  if ((type == GridType::RegularGaussian || type == GridType::ReducedGaussian) &&
      (gaussian_number == 0 || gaussian_number > 100'000)) {
    return bad("Gaussian number " + std::to_string(gaussian_number) + " is out of range");
  }
  return check_numbers(*this);
}

std::string Grid::summary() const {
  std::string text(grid_type_name(type));
  if (is_reduced(type)) {
    return text + " " + std::to_string(points) + " points in " + std::to_string(rows) + " rows";
  }
  if (type == GridType::Unlocated && rows == 1) return text + " " + std::to_string(points) + " points";
  return text + " " + std::to_string(columns) + " x " + std::to_string(rows);
}

}  // namespace nvmdb::met
