#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/met/grid.h"
#include "ingest/decode/netcdf/value_source.h"

namespace nvmdb::ingest::netcdf {

struct Positions {
  std::vector<float> latitudes;
  std::vector<float> longitudes;
  bool operator==(const Positions&) const = default;
};

/// Where points lie that are staggered by half a cell along the columns (then the result has one column more)
/// or along the rows: inside, at the mean of the unit vectors of the two neighbours; at the edges, half a
/// cell further out along the same great circle. Longitudes follow those of the neighbours without a jump
/// where these have none. Shape: row-major, rows x columns. A single column or row stays where it is.
[[nodiscard]] Positions stagger_columns(const Positions& centre, std::uint64_t rows, std::uint64_t columns);
[[nodiscard]] Positions stagger_rows(const Positions& centre, std::uint64_t rows, std::uint64_t columns);

/// Two horizontal dimensions of the file.
struct HorizontalPair {
  std::uint32_t row_dimension = 0;
  std::uint32_t column_dimension = 0;
  auto operator<=>(const HorizontalPair&) const = default;
};

/// True when the last two dimensions of the variable are rows and columns of a map (WRF's, any stagger and
/// subgrid, or the usual names of others).
[[nodiscard]] bool has_horizontal_dimensions(const Dataset& dataset, const Variable& variable);

/// A grid, and whether the rows of the file are stored in reverse order (so that they run from north to
/// south).
struct PlacedGrid {
  met::Grid grid;
  bool rows_reversed = false;
};

/// Makes the grids of a file: positions from the file's own arrays, per frame (a nest may move).
/// Threads: one.
class GridMaker {
 public:
  GridMaker(ValueSource& source, std::uint32_t time_dimension, bool is_wrf)
      : source_(source), time_dimension_(time_dimension), is_wrf_(is_wrf) {}

  /// True when the positions of this pair are the same in all frames.
  [[nodiscard]] bool is_fixed(const HorizontalPair& pair) const;
  /// Never fails for lack of positions: the grid then is Unlocated and its description says why.
  /// Errors: IoError, Corruption, InvalidArgument (too many points).
  [[nodiscard]] Result<PlacedGrid> make(const HorizontalPair& pair, std::uint64_t frame);

 private:
  struct Source {
    const Variable* latitude = nullptr;
    const Variable* longitude = nullptr;
    bool one_dimensional = false;
  };
  [[nodiscard]] Source find(const HorizontalPair& pair) const;
  [[nodiscard]] bool lies_on(const Variable* variable, const HorizontalPair& pair) const;
  [[nodiscard]] HorizontalPair centre_of(const HorizontalPair& pair) const;
  Result<std::vector<double>> read(const Variable& variable, std::uint64_t frame);
  Result<Positions> read_positions(const Source& found, std::uint64_t frame);
  Result<Positions> derive(const HorizontalPair& pair, std::uint64_t frame);
  Result<PlacedGrid> from_axes(const Source& found, const HorizontalPair& pair, std::uint64_t frame);
  void set_projection(met::Grid& grid) const;

  ValueSource& source_;
  std::uint32_t time_dimension_;
  bool is_wrf_;
};

/// A grid without positions; `points` is rows * columns.
[[nodiscard]] met::Grid unlocated_grid(std::uint32_t rows, std::uint32_t columns, std::string why);

}  // namespace nvmdb::ingest::netcdf
