#pragma once

#include <string>

#include "storage/device/device_profile.h"

namespace nvmdb::cli {

/// Bars for a terminal: bandwidth of sequential non-temporal writes by transfer size and number of threads.
[[nodiscard]] std::string text_plot(const storage::DeviceProfile& profile);

/// The sweep as an SVG drawing: bandwidth over transfer size (both axes logarithmic), one line for each path and
/// number of threads, sequential accesses. Says when the figures are modelled.
[[nodiscard]] std::string svg_plot(const storage::DeviceProfile& profile);

}  // namespace nvmdb::cli
