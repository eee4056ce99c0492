#include "tpcc/plot.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace nvmdb::tpcc {

namespace {

constexpr int kWidth = 1000;
constexpr int kPanelHeight = 420;
constexpr int kTitleHeight = 40;
constexpr int kLeft = 110;
constexpr int kRight = 230;
constexpr int kTop = 46;
constexpr int kBottom = 56;
constexpr int kScale = 2;  ///< pixels of a dot of a letter
constexpr int kAdvance = 6 * kScale;

struct Colour {
  std::uint8_t red;
  std::uint8_t green;
  std::uint8_t blue;
};
constexpr Colour kInk{40, 40, 40};
constexpr Colour kGrid{225, 225, 225};
constexpr std::array<Colour, 8> kColours{{{27, 108, 168}, {209, 73, 91}, {46, 139, 87}, {138, 95, 191},
                                          {201, 138, 0}, {74, 74, 74}, {10, 161, 161}, {176, 58, 155}}};

/// Letters of five columns of seven dots, the lowest bit on top. Capitals are drawn small.
struct Glyph {
  char letter;
  std::array<std::uint8_t, 5> columns;
};
constexpr std::array<Glyph, 46> kGlyphs{{
    {'%', {0x23, 0x13, 0x08, 0x64, 0x62}}, {'(', {0x00, 0x1c, 0x22, 0x41, 0x00}}, {')', {0x00, 0x41, 0x22, 0x1c, 0x00}},
    {'+', {0x08, 0x08, 0x3e, 0x08, 0x08}}, {',', {0x00, 0x50, 0x30, 0x00, 0x00}}, {'-', {0x08, 0x08, 0x08, 0x08, 0x08}},
    {'.', {0x00, 0x60, 0x60, 0x00, 0x00}}, {'/', {0x20, 0x10, 0x08, 0x04, 0x02}}, {'0', {0x3e, 0x51, 0x49, 0x45, 0x3e}},
    {'1', {0x00, 0x42, 0x7f, 0x40, 0x00}}, {'2', {0x42, 0x61, 0x51, 0x49, 0x46}}, {'3', {0x21, 0x41, 0x45, 0x4b, 0x31}},
    {'4', {0x18, 0x14, 0x12, 0x7f, 0x10}}, {'5', {0x27, 0x45, 0x45, 0x45, 0x39}}, {'6', {0x3c, 0x4a, 0x49, 0x49, 0x30}},
    {'7', {0x01, 0x71, 0x09, 0x05, 0x03}}, {'8', {0x36, 0x49, 0x49, 0x49, 0x36}}, {'9', {0x06, 0x49, 0x49, 0x29, 0x1e}},
    {':', {0x00, 0x36, 0x36, 0x00, 0x00}}, {'a', {0x20, 0x54, 0x54, 0x54, 0x78}}, {'b', {0x7f, 0x48, 0x44, 0x44, 0x38}},
    {'c', {0x38, 0x44, 0x44, 0x44, 0x20}}, {'d', {0x38, 0x44, 0x44, 0x48, 0x7f}}, {'e', {0x38, 0x54, 0x54, 0x54, 0x18}},
    {'f', {0x08, 0x7e, 0x09, 0x01, 0x02}}, {'g', {0x0c, 0x52, 0x52, 0x52, 0x3e}}, {'h', {0x7f, 0x08, 0x04, 0x04, 0x78}},
    {'i', {0x00, 0x44, 0x7d, 0x40, 0x00}}, {'j', {0x20, 0x40, 0x44, 0x3d, 0x00}}, {'k', {0x7f, 0x10, 0x28, 0x44, 0x00}},
    {'l', {0x00, 0x41, 0x7f, 0x40, 0x00}}, {'m', {0x7c, 0x04, 0x18, 0x04, 0x78}}, {'n', {0x7c, 0x08, 0x04, 0x04, 0x78}},
    {'o', {0x38, 0x44, 0x44, 0x44, 0x38}}, {'p', {0x7c, 0x14, 0x14, 0x14, 0x08}}, {'q', {0x08, 0x14, 0x14, 0x18, 0x7c}},
    {'r', {0x7c, 0x08, 0x04, 0x04, 0x08}}, {'s', {0x48, 0x54, 0x54, 0x54, 0x20}}, {'t', {0x04, 0x3f, 0x44, 0x40, 0x20}},
    {'u', {0x3c, 0x40, 0x40, 0x20, 0x7c}}, {'v', {0x1c, 0x20, 0x40, 0x20, 0x1c}}, {'w', {0x3c, 0x40, 0x30, 0x40, 0x3c}},
    {'x', {0x44, 0x28, 0x10, 0x28, 0x44}}, {'y', {0x0c, 0x50, 0x50, 0x50, 0x3c}}, {'z', {0x44, 0x64, 0x54, 0x4c, 0x44}},
    {'=', {0x14, 0x14, 0x14, 0x14, 0x14}},
}};

class Canvas {
 public:
  explicit Canvas(int height) : height_(height), pixels_(static_cast<std::size_t>(kWidth) * static_cast<std::size_t>(height) * 3, 255) {}

  void dot(int x, int y, Colour colour) {
    if (x < 0 || y < 0 || x >= kWidth || y >= height_) return;
    const std::size_t at = (static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x)) * 3;
    pixels_[at] = colour.red;
    pixels_[at + 1] = colour.green;
    pixels_[at + 2] = colour.blue;
  }
  void square(int x, int y, int half, Colour colour) {
    for (int dy = -half; dy <= half; ++dy) {
      for (int dx = -half; dx <= half; ++dx) dot(x + dx, y + dy, colour);
    }
  }
  void line(double x1, double y1, double x2, double y2, int half, Colour colour) {
    const int steps = std::max(1, static_cast<int>(std::max(std::abs(x2 - x1), std::abs(y2 - y1))));
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      square(static_cast<int>(std::lround(x1 + (x2 - x1) * part)), static_cast<int>(std::lround(y1 + (y2 - y1) * part)), half,
             colour);
    }
  }
  void text(int x, int y, std::string_view text, Colour colour) {
    for (const char letter : text) {
      const char small = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      for (const Glyph& glyph : kGlyphs) {
        if (glyph.letter == small) draw(x, y, glyph, colour);
      }
      x += kAdvance;
    }
  }
  [[nodiscard]] const std::uint8_t* pixels() const { return pixels_.data(); }

 private:
  void draw(int x, int y, const Glyph& glyph, Colour colour) {
    for (int column = 0; column < 5; ++column) {
      for (int row = 0; row < 7; ++row) {
        if ((glyph.columns[static_cast<std::size_t>(column)] >> row & 1U) == 0) continue;
        for (int i = 0; i < kScale * kScale; ++i) dot(x + column * kScale + i % kScale, y + row * kScale + i / kScale, colour);
      }
    }
  }

  int height_;
  std::vector<std::uint8_t> pixels_;
};

std::string number_text(double value) {
  std::array<char, 32> text{};
  if (std::abs(value) >= 1e6) {
    std::snprintf(text.data(), text.size(), "%.1fm", value / 1e6);
  } else if (std::abs(value) >= 1e4) {
    std::snprintf(text.data(), text.size(), "%.0fk", value / 1e3);
  } else {
    std::snprintf(text.data(), text.size(), "%.0f", value);
  }
  return text.data();
}

/// A round number at least a fifth of `span`: where the grid's lines are.
double grid_step(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(span, 1e-9) / 5)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (power * times * 5 >= span) return power * times;
  }
  return power * 10;
}

struct Axes {
  double x_min = 1;
  double x_max = 1;
  double y_min = 0;
  double y_max = 1;
  int top = 0;

  [[nodiscard]] double x(double value) const {
    const double span = std::max(std::log2(x_max / x_min), 1e-9);
    return kLeft + std::log2(value / x_min) / span * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return top + kPanelHeight - kBottom - (value - y_min) / (y_max - y_min) * (kPanelHeight - kTop - kBottom);
  }
};

Axes axes_of(const PlotPanel& panel, int top) {
  Axes axes;
  axes.top = top;
  bool first = true;
  for (const PlotSeries& series : panel.series) {
    for (const PlotPoint& point : series.points) {
      axes.x_min = first ? point.x : std::min(axes.x_min, point.x);
      axes.x_max = first ? point.x : std::max(axes.x_max, point.x);
      axes.y_min = std::min(axes.y_min, point.y);
      axes.y_max = std::max(axes.y_max, point.y);
      first = false;
    }
  }
  const double step = grid_step(axes.y_max - axes.y_min);
  axes.y_min = std::floor(axes.y_min / step) * step;
  axes.y_max = std::ceil(axes.y_max / step) * step;
  return axes;
}

void draw_axes(Canvas& canvas, const PlotPanel& panel, const Axes& axes) {
  const double step = grid_step(axes.y_max - axes.y_min);
  for (double value = axes.y_min; value <= axes.y_max + step / 2; value += step) {
    const double y = axes.y(value);
    canvas.line(kLeft, y, kWidth - kRight, y, 0, std::abs(value) < step / 2 ? kInk : kGrid);
    const std::string label = number_text(value);
    canvas.text(kLeft - 8 - static_cast<int>(label.size()) * kAdvance, static_cast<int>(y) - 7, label, kInk);
  }
  std::vector<double> marks;
  for (const PlotSeries& series : panel.series) {
    for (const PlotPoint& point : series.points) marks.push_back(point.x);
  }
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  for (const double mark : marks) {
    const std::string label = number_text(mark);
    const int x = static_cast<int>(axes.x(mark));
    canvas.line(x, axes.y(axes.y_min), x, axes.y(axes.y_max), 0, kGrid);
    canvas.text(x - static_cast<int>(label.size()) * kAdvance / 2, axes.top + kPanelHeight - kBottom + 8, label, kInk);
  }
  canvas.text(kLeft, axes.top + 8, panel.title + ": " + panel.y_label, kInk);
  canvas.text(kLeft, axes.top + kPanelHeight - 24, panel.x_label, kInk);
}

void draw_series(Canvas& canvas, const PlotPanel& panel, const Axes& axes) {
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const PlotSeries& series = panel.series[i];
    const Colour colour = kColours[i % kColours.size()];
    for (std::size_t p = 0; p < series.points.size(); ++p) {
      const double x = axes.x(series.points[p].x);
      const double y = axes.y(series.points[p].y);
      canvas.square(static_cast<int>(x), static_cast<int>(y), 3, colour);
      if (p > 0) canvas.line(axes.x(series.points[p - 1].x), axes.y(series.points[p - 1].y), x, y, 1, colour);
    }
    const int y = axes.top + kTop + static_cast<int>(i) * 24;
    canvas.line(kWidth - kRight + 14, y, kWidth - kRight + 40, y, 2, colour);
    canvas.text(kWidth - kRight + 48, y - 7, series.name, kInk);
  }
}

}  // namespace

Status write_png_plot(const std::filesystem::path& file, const std::string& title, std::span<const PlotPanel> panels) {
  const int height = kTitleHeight + kPanelHeight * static_cast<int>(panels.size());
  Canvas canvas(height);
  canvas.text(16, 12, title, kInk);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Axes axes = axes_of(panels[i], kTitleHeight + kPanelHeight * static_cast<int>(i));
    draw_axes(canvas, panels[i], axes);
    draw_series(canvas, panels[i], axes);
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = kWidth;
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, file.c_str(), 0, canvas.pixels(), 0, nullptr) == 0) {
    return Status::io_error("cannot write the plot " + file.string() + ": " + image.message);
  }
  return Status::ok();
}

}  // namespace nvmdb::tpcc
