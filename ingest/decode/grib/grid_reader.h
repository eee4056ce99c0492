#pragma once

#include <cstdint>
#include <string>

#include "engine/met/grid.h"
#include "ingest/decode/grib/handle.h"
#include "ingest/decode/grib/point_order.h"
#include "ingest/decode/grib/sections.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// A grid in canonical order, how its points lie in the message, and its name for a run's domain.
struct FieldGrid {
  met::Grid grid;
  PointOrder order;
  std::string domain;  ///< "regular_ll_144x73", "reduced_gg_n48", "unstructured_grid_2949120"
};

/// Reads the grid of a field of `points` points. A grid whose positions cannot be told becomes Unlocated,
/// with the reason; its points keep the message's order. Errors: Corruption (sizes do not agree with
/// `points`).
[[nodiscard]] Result<FieldGrid> read_grid(const FieldSections& sections, const Handle& handle,
                                          std::uint64_t points);

/// Completes a projected grid whose `first_*` is the message's first point: sets first and last to the
/// north-west and south-east corner in the plane. Uses PROJ with the grid's own axes. Errors: InvalidArgument
/// (the projection does not exist or does not reach its corners).
[[nodiscard]] Status locate_corners(met::Grid& grid, ScanningMode mode);

}  // namespace nvmdb::ingest::grib
