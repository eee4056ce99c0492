#include "ingest/decode/grib/grid_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::uint32_t kMissing4 = 0xffffffffU;
constexpr double kSphereGrib1 = 6367470;
constexpr double kSphereDefault = 6371229;

struct Axes {
  double major;
  double minor;
};

/// scaled / 10^factor from a factor octet and four octets; 0 when missing.
double scaled_axis(ByteSpan section, std::size_t at) {
  const std::uint32_t factor = octet1(section, at);
  const std::uint32_t value = octet4(section, at + 1);
  if (value == kMissing4) return 0;
  const int exponent =
      factor == 255 ? 0 : static_cast<int>(factor & 0x7fU) * ((factor & 0x80U) != 0 ? -1 : 1);
  return static_cast<double>(value) / std::pow(10.0, exponent);
}

Axes read_axes2(ByteSpan section) {
  if (section.size() < 30) return {kSphereDefault, kSphereDefault};
  switch (octet1(section, 14)) {
    case 0:
      return {kSphereGrib1, kSphereGrib1};
    case 1:
      return {scaled_axis(section, 15), scaled_axis(section, 15)};
    case 2:
      return {6378160.0, 6356775.0};
    case 3:
      return {scaled_axis(section, 20) * 1000, scaled_axis(section, 25) * 1000};
    case 4:
      return {6378137.0, 6356752.314140};
    case 5:
      return {6378137.0, 6356752.314245};
    case 7:
      return {scaled_axis(section, 20), scaled_axis(section, 25)};
    case 8:
      return {6371200.0, 6371200.0};
    case 9:
      return {6377563.396, 6356256.909};
    default:
      return {kSphereDefault, kSphereDefault};
  }
}

/// Source: GRIB2 code table 3.2, GRIB1 code table 7.
void read_earth(const FieldSections& sections, met::Grid& grid) {
  Axes axes{kSphereGrib1, kSphereGrib1};
  if (sections.edition == 2) {
    axes = read_axes2(sections.grid);
  } else if ((octet1(sections.grid, 16) & 0x40U) != 0) {
    axes = {6378160.0, 6356775.0};
  }
  // Producers leave the axes out where they think nobody needs them.
  const auto plausible = [](double axis) { return axis > 1e6 && axis < 1e8; };
  if (!plausible(axes.major) || !plausible(axes.minor)) axes = {kSphereDefault, kSphereDefault};
  grid.earth_semi_major = axes.major;
  grid.earth_semi_minor = axes.minor;
}

double real(const Handle& handle, const char* key) {
  return handle.real(key).value_or(std::nan(""));
}

Status read_corners(const Handle& handle, ScanningMode mode, met::Grid& grid) {
  grid.first_latitude = real(handle, "latitudeOfFirstGridPointInDegrees");
  grid.first_longitude = real(handle, "longitudeOfFirstGridPointInDegrees");
  grid.last_latitude = real(handle, "latitudeOfLastGridPointInDegrees");
  grid.last_longitude = real(handle, "longitudeOfLastGridPointInDegrees");
  for (const double number :
       {grid.first_latitude, grid.first_longitude, grid.last_latitude, grid.last_longitude}) {
    if (!std::isfinite(number) || std::fabs(number) > 1000)
      return Status::invalid_argument("its corners are not given");
  }
  if (mode.rows_northward) std::swap(grid.first_latitude, grid.last_latitude);
  if (mode.columns_westward) std::swap(grid.first_longitude, grid.last_longitude);
  if (grid.rows > 1 && grid.first_latitude <= grid.last_latitude) {
    return Status::invalid_argument("its latitudes contradict its scanning mode");
  }
  return Status::ok();
}

/// Degrees from first to last going east; a full circle when both are equal and there are several columns.
double eastward_span(double first, double last) {
  const double span = std::fmod(last - first, 360.0);
  return span <= 0 ? span + 360 : span;
}

/// Distance between neighbours. First and last point are coded as finely as the increment, so their distance
/// gives it more exactly (1/6 degree); the increment decides where they disagree, and a ring is divided
/// evenly.
double column_step(const Handle& handle, const met::Grid& grid) {
  if (grid.columns < 2) return 0;
  const double gaps = grid.columns - 1;
  const double span = eastward_span(grid.first_longitude, grid.last_longitude);
  const double given = handle.integer("ijDirectionIncrementGiven").value_or(1) == 0
                           ? std::nan("")
                           : std::fabs(real(handle, "iDirectionIncrementInDegrees"));
  const double ring = 360.0 / grid.columns;
  double step = span / gaps;
  if (std::isfinite(given) && given > 0 && given < 360 && std::fabs(step - given) * gaps > given / 2)
    step = given;
  return std::fabs(step - ring) * gaps < step / 100 ? ring : step;
}

double row_step(const met::Grid& grid) {
  return grid.rows < 2 ? 0 : (grid.first_latitude - grid.last_latitude) / (grid.rows - 1);
}

Status read_lat_lon(const Handle& handle, ScanningMode mode, met::Grid& grid) {
  NVMDB_TRY(read_corners(handle, mode, grid));
  grid.column_step = column_step(handle, grid);
  grid.row_step = row_step(grid);
  if (grid.type == met::GridType::RotatedLatLon) {
    grid.south_pole_latitude = real(handle, "latitudeOfSouthernPoleInDegrees");
    grid.south_pole_longitude = real(handle, "longitudeOfSouthernPoleInDegrees");
    grid.rotation_angle = handle.real("angleOfRotationInDegrees").value_or(0);
  }
  if (grid.type == met::GridType::RegularGaussian || grid.type == met::GridType::ReducedGaussian) {
    grid.gaussian_number =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(handle.integer("N").value_or(0), 0, 1 << 20));
  }
  return Status::ok();
}

Status read_projected(const Handle& handle, ScanningMode mode, met::Grid& grid) {
  grid.first_latitude = real(handle, "latitudeOfFirstGridPointInDegrees");
  grid.first_longitude = real(handle, "longitudeOfFirstGridPointInDegrees");
  const bool mercator = grid.type == met::GridType::Mercator;
  grid.column_step = std::fabs(real(handle, mercator ? "DiInMetres" : "DxInMetres"));
  grid.row_step = std::fabs(real(handle, mercator ? "DjInMetres" : "DyInMetres"));
  grid.south_pole_on_plane = (handle.integer("projectionCentreFlag").value_or(0) & 0x80) != 0;
  if (grid.type == met::GridType::Lambert) {
    grid.standard_longitude = real(handle, "LoVInDegrees");
    grid.true_latitude1 = real(handle, "Latin1InDegrees");
    grid.true_latitude2 = real(handle, "Latin2InDegrees");
  } else if (mercator) {
    if (handle.real("orientationOfTheGridInDegrees").value_or(0) != 0) {
      return Status::invalid_argument("an oblique Mercator grid is not known");
    }
    grid.true_latitude1 = real(handle, "LaDInDegrees");
    grid.standard_longitude = grid.first_longitude;
  } else {
    grid.standard_longitude = real(handle, "orientationOfTheGridInDegrees");
    const double true_latitude = std::fabs(real(handle, "LaDInDegrees"));
    grid.true_latitude1 = grid.south_pole_on_plane ? -true_latitude : true_latitude;
  }
  for (const double number : {grid.first_latitude, grid.first_longitude, grid.column_step, grid.row_step,
                              grid.standard_longitude, grid.true_latitude1, grid.true_latitude2}) {
    if (!std::isfinite(number)) return Status::invalid_argument("its projection is not given");
  }
  if (grid.column_step == 0 || grid.row_step == 0) return Status::invalid_argument("its steps are zero");
  return locate_corners(grid, mode);
}

std::optional<met::GridType> known_type(const std::string& name) {
  using met::GridType;
  for (const GridType type :
       {GridType::RegularLatLon, GridType::RotatedLatLon, GridType::Lambert, GridType::PolarStereographic,
        GridType::Mercator, GridType::RegularGaussian, GridType::ReducedGaussian, GridType::ReducedLatLon}) {
    if (name == grid_type_name(type)) return type;
  }
  return std::nullopt;
}

bool is_projected(met::GridType type) {
  return type == met::GridType::Lambert || type == met::GridType::PolarStereographic ||
         type == met::GridType::Mercator;
}
bool is_reduced(met::GridType type) {
  return type == met::GridType::ReducedGaussian || type == met::GridType::ReducedLatLon;
}

std::uint32_t dimension(const Handle& handle, const char* key, const char* other) {
  const std::int64_t value = handle.integer(key).value_or(handle.integer(other).value_or(0));
  return value > 0 && value < kMissing4 && value != 2147483647 ? static_cast<std::uint32_t>(value) : 0;
}

/// Row lengths in the message's order. Errors: InvalidArgument (they do not add up: the grid is a part of the
/// sphere and the list is of the whole), Corruption.
Result<std::vector<std::uint32_t>> read_row_lengths(const Handle& handle, std::uint64_t points) {
  NVMDB_ASSIGN(const std::vector<std::int64_t> list, handle.integers("pl"));
  std::vector<std::uint32_t> lengths;
  std::uint64_t sum = 0;
  for (const std::int64_t length : list) {
    if (length < 0 || static_cast<std::uint64_t>(length) > points)
      return Status::corruption("a row length is out of range");
    lengths.push_back(static_cast<std::uint32_t>(length));
    sum += lengths.back();
  }
  if (sum != points) {
    return Status::invalid_argument("its row lengths add up to " + std::to_string(sum) + ", it has " +
                                    std::to_string(points) + " points");
  }
  return lengths;
}

std::string number_text(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string domain_name(const std::string& type, const met::Grid& grid, const Handle& handle) {
  if (grid.type == met::GridType::ReducedGaussian) {
    const bool octahedral = handle.integer("isOctahedral").value_or(0) == 1;
    return type + (octahedral ? "_o" : "_n") + std::to_string(grid.gaussian_number);
  }
  if (grid.type == met::GridType::ReducedLatLon) {  // the octants of WAFS differ in their corner only
    return type + "_" + std::to_string(grid.points) + "_" + number_text(grid.first_latitude) + "_" +
           number_text(grid.first_longitude);
  }
  if (grid.rows == 1 && grid.type == met::GridType::Unlocated)
    return type + "_" + std::to_string(grid.points);
  return type + "_" + std::to_string(grid.columns) + "x" + std::to_string(grid.rows);
}

FieldGrid unlocated(const std::string& type, const Handle& handle, std::uint64_t points,
                    const std::string& why) {
  FieldGrid out;
  met::Grid& grid = out.grid;
  grid.type = met::GridType::Unlocated;
  grid.points = points;
  grid.columns = dimension(handle, "Ni", "Nx");
  grid.rows = dimension(handle, "Nj", "Ny");
  if (std::uint64_t{grid.columns} * grid.rows != points) {
    grid.columns = static_cast<std::uint32_t>(points);
    grid.rows = 1;
  }
  grid.description = type + ": " + why;
  out.order = PointOrder::as_stored(points);
  out.domain = domain_name(type, grid, handle);
  return out;
}

std::string why_unlocated(const std::string& type, const Handle& handle) {
  if (type != "unstructured_grid") return "positions of this kind of grid are not known";
  const std::string uuid = handle.text("uuidOfHGrid").value_or("");
  return "positions are not in the file" +
         (uuid.empty() ? "" : "; they are those of the grid with UUID " + uuid);
}

}  // namespace

Result<FieldGrid> read_grid(const FieldSections& sections, const Handle& handle, std::uint64_t points) {
  const std::string name = handle.text("gridType").value_or("unknown");
  if (sections.edition == 1 && sections.grid.empty()) {
    return unlocated(name, handle, points,
                     "the message has no grid section, only number " +
                         std::to_string(octet1(sections.product, 6)) + " of the centre's list of grids");
  }
  const auto type = known_type(name);
  if (!type) return unlocated(name, handle, points, why_unlocated(name, handle));
  const auto mode =
      ScanningMode::from_flags(static_cast<std::uint32_t>(handle.integer("scanningMode").value_or(0)));
  if (mode.staggered) return unlocated(name, handle, points, "rows offset by half a step are not supported");

  FieldGrid out;
  met::Grid& grid = out.grid;
  grid.type = *type;
  grid.points = points;
  grid.rows = dimension(handle, "Nj", "Ny");
  grid.wind_relative_to_grid = handle.integer("uvRelativeToGrid").value_or(0) == 1;
  if (is_reduced(*type)) {
    auto lengths = read_row_lengths(handle, points);
    if (!lengths.is_ok()) return unlocated(name, handle, points, lengths.status().message());
    if (lengths->size() != grid.rows || mode.columns_consecutive) {
      return unlocated(name, handle, points, "its list of row lengths does not fit its rows");
    }
    out.order = PointOrder(*lengths, mode);
    if (mode.rows_northward) std::reverse(lengths->begin(), lengths->end());
    grid.columns = *std::max_element(lengths->begin(), lengths->end());
    grid.row_lengths = std::move(*lengths);
  } else {
    grid.columns = dimension(handle, "Ni", "Nx");
    if (std::uint64_t{grid.columns} * grid.rows != points) {
      return Status::corruption("a grid of " + std::to_string(grid.columns) + " x " +
                                std::to_string(grid.rows) + " with " + std::to_string(points) + " points");
    }
    out.order = PointOrder(grid.columns, grid.rows, mode);
  }
  read_earth(sections, grid);
  Status located =
      is_projected(*type) ? read_projected(handle, mode, grid) : read_lat_lon(handle, mode, grid);
  if (is_reduced(*type)) grid.column_step = 0;
  if (located.is_ok()) located = grid.validate();
  if (!located.is_ok()) return unlocated(name, handle, points, located.message());
  out.domain = domain_name(name, grid, handle);
  return out;
}

}  // namespace nvmdb::ingest::grib
