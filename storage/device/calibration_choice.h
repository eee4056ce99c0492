#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/device/device_profile.h"

namespace nvmdb::storage {

/// The shape of the log that a sweep suggests.
struct LogShape {
  std::uint32_t writers = 1;
  std::uint32_t block_bytes = 4096;
  double bytes_per_second = 0;  ///< that this shape reached
};

/// The rule in words, for people.
[[nodiscard]] std::string log_shape_rule();

/// Block: the smallest transfer of 4 KiB to 512 KiB, in whole write units, whose best bandwidth over all numbers
/// of writers is at least 90 % of the best of all. Writers: the smallest number, at most `processors`, that gives
/// at least 95 % of the best bandwidth at that block. Only sequential non-temporal writes count: that is how the
/// log is written. Without such figures: one writer, 4 KiB or the unit.
[[nodiscard]] LogShape choose_log_shape(std::span<const DeviceFigure> figures, std::uint32_t unit_bytes,
                                        std::uint32_t processors);

/// Of several rounds of the same points in the same order: for each point, the round with the median bandwidth.
[[nodiscard]] std::vector<DeviceFigure> median_round(const std::vector<std::vector<DeviceFigure>>& rounds);

}  // namespace nvmdb::storage
