#include "cli/calibration_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "storage/base/size_text.h"

namespace nvmdb::cli {
namespace {

using storage::AccessPath;
using storage::AccessPattern;
using storage::DeviceFigure;

constexpr double kWidth = 900;
constexpr double kHeight = 520;
constexpr double kLeft = 70;
constexpr double kRight = 240;
constexpr double kTop = 50;
constexpr double kBottom = 60;
constexpr std::array<const char*, 8> kColours{"#1b6ca8", "#d1495b", "#2e8b57", "#8a5fbf",
                                              "#c98a00", "#4a4a4a", "#0aa1a1", "#b03a9b"};

std::string printed(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string text_at(double x, double y, const std::string& text, const char* anchor = "start") {
  return "<text x=\"" + printed("%.1f", x) + "\" y=\"" + printed("%.1f", y) + "\" text-anchor=\"" + anchor + "\">" +
         text + "</text>\n";
}

std::string line_of(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + printed("%.1f", x1) + "\" y1=\"" + printed("%.1f", y1) + "\" x2=\"" + printed("%.1f", x2) +
         "\" y2=\"" + printed("%.1f", y2) + "\" stroke=\"#ddd\"/>\n";
}

/// Logarithmic axes that hold all points.
struct Axes {
  double x_min = 0;
  double x_max = 1;
  double y_min = 0;
  double y_max = 1;

  [[nodiscard]] double x(double bytes) const {
    return kLeft + (std::log2(bytes) - x_min) / std::max(1.0, x_max - x_min) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double rate) const {
    const double share = (std::log10(std::max(rate, 1.0)) - y_min) / std::max(1.0, y_max - y_min);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  }
};

using Lines = std::map<std::pair<AccessPath, std::uint32_t>, std::map<std::uint64_t, double>>;

Lines lines_of(const storage::DeviceProfile& profile) {
  Lines lines;
  for (const DeviceFigure& figure : profile.figures) {
    if (figure.pattern != AccessPattern::Sequential) continue;
    lines[{figure.path, figure.threads}][figure.transfer_bytes] = figure.bytes_per_second;
  }
  return lines;
}

Axes axes_of(const Lines& lines) {
  Axes axes{64, 0, 64, 0};
  for (const auto& [key, points] : lines) {
    for (const auto& [bytes, rate] : points) {
      axes.x_min = std::min(axes.x_min, std::log2(static_cast<double>(bytes)));
      axes.x_max = std::max(axes.x_max, std::log2(static_cast<double>(bytes)));
      axes.y_min = std::min(axes.y_min, std::floor(std::log10(std::max(rate, 1.0))));
      axes.y_max = std::max(axes.y_max, std::ceil(std::log10(std::max(rate, 1.0))));
    }
  }
  return axes;
}

std::string draw_axes(const Axes& axes) {
  std::string out;
  for (double power = axes.y_min; power <= axes.y_max; ++power) {
    const double y = axes.y(std::pow(10.0, power));
    out += line_of(kLeft, y, kWidth - kRight, y) + text_at(kLeft - 6, y + 4, printed("1e%.0f", power), "end");
  }
  for (double power = axes.x_min; power <= axes.x_max; power += 2) {
    const double x = axes.x(std::pow(2.0, power));
    out += line_of(x, kTop, x, kHeight - kBottom) +
           text_at(x, kHeight - kBottom + 18, format_size(static_cast<std::uint64_t>(std::pow(2.0, power))), "middle");
  }
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - 16, "transfer", "middle");
  return out + text_at(8, kTop - 10, "bytes/s");
}

}  // namespace

std::string text_plot(const storage::DeviceProfile& profile) {
  constexpr double kBarMax = 48;
  double best = 0;
  const auto drawn = [](const DeviceFigure& figure) {
    return figure.path == AccessPath::Nontemporal && figure.pattern == AccessPattern::Sequential;
  };
  for (const DeviceFigure& figure : profile.figures) {
    if (drawn(figure)) best = std::max(best, figure.bytes_per_second);
  }
  std::string out;
  std::uint64_t last_bytes = 0;
  for (const DeviceFigure& figure : profile.figures) {
    if (!drawn(figure) || best <= 0) continue;
    const bool first = std::exchange(last_bytes, figure.transfer_bytes) != figure.transfer_bytes;
    std::string label = first ? format_size(figure.transfer_bytes) : "";
    label.resize(std::max<std::size_t>(label.size(), 10), ' ');
    const auto bar = static_cast<std::size_t>(std::lround(figure.bytes_per_second / best * kBarMax));
    out += label + " x" + std::to_string(figure.threads) + " |" + std::string(bar, '#') + " " +
           printed("%.3g GB/s", figure.bytes_per_second / 1e9) + "\n";
  }
  return out;
}

std::string svg_plot(const storage::DeviceProfile& profile) {
  const Lines lines = lines_of(profile);
  const Axes axes = axes_of(lines);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"520\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n<rect width=\"900\" height=\"520\" fill=\"white\"/>\n";
  // kind and model are checked names without markup.
  out += text_at(kLeft, 22, "Device " + profile.kind + ", sequential: " + storage::origin_words(profile));
  if (lines.empty()) return out + "</svg>\n";
  out += draw_axes(axes);
  std::size_t number = 0;
  for (const auto& [key, points] : lines) {
    const std::string colour = kColours[static_cast<std::size_t>(key.first) % kColours.size()];
    const double weight = 0.8 + 0.4 * std::log2(static_cast<double>(key.second));
    const std::string stroke = "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" +
                               printed("%.1f", 1 + weight) + "\" stroke-opacity=\"0.8\"";
    out += "<polyline points=\"";
    for (const auto& [bytes, rate] : points) {
      out += printed("%.1f", axes.x(static_cast<double>(bytes))) + "," + printed("%.1f", axes.y(rate)) + " ";
    }
    out += stroke + "/>\n";
    const double y = kTop + 18.0 * static_cast<double>(number++);
    out += "<polyline points=\"" + printed("%.1f", kWidth - kRight + 14) + "," + printed("%.1f", y - 4) + " " +
           printed("%.1f", kWidth - kRight + 40) + "," + printed("%.1f", y - 4) + stroke + "/>\n" +
           text_at(kWidth - kRight + 46, y,
                   storage::path_name(key.first, storage::is_by_lines(profile)) + ", " + std::to_string(key.second) +
                       (key.second == 1 ? " thread" : " threads"));
  }
  return out + "</svg>\n";
}

}  // namespace nvmdb::cli
