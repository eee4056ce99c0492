#pragma once

#include <memory>

#include "query/geometry/geometry.h"
#include "query/geometry/projection.h"

namespace nvmdb::query {

/// A grid with evenly spaced rows and columns in the plane of a map projection: Lambert, polar stereographic
/// and Mercator grids, and curvilinear grids whose positions agree with the projection that the file names.
class PlaneGrid final : public Geometry {
 public:
  /// Errors: InvalidArgument (PROJ refuses the definition; the first point has no image).
  [[nodiscard]] static Result<std::shared_ptr<const Geometry>> create(std::shared_ptr<const met::Grid> grid);
  /// nullptr when no projection is named or the position arrays do not follow it.
  [[nodiscard]] static std::shared_ptr<const PlaneGrid> from_arrays(
      const std::shared_ptr<const met::Grid>& grid);

  void positions(std::uint64_t first, std::span<double> latitudes,
                 std::span<double> longitudes) const override;
  [[nodiscard]] std::uint64_t bytes() const override;

  PlaneGrid(std::shared_ptr<const met::Grid> grid, std::unique_ptr<Projection> projection)
      : Geometry(std::move(grid)), projection_(std::move(projection)) {}

 private:
  struct Cell {  // column and row, with fractions
    double u = 0;
    double v = 0;
  };

  [[nodiscard]] bool find_nearest(const Point& point, GridPoint& found) const override;
  [[nodiscard]] bool find_stencil(const Point& point, Stencil& found) const override;

  [[nodiscard]] bool place(const Point& first_point);
  /// False when the fitted plane is more than a small part of a cell off one of the positions.
  [[nodiscard]] bool fit_arrays();
  [[nodiscard]] Cell cell_of(const Projection::Lease& lease, const Point& point) const;
  [[nodiscard]] Point position_at(const Projection::Lease& lease, std::uint64_t column,
                                  std::uint64_t row) const;
  [[nodiscard]] bool wraps() const { return period_ > 0; }

  std::unique_ptr<Projection> projection_;
  PlanePoint origin_;  // of point 0
  double column_dx_ = 0;
  double row_dy_ = 0;  // negative when rows run southwards
  double period_ = 0;  // columns of a whole turn (Mercator); 0: no end meets the other
};

}  // namespace nvmdb::query
