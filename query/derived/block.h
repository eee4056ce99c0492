#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/met/grid.h"

namespace nvmdb::query::derived {

/// Which levels of an input a value is computed from.
enum class Span : std::uint8_t {
  Level,             ///< the level asked
  Below,             ///< the one next below, or the lowest itself
  Above,             ///< the one next above, or the highest itself
  Column,            ///< all levels between interfaces, lowest first
  ColumnInterfaces,  ///< all interfaces (staggered levels), lowest first
  Surface,           ///< the only level there is
};

/// Which staggered point an input is read at.
enum class Side : std::uint8_t {
  Mean,   ///< the mean of both sides: the value at the centre of the cell
  Minus,  ///< the western or southern side
  Plus,   ///< the eastern or northern side
};

/// Something that a derived value is computed from.
struct Input {
  std::string_view name;  ///< WRF variable, ecCodes shortName; aliases count
  Span span = Span::Level;
  std::int8_t row_offset = 0;  ///< of a neighbouring cell; at the edge of the grid the cell itself
  std::int8_t column_offset = 0;
  Side side = Side::Mean;
  bool optional = false;
  bool previous = false;  ///< at the start of the interval; nothing before the first step: 0
};

/// The inputs of some points of a grid at one step. What is missing is NaN; the value of a point with a
/// missing input is missing whatever is computed, so formulas need not look.
struct Block {
  struct Slot {
    std::size_t levels = 0;      ///< 0: an optional input that is not there
    std::vector<double> values;  ///< [levels][points]
    double maximum = 0;          ///< of all levels over the whole grid; NaN when unknown
  };

  std::size_t points = 0;
  std::vector<Slot> slots;  ///< as Definition.inputs
  const met::Grid* grid = nullptr;
  double bucket_mm = 0;  ///< of precipitation, BUCKET_MM of a WRF run; 0: none
  std::string_view level_type;
  double level = 0;
  /// Of each point; rows and columns only of grids that have them.
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> columns;
  std::vector<double> latitudes;  ///< where Definition.needs_positions
  std::vector<double> longitudes;

  [[nodiscard]] double at(std::size_t slot, std::size_t point) const { return slots[slot].values[point]; }
  [[nodiscard]] double at(std::size_t slot, std::size_t level_index, std::size_t point) const {
    return slots[slot].values[level_index * points + point];
  }
  [[nodiscard]] bool has(std::size_t slot) const { return slots[slot].levels > 0; }
  /// Cells between the neighbours of a point, as far as the grid has them.
  [[nodiscard]] double cells_across(std::size_t point) const {
    return between(columns[point], grid->columns);
  }
  [[nodiscard]] double cells_along(std::size_t point) const { return between(rows[point], grid->rows); }

 private:
  [[nodiscard]] static double between(std::uint64_t index, std::uint64_t count) {
    return static_cast<double>(index + 1 < count) + static_cast<double>(index > 0);
  }
};

}  // namespace nvmdb::query::derived
