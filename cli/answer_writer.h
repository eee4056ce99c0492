#pragma once

#include <limits>
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

[[nodiscard]] Status write_profile(const query::CurtainAnswer& answer, Format format, Output& output);
[[nodiscard]] Status write_section(const query::CurtainAnswer& answer, Format format, Output& output);

/// The slabs of all steps as one answer: a block for each step (text), a table with columns for the step (csv), or
/// one coverage with a time axis (json, netcdf), which needs all of them on one grid.
class SlabWriter {
 public:
  SlabWriter(Format format, Output& output) : format_(format), output_(output) {}
  /// Errors: InvalidArgument (the grid moved and the format has one grid for all steps), those of Output.
  [[nodiscard]] Status add(const query::SlabAnswer& answer);
  [[nodiscard]] Status finish();

 private:
  const Format format_;
  Output& output_;
  bool begun_ = false;
  query::SlabAnswer first_;
  std::vector<met::Step> steps_;
  std::vector<float> values_;
};

/// Columns
/// `model,run,member,param,level_type,level,lat,lon,grid_lat,grid_lon,step_seconds,valid_time,value,units`; where
/// there are intervals also `step_start_seconds,step_type`.
[[nodiscard]] Status write_series_csv(const query::SeriesAnswer& answer, Output& output);
/// `# key: value` lines, then columns `lat,lon,value`.
[[nodiscard]] Status write_slab_csv(const query::SlabAnswer& answer, Output& output);
/// A PointSeries coverage; of several points, a collection of them. Source: OGC 21-069r2 (CoverageJSON).
[[nodiscard]] Status write_series_json(const query::SeriesAnswer& answer, Output& output);
/// A Grid coverage. Where latitude and longitude are not axes of the grid, x and y count grid points and
/// ranges `latitude` and `longitude` give positions; a list of points is a MultiPoint.
[[nodiscard]] Status write_slab_json(const query::SlabAnswer& answer, Output& output);
/// The same at `steps`; `values` by step. A list of points is a MultiPointSeries.
[[nodiscard]] Status write_slabs_json(const query::SlabAnswer& first, const std::vector<met::Step>& steps,
                                      const std::vector<float>& values, Output& output);
/// A VerticalProfile coverage. Layers have bounds.
[[nodiscard]] Status write_profile_json(const query::CurtainAnswer& answer, Output& output);
/// A Section coverage; `nvmdb:distances_m` are those of its points from the first.
[[nodiscard]] Status write_section_json(const query::CurtainAnswer& answer, Output& output);
/// A CF-1.8 file in memory: classic 64-bit offset format.
[[nodiscard]] Result<std::string> series_netcdf(const query::SeriesAnswer& answer);
[[nodiscard]] Result<std::string> slab_netcdf(const query::SlabAnswer& answer);
/// The same with a time axis; `values` by step.
[[nodiscard]] Result<std::string> slabs_netcdf(const query::SlabAnswer& first, const std::vector<met::Step>& steps,
                                               const std::vector<float>& values);

/// Dimensions level, or point and level.
[[nodiscard]] Result<std::string> profile_netcdf(const query::CurtainAnswer& answer);
[[nodiscard]] Result<std::string> section_netcdf(const query::CurtainAnswer& answer);

[[nodiscard]] bool has_intervals(const std::vector<met::Step>& steps);
/// Longitudes that grow to the east also beyond 180, as axes of grids must.
[[nodiscard]] std::vector<double> continuous_longitudes(const query::SlabAnswer& answer);

/// The provenance as name and text, in the order of the `#` lines of a slab: model, domain, run, member,
/// step, step_type (of intervals), valid_time, param, level_type, level, units, grid.
using Facts = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Facts facts_of(const query::Provenance& provenance);
[[nodiscard]] Facts facts_of(const query::SlabAnswer& answer);
/// In place of `level`: `levels` (stored, hPa or m); of a profile also `at` and `grid_point`.
[[nodiscard]] Facts facts_of(const query::CurtainAnswer& answer);

/// Latitude and longitude of value `index` of a slab; NaN where the grid has no positions.
[[nodiscard]] inline query::Point position_of(const query::SlabAnswer& answer, std::size_t index) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (!answer.has_positions()) return {kNone, kNone};
  if (!answer.rectilinear) return {answer.latitudes[index], answer.longitudes[index]};
  return {answer.latitudes[index / answer.columns], answer.longitudes[index % answer.columns]};
}

}  // namespace nvmdb::cli
