#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::met {

enum class GridType : std::uint8_t {
  RegularLatLon = 1,
  RotatedLatLon = 2,
  Lambert = 3,
  PolarStereographic = 4,
  Mercator = 5,
  RegularGaussian = 6,
  ReducedGaussian = 7,
  ReducedLatLon = 8,
  Curvilinear = 9,    ///< positions are arrays (WRF's XLAT and XLONG); projection attributes may be known too
  Unlocated = 10,     ///< points without known positions: unstructured grids, unknown projections, plain index axes
};
[[nodiscard]] std::string_view grid_type_name(GridType type);

/// The points of a field. Values lie row by row, columns from west to east. Rows run from north to south for grids
/// from GRIB, whatever the message's scanning mode (ingest puts them so); a Curvilinear grid keeps the file's own
/// order (WRF: south to north), an Unlocated one the order of the message or file.
/// Units: degrees, metres. Longitudes as the file has them, not wrapped.
struct Grid {
  GridType type = GridType::Unlocated;
  std::uint32_t columns = 0;  ///< Ni, Nx; of a reduced grid: the longest row
  std::uint32_t rows = 0;     ///< Nj, Ny; 1 for Unlocated lists of points
  std::uint64_t points = 0;   ///< columns * rows but for reduced grids

  /// RegularLatLon, Gaussian, ReducedLatLon: true positions; RotatedLatLon: in the rotated system; projected grids:
  /// true position of the first point (north-west in the canonical order).
  double first_latitude = 0;
  double first_longitude = 0;
  double last_latitude = 0;
  double last_longitude = 0;
  /// Degrees (lat/lon kinds) or metres (projected kinds, Curvilinear with known projection); both positive.
  double column_step = 0;
  double row_step = 0;

  double south_pole_latitude = -90;  ///< RotatedLatLon
  double south_pole_longitude = 0;
  double rotation_angle = 0;

  double standard_longitude = 0;  ///< LoV of Lambert and polar stereographic; WRF STAND_LON
  double true_latitude1 = 0;      ///< Latin1, LaD
  double true_latitude2 = 0;      ///< Latin2
  bool south_pole_on_plane = false;  ///< projection centre is the south pole
  std::uint32_t gaussian_number = 0;  ///< N of a Gaussian grid
  std::vector<std::uint32_t> row_lengths;  ///< reduced grids: points of each row (pl)

  double earth_semi_major = 6371229;  ///< metres; equal axes mean a sphere
  double earth_semi_minor = 6371229;

  /// Curvilinear: WRF MAP_PROJ (0 Cartesian, 1 Lambert, 2 polar, 3 Mercator, 6 lat-lon), -1 when unknown.
  std::int32_t wrf_map_projection = -1;
  double pole_latitude = 90;  ///< WRF POLE_LAT, POLE_LON, CEN_LAT, CEN_LON, MOAD_CEN_LAT
  double pole_longitude = 0;
  double centre_latitude = 0;
  double centre_longitude = 0;
  bool wind_relative_to_grid = false;

  /// Unlocated: why there are no positions, e.g. "unstructured grid, uuid ...: positions are not in the file".
  std::string description;

  /// Curvilinear: XLAT, XLONG of every point, in the order of values. The catalogue keeps them in NVM and returns
  /// the definition without them; see engine/catalogue.h.
  std::vector<float> latitudes;
  std::vector<float> longitudes;

  /// Definition without the position arrays; the same grid gives the same bytes.
  [[nodiscard]] Bytes encode_definition() const;
  /// Errors: Corruption. Safe on hostile input.
  [[nodiscard]] static Result<Grid> decode_definition(ByteSpan bytes);
  /// Checks what every user of a Grid relies on: sizes agree, numbers are finite and in range, row lengths add up.
  /// Errors: InvalidArgument (what, expected, found).
  [[nodiscard]] Status validate() const;
  /// "regular_ll 144 x 73".
  [[nodiscard]] std::string summary() const;
};

}  // namespace nvmdb::met
