#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nvmdb::ingest::grib {

/// How a message orders its points. Source: GRIB2 flag table 3.4, GRIB1 code table 8.
struct ScanningMode {
  bool columns_westward = false;     ///< 0x80: i runs from east to west
  bool rows_northward = false;       ///< 0x40: j runs from south to north
  bool columns_consecutive = false;  ///< 0x20: points of a column lie together
  bool alternate = false;            ///< 0x10: every second row (or column) runs the other way
  bool staggered = false;            ///< 0x0f: rows are offset by half a step; not supported
  [[nodiscard]] static ScanningMode from_flags(std::uint32_t flags);
};

/// Maps canonical rows (north to south, each west to east) to the message's order of points.
class PointOrder {
 public:
  PointOrder() = default;
  /// A full grid of rows x columns.
  PointOrder(std::uint32_t columns, std::uint32_t rows, ScanningMode mode);
  /// A reduced grid; `lengths` in the message's order of rows.
  PointOrder(const std::vector<std::uint32_t>& lengths, ScanningMode mode);
  /// Points that keep the message's order, as one row.
  [[nodiscard]] static PointOrder as_stored(std::uint64_t points);

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t row_length(std::uint64_t row) const;
  /// Index of the row's first point when the message holds the row from west to east without gaps.
  [[nodiscard]] std::optional<std::uint64_t> run_start(std::uint64_t row) const;
  /// Index in the message of the canonical points [first, first + out.size()) of a row.
  void indices(std::uint64_t row, std::uint64_t first, std::span<std::uint64_t> out) const;

 private:
  [[nodiscard]] std::uint64_t message_row(std::uint64_t row) const;
  [[nodiscard]] bool westward(std::uint64_t message_row) const;
  [[nodiscard]] std::uint64_t start_of(std::uint64_t message_row) const;

  std::uint64_t columns_ = 0;
  std::uint64_t rows_ = 0;
  ScanningMode mode_;
  std::vector<std::uint64_t>
      starts_;  ///< reduced grids: index of each message row's first point, and the end
};

}  // namespace nvmdb::ingest::grib
