#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "storage/base/result.h"

namespace nvmdb::tpcc {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  ///< in ascending order of x, which is above 0
};

/// A panel of lines; x is logarithmic, y begins at 0 or below.
struct PlotPanel {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotSeries> series;
};

/// Draws the panels one below the other into a PNG file. `title` stands above all. Errors: IoError.
[[nodiscard]] Status write_png_plot(const std::filesystem::path& file, const std::string& title,
                                    std::span<const PlotPanel> panels);

}  // namespace nvmdb::tpcc
