#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/met/grid.h"
#include "query/request.h"
#include "storage/base/mutex.h"
#include "storage/base/result.h"

namespace nvmdb::query {

/// The grid point that answers a question.
struct GridPoint {
  std::uint64_t index = 0;
  Point position;         ///< longitude -180..180
  double distance_m = 0;  ///< from the point asked, along the great circle of the grid's mean sphere
};

/// Grid points around a position and what each counts; the weights add up to 1. Points that count nothing are
/// left out, so that on a grid point only that point counts and on the side of a cell only its two ends.
struct Stencil {
  struct Corner {
    std::uint64_t index = 0;
    double weight = 0;
  };
  std::array<Corner, 4> corners;
  std::uint32_t count = 0;

  void add(std::uint64_t index, double weight) {
    if (weight != 0.0) corners[count++] = {index, weight};
  }
};

/// Latitude of each row and longitude (as the file has it) of each column, where one of each is enough.
struct Axes {
  std::vector<double> latitudes;
  std::vector<double> longitudes;
};

/// Positions of all points of a grid, longitude -180..180.
struct Positions {
  std::vector<double> latitudes;
  std::vector<double> longitudes;
};

/// A grid prepared for finding points in it. Inside means: not more than half a cell beyond the outermost
/// points (nearest), or not beyond them (bilinear); a grid that goes round the earth has no edge in
/// longitude, and none at a pole that is within a row's distance of its last row. Units:   degrees. Threads:
/// any number.
class Geometry {
 public:
  /// Errors: InvalidArgument (points without positions: the grid's reason; a definition that makes no sense).
  [[nodiscard]] static Result<std::shared_ptr<const Geometry>> prepare(std::shared_ptr<const met::Grid> grid);
  virtual ~Geometry() = default;
  Geometry(const Geometry&) = delete;
  Geometry& operator=(const Geometry&) = delete;

  /// The grid point at the smallest great-circle distance. Errors: InvalidArgument (outside; names the
  /// bounds).
  [[nodiscard]] Result<GridPoint> nearest(const Point& point) const;
  /// The corners of the cell around the point, weighted linearly in the grid's own plane.
  /// Errors: InvalidArgument (outside; names the bounds).
  [[nodiscard]] Result<Stencil> bilinear(const Point& point) const;
  /// Positions of the points from `first` on, longitude -180..180; both spans have the same size.
  virtual void positions(std::uint64_t first, std::span<double> latitudes,
                         std::span<double> longitudes) const = 0;
  /// All positions, computed once. Errors: OutOfSpace (too many points).
  [[nodiscard]] Result<std::shared_ptr<const Positions>> all_positions() const;
  /// nullptr when rows and columns do not run along parallels and meridians.
  [[nodiscard]] virtual const Axes* axes() const { return nullptr; }
  /// DRAM that it takes, with what all_positions() may add.
  [[nodiscard]] virtual std::uint64_t bytes() const;

  [[nodiscard]] const met::Grid& grid() const { return *grid_; }

 protected:
  explicit Geometry(std::shared_ptr<const met::Grid> grid) : grid_(std::move(grid)) {}
  /// False when the point is outside.
  [[nodiscard]] virtual bool find_nearest(const Point& point, GridPoint& found) const = 0;
  [[nodiscard]] virtual bool find_stencil(const Point& point, Stencil& found) const = 0;

 private:
  [[nodiscard]] Status outside(const Point& point) const;

  std::shared_ptr<const met::Grid> grid_;
  mutable Mutex positions_mutex_;
  mutable std::shared_ptr<const Positions> positions_ NVMDB_GUARDED_BY(positions_mutex_);
  mutable Mutex bounds_mutex_;
  mutable std::string bounds_
      NVMDB_GUARDED_BY(bounds_mutex_);  ///< words for messages, made when first needed
};

/// Weights of two neighbours at `fraction` of the way from the first to the second: within a millionth of a
/// neighbour it is that neighbour alone.
struct PairWeights {
  double first = 0;
  double second = 0;
};
[[nodiscard]] PairWeights pair_weights(double fraction);

/// Tolerance for "on the outermost points", in cells.
constexpr double kEdgeTolerance = 1e-6;

}  // namespace nvmdb::query
