#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "query/geometry/geometry.h"

namespace nvmdb::query {

/// Points that follow each other in a field.
struct IndexRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The part of a grid that answers a slab: rows times columns values, taken from the runs one after the
/// other.
struct Window {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  bool rectilinear = false;
  std::vector<double> latitudes;   ///< [rows] when rectilinear, else [rows * columns]
  std::vector<double> longitudes;  ///< [columns] or [rows * columns]; -180..180
  std::vector<IndexRun> runs;
  std::vector<std::uint64_t> outside;  ///< places in the window of points outside the box; ascending
};

/// A box with its edges widened by 1e-6 degrees, so that points on them count.
class BoxTest {
 public:
  /// Errors: InvalidArgument (an edge out of range, south above north).
  [[nodiscard]] static Result<BoxTest> create(const Box& box);
  [[nodiscard]] bool has_latitude(double latitude) const { return latitude >= south_ && latitude <= north_; }
  [[nodiscard]] bool has_longitude(double longitude) const { return eastwards(longitude) <= width_; }
  /// Degrees from the western edge, 0..360.
  [[nodiscard]] double eastwards(double longitude) const;
  [[nodiscard]] bool contains(double latitude, double longitude) const {
    return has_latitude(latitude) && has_longitude(longitude);
  }

 private:
  double south_ = 0;
  double north_ = 0;
  double west_ = 0;
  double width_ = 0;
};

/// The whole grid in its own order.
/// Errors: OutOfSpace (too many positions).
[[nodiscard]] Result<Window> whole_window(const Geometry& geometry);

/// The points inside a box. Rectilinear grids: rows north to south, columns west to east from the western
/// edge, no column twice. Other rows-and-columns grids: the smallest index window with all points inside the
/// box, in the grid's order. Reduced grids: the points inside, as one row. Errors: InvalidArgument (the box
/// makes no sense), NotFound (no point inside), OutOfSpace (more than `points_max`).
[[nodiscard]] Result<Window> box_window(const Geometry& geometry, const Box& box, std::uint64_t points_max);

}  // namespace nvmdb::query
