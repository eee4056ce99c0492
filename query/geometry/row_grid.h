#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "query/geometry/geometry.h"
#include "query/geometry/sphere.h"

namespace nvmdb::query {

/// A grid whose rows are parallels with evenly spaced points, on the earth or on a rotated sphere: regular
/// and reduced lat/lon and Gaussian grids, rotated lat/lon, and curvilinear grids that turn out to be of this
/// kind.
class RowGrid final : public Geometry {
 public:
  /// Errors: InvalidArgument (no such Gaussian rows, too many rows).
  [[nodiscard]] static Result<std::shared_ptr<const Geometry>> create(std::shared_ptr<const met::Grid> grid);
  /// nullptr when the position arrays are not rows along parallels.
  [[nodiscard]] static std::shared_ptr<const RowGrid> from_arrays(
      const std::shared_ptr<const met::Grid>& grid);

  void positions(std::uint64_t first, std::span<double> latitudes,
                 std::span<double> longitudes) const override;
  [[nodiscard]] const Axes* axes() const override { return axes_ ? &*axes_ : nullptr; }
  [[nodiscard]] std::uint64_t bytes() const override;

  explicit RowGrid(std::shared_ptr<const met::Grid> grid) : Geometry(std::move(grid)) {}

 private:
  struct Row {
    double latitude = 0;
    double first_longitude = 0;
    double step = 1;    // degrees, positive
    double period = 0;  // columns of a whole turn; at least count - 1
    std::uint64_t first_index = 0;
    std::uint32_t count = 0;

    [[nodiscard]] bool wraps() const { return period - count <= 0.05; }
    /// Column (with fraction) of a longitude: for a row all the way round 0..period, else as near to the
    /// row's middle as whole turns allow.
    [[nodiscard]] double column(double longitude) const;
  };

  [[nodiscard]] bool find_nearest(const Point& point, GridPoint& found) const override;
  [[nodiscard]] bool find_stencil(const Point& point, Stencil& found) const override;

  void add_row(double latitude, double first_longitude, double width, double step, std::uint32_t count);
  void finish();
  [[nodiscard]] Point to_grid(const Point& point) const;
  /// Index of the last row that is not south of the latitude, -1 when there is none.
  [[nodiscard]] std::ptrdiff_t row_north_of(double latitude) const;
  void search_row(const Row& row, const Point& point, double& best, std::uint64_t& index) const;
  [[nodiscard]] bool inside_half_cell(const Row& row, const Point& point) const;
  /// Adds the two neighbours in the row, weighted. False when the longitude is outside the row.
  [[nodiscard]] static bool add_pair(const Row& row, double longitude, double weight, Stencil& stencil);
  [[nodiscard]] bool across_pole(const Row& row, const Point& point, Stencil& stencil) const;

  std::vector<Row> rows_;  // with at least one point, in the grid's order
  bool descending_ = true;
  bool covers_north_pole_ = false;
  bool covers_south_pole_ = false;
  double north_limit_ = 90;  // half a row beyond the outermost rows
  double south_limit_ = -90;
  std::optional<Rotation> rotation_;
  std::optional<Axes> axes_;
};

}  // namespace nvmdb::query
