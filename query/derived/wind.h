#pragma once

#include "engine/met/grid.h"

namespace nvmdb::query::derived {

/// Bearing of the grid's north at a point: radians from true north, clockwise. 0 on grids that run along the
/// meridians, and on those whose winds are relative to the earth already. NaN where it cannot be told from
/// the definition (WRF's rotated latitude and longitude). Source: Snyder (1987), USGS Professional Paper
/// 1395: convergence of the conic and azimuthal projections.
[[nodiscard]] double grid_north_bearing(const met::Grid& grid, double latitude, double longitude);

/// Where the wind comes from: degrees from north, clockwise, 0 to 360. Missing (NaN) in a calm.
[[nodiscard]] double direction_from(double u, double v);

}  // namespace nvmdb::query::derived
