#include <proj.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>

#include "ingest/decode/grib/grid_reader.h"

namespace nvmdb::ingest::grib {
namespace {

struct DeleteContext {
  void operator()(PJ_CONTEXT* context) const { proj_context_destroy(context); }
};
struct DeleteProjection {
  void operator()(PJ* projection) const { proj_destroy(projection); }
};

/// PROJ's words for the grid's projection, in metres on its own sphere or ellipsoid.
std::string proj_text(const met::Grid& g) {
  std::array<char, 320> text{};
  switch (g.type) {
    case met::GridType::Lambert:
      std::snprintf(text.data(), text.size(), "+proj=lcc +lat_1=%.17g +lat_2=%.17g +lat_0=%.17g +lon_0=%.17g",
                    g.true_latitude1, g.true_latitude2, g.true_latitude1, g.standard_longitude);
      break;
    case met::GridType::PolarStereographic:
      std::snprintf(text.data(), text.size(), "+proj=stere +lat_0=%d +lat_ts=%.17g +lon_0=%.17g",
                    g.south_pole_on_plane ? -90 : 90, g.true_latitude1, g.standard_longitude);
      break;
    default:
      std::snprintf(text.data(), text.size(), "+proj=merc +lat_ts=%.17g +lon_0=%.17g", g.true_latitude1,
                    g.standard_longitude);
  }
  std::array<char, 96> axes{};
  std::snprintf(axes.data(), axes.size(), " +a=%.17g +b=%.17g", g.earth_semi_major, g.earth_semi_minor);
  return std::string(text.data()) + axes.data();
}

/// A position in the file's own range of longitudes: GRIB2 has 0 to 360.
Status to_position(PJ* projection, double x, double y, bool positive, double& latitude, double& longitude) {
  const PJ_COORD found = proj_trans(projection, PJ_INV, proj_coord(x, y, 0, 0));
  latitude = proj_todeg(found.lp.phi);
  longitude = proj_todeg(found.lp.lam);
  if (!std::isfinite(latitude) || !std::isfinite(longitude)) {
    return Status::invalid_argument("the grid reaches beyond its projection");
  }
  if (positive && longitude < 0) longitude += 360;
  return Status::ok();
}

}  // namespace

Status locate_corners(met::Grid& grid, ScanningMode mode) {
  const std::unique_ptr<PJ_CONTEXT, DeleteContext> context(proj_context_create());
  proj_log_level(context.get(), PJ_LOG_NONE);
  const std::unique_ptr<PJ, DeleteProjection> projection(proj_create(context.get(), proj_text(grid).c_str()));
  if (projection == nullptr) return Status::invalid_argument("no such projection: " + proj_text(grid));
  const double first_latitude = grid.first_latitude;
  const double first_longitude = grid.first_longitude;
  const PJ_COORD first = proj_trans(
      projection.get(), PJ_FWD, proj_coord(proj_torad(first_longitude), proj_torad(first_latitude), 0, 0));
  const double width = (grid.columns - 1) * grid.column_step;
  const double height = (grid.rows - 1) * grid.row_step;
  const double west = mode.columns_westward ? first.xy.x - width : first.xy.x;
  const double north = mode.rows_northward ? first.xy.y + height : first.xy.y;
  const bool positive = first_longitude >= 0;
  NVMDB_TRY(to_position(projection.get(), west, north, positive, grid.first_latitude, grid.first_longitude));
  NVMDB_TRY(to_position(projection.get(), west + width, north - height, positive, grid.last_latitude,
                        grid.last_longitude));
  if (!mode.columns_westward &&
      !mode.rows_northward) {  // the file's own numbers, not their way through the plane
    grid.first_latitude = first_latitude;
    grid.first_longitude = first_longitude;
  }
  return Status::ok();
}

}  // namespace nvmdb::ingest::grib
