#include "ingest/decode/grib/point_order.h"

namespace nvmdb::ingest::grib {

ScanningMode ScanningMode::from_flags(std::uint32_t flags) {
  return {.columns_westward = (flags & 0x80U) != 0,
          .rows_northward = (flags & 0x40U) != 0,
          .columns_consecutive = (flags & 0x20U) != 0,
          .alternate = (flags & 0x10U) != 0,
          .staggered = (flags & 0x0fU) != 0};
}

PointOrder::PointOrder(std::uint32_t columns, std::uint32_t rows, ScanningMode mode)
    : columns_(columns), rows_(rows), mode_(mode) {}

PointOrder::PointOrder(const std::vector<std::uint32_t>& lengths, ScanningMode mode)
    : rows_(lengths.size()), mode_(mode) {
  starts_.reserve(lengths.size() + 1);
  std::uint64_t at = 0;
  for (const std::uint32_t length : lengths) {
    starts_.push_back(at);
    at += length;
  }
  starts_.push_back(at);
}

PointOrder PointOrder::as_stored(std::uint64_t points) {
  PointOrder order;
  order.columns_ = points;
  order.rows_ = 1;
  return order;
}

std::uint64_t PointOrder::message_row(std::uint64_t row) const {
  return mode_.rows_northward ? rows_ - 1 - row : row;
}

bool PointOrder::westward(std::uint64_t message_row) const {
  return mode_.columns_westward != (mode_.alternate && message_row % 2 == 1);
}

std::uint64_t PointOrder::start_of(std::uint64_t message_row) const {
  return starts_.empty() ? message_row * columns_ : starts_[message_row];
}

std::uint64_t PointOrder::row_length(std::uint64_t row) const {
  if (starts_.empty()) return columns_;
  const std::uint64_t stored = message_row(row);
  return starts_[stored + 1] - starts_[stored];
}

std::optional<std::uint64_t> PointOrder::run_start(std::uint64_t row) const {
  const std::uint64_t stored = message_row(row);
  if (mode_.columns_consecutive || westward(stored)) return std::nullopt;
  return start_of(stored);
}

void PointOrder::indices(std::uint64_t row, std::uint64_t first, std::span<std::uint64_t> out) const {
  const std::uint64_t stored = message_row(row);
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    const std::uint64_t column = first + i;
    if (mode_.columns_consecutive) {
      const std::uint64_t stored_column = mode_.columns_westward ? columns_ - 1 - column : column;
      const bool turned = mode_.alternate && stored_column % 2 == 1;
      out[i] = stored_column * rows_ + (turned ? rows_ - 1 - stored : stored);
    } else {
      out[i] = start_of(stored) + (westward(stored) ? row_length(row) - 1 - column : column);
    }
  }
}

}  // namespace nvmdb::ingest::grib
