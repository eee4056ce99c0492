#pragma once

#include <cstdint>
#include <optional>

#include "engine/met/grid.h"

namespace nvmdb::ingest::testing {

/// Canonical index of the grid point at a position, from the grid's definition alone (PROJ for projected
/// grids). Nothing when no point lies within a twentieth of a step.
[[nodiscard]] std::optional<std::uint64_t> find_point(const met::Grid& grid, double latitude,
                                                      double longitude);

}  // namespace nvmdb::ingest::testing
