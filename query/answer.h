#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalogue.h"
#include "query/request.h"

namespace nvmdb::query {

/// Where an answer comes from.
struct Provenance {
  engine::Run run;
  std::uint32_t member = 0;
  met::Parameter parameter;
  std::string level_type;
  double level = 0;
  double bottom = 0;
  std::string units;  ///< of the values: converted, or as stored
  std::string grid_summary;
  Interpolation interpolation = Interpolation::Nearest;
};

/// Makes `selection` mean the very column that answered: run, parameter, member and level.
void pin(const Provenance& provenance, Selection& selection);

/// One point of a series: what was asked and which grid point answers (the nearest one, also for bilinear).
struct LocatedPoint {
  Point asked;
  Point grid;               ///< position of the grid point, longitude -180..180
  std::uint64_t index = 0;  ///< of the grid point in the field
  double distance_m = 0;
  bool operator==(const LocatedPoint&) const = default;
};

/// Values by point, then step; missing is NaN. Where steps have different grids (moving nests), `points` is
/// of the first step whose grid holds the point, and a step whose grid does not hold it has a missing value.
struct SeriesAnswer {
  Provenance provenance;
  std::vector<met::Step> steps;
  std::vector<LocatedPoint> points;
  std::vector<float> values;  ///< [points.size(), steps.size()]
};

/// Values above one point (a profile) or above a line of points (a section). Levels that are stored come lowest first,
/// others as they were asked. Missing is NaN: also below the lowest level, above the highest, and below the ground.
struct CurtainAnswer {
  Provenance provenance;  ///< its level type is that of `levels`; it has no single level
  met::Step step;
  Vertical vertical = Vertical::Stored;
  std::string level_units;  ///< "hPa", "m"; empty: as the level type says
  std::vector<LocatedPoint> points;
  std::vector<double> distances_m;  ///< of each point from the first, along the line
  std::vector<double> levels;
  std::vector<double> bottoms;  ///< of layers; else as `levels`
  std::vector<float> values;    ///< [points.size(), levels.size()]
};

/// A window of a field, row by row in the grid's own order; missing is NaN. Longitudes -180..180.
/// Regular grids give one latitude per row and one longitude per column; grids without positions none; all others
/// one of each per value.
struct SlabAnswer {
  Provenance provenance;
  met::Step step;
  std::uint64_t rows = 0;  ///< of reduced grids and point lists: 1
  std::uint64_t columns = 0;
  bool rectilinear = false;
  std::vector<double> latitudes;   ///< [rows] or [rows * columns]
  std::vector<double> longitudes;  ///< [columns] or [rows * columns]
  std::vector<float> values;       ///< [rows * columns]

  [[nodiscard]] bool has_positions() const { return !latitudes.empty(); }
};

}  // namespace nvmdb::query
