#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/output.h"
#include "query/answer.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

// Answers in the formats that users read. Missing values are empty fields, null, or the fill value.
// Errors: those of Output; NetCDF: IoError when libnetcdf fails.

[[nodiscard]] Status write_series(const query::SeriesAnswer& answer, Format format, Output& output);
[[nodiscard]] Status write_slab(const query::SlabAnswer& answer, Format format, Output& output);

/// Columns
/// `model,run,member,param,level_type,level,lat,lon,grid_lat,grid_lon,step_seconds,valid_time,value,units`.
[[nodiscard]] Status write_series_csv(const query::SeriesAnswer& answer, Output& output);
/// `# key: value` lines, then columns `lat,lon,value`.
[[nodiscard]] Status write_slab_csv(const query::SlabAnswer& answer, Output& output);
/// A PointSeries coverage; of several points, a collection of them. Source: OGC 21-069r2 (CoverageJSON).
[[nodiscard]] Status write_series_json(const query::SeriesAnswer& answer, Output& output);
/// A Grid coverage. Where latitude and longitude are not axes of the grid, x and y count grid points and
/// ranges `latitude` and `longitude` give positions; a list of points is a MultiPoint.
[[nodiscard]] Status write_slab_json(const query::SlabAnswer& answer, Output& output);
/// A CF-1.8 file in memory: classic 64-bit offset format.
[[nodiscard]] Result<std::string> series_netcdf(const query::SeriesAnswer& answer);
[[nodiscard]] Result<std::string> slab_netcdf(const query::SlabAnswer& answer);

/// The provenance as name and text, in the order of the `#` lines of a slab: model, domain, run, member,
/// step, valid_time, param, level_type, level, units, grid.
using Facts = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Facts facts_of(const query::Provenance& provenance);
[[nodiscard]] Facts facts_of(const query::SlabAnswer& answer);

/// Latitude and longitude of value `index` of a slab.
[[nodiscard]] inline query::Point position_of(const query::SlabAnswer& answer, std::size_t index) {
  if (!answer.rectilinear) return {answer.latitudes[index], answer.longitudes[index]};
  return {answer.latitudes[index / answer.columns], answer.longitudes[index % answer.columns]};
}

}  // namespace nvmdb::cli
