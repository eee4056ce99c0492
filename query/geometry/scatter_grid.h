#pragma once

#include <memory>

#include "query/geometry/geometry.h"

namespace nvmdb::query {

/// Errors: InvalidArgument (a position that is not a number or not on the earth).
[[nodiscard]] Status check_position_arrays(const met::Grid& grid);

/// A curvilinear grid known only by its position arrays: points are found by a tree over unit vectors, cells
/// by the corners around the nearest point.
class ScatterGrid final : public Geometry {
 public:
  explicit ScatterGrid(std::shared_ptr<const met::Grid> grid);
  ~ScatterGrid() override;

  void positions(std::uint64_t first, std::span<double> latitudes,
                 std::span<double> longitudes) const override;
  [[nodiscard]] std::uint64_t bytes() const override;

 private:
  struct Tree;
  struct Offset {  // in columns and rows from a grid point
    double u = 0;
    double v = 0;
  };

  [[nodiscard]] bool find_nearest(const Point& point, GridPoint& found) const override;
  [[nodiscard]] bool find_stencil(const Point& point, Stencil& found) const override;

  [[nodiscard]] Point position_at(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t tree_nearest(const Point& point) const;
  /// Where the point is, in cells of the grid near grid point `index`, to first order. False where the grid's
  /// points span no plane.
  [[nodiscard]] bool offset_from(std::uint64_t index, const Point& point, Offset& offset) const;
  /// Tries the cell whose first corner is (column, row). False when the point is not in it.
  [[nodiscard]] bool cell_stencil(std::uint64_t column, std::uint64_t row, const Point& point,
                                  Stencil& found) const;

  std::unique_ptr<Tree> tree_;
};

}  // namespace nvmdb::query
