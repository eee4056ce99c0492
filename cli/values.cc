#include "cli/values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <vector>

namespace nvmdb::cli {
namespace {

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// The numbers of "1,2,3"; empty when there are not `count` of them.
std::vector<double> parse_numbers(std::string_view text, std::size_t count) {
  std::vector<double> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto number = parse_number(text.substr(0, comma));
    if (!number || numbers.size() == count) return {};
    numbers.push_back(*number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return numbers.size() == count ? numbers : std::vector<double>{};
}

bool is_latitude(double value) {
  return value >= -90 && value <= 90;
}
bool is_longitude(double value) {
  return value >= -180 && value <= 360;
}

}  // namespace

Result<query::Point> parse_point(const std::string& text) {
  const std::vector<double> numbers = parse_numbers(text, 2);
  if (numbers.empty()) {
    return Status::invalid_argument("\"" + text + "\" is not LAT,LON in degrees, such as 30.5,114.3");
  }
  if (!is_latitude(numbers[0]) || !is_longitude(numbers[1])) {
    return Status::invalid_argument("\"" + text +
                                    "\": latitude must be -90..90 and longitude -180..360 (LAT first)");
  }
  return query::Point{numbers[0], numbers[1]};
}

Result<std::vector<query::Point>> read_points(const std::string& file) {
  constexpr std::size_t kPointsMax = 100'000;
  constexpr std::size_t kLineBytesMax = 4096;
  std::ifstream stream(file);
  if (!stream) return Status::not_found(file + ": cannot be read");
  std::vector<query::Point> points;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const std::string where = file + ", line " + std::to_string(number) + ": ";
    if (line.size() > kLineBytesMax) return Status::invalid_argument(where + "is too long");
    const std::size_t comma = line.find(',');
    const auto point = parse_point(comma == std::string::npos ? line : line.substr(0, line.find(',', comma + 1)));
    const bool names = points.empty() && line.find_first_of("0123456789") == std::string::npos;
    if (!point.is_ok() && names) continue;
    if (!point.is_ok()) return Status::invalid_argument(where + point.status().message());
    if (points.size() == kPointsMax)
      return Status::invalid_argument(file + ": more than " + std::to_string(kPointsMax) + " points");
    points.push_back(*point);
  }
  if (points.empty()) return Status::invalid_argument(file + ": has no point; write LAT,LON in each line");
  return points;
}

Result<query::Box> parse_box(const std::string& text) {
  const std::vector<double> numbers = parse_numbers(text, 4);
  if (numbers.empty()) {
    return Status::invalid_argument("\"" + text + "\" is not W,S,E,N in degrees, such as 110,28,118,33");
  }
  const query::Box box{numbers[0], numbers[1], numbers[2], numbers[3]};
  if (!is_longitude(box.west) || !is_longitude(box.east) || !is_latitude(box.south) ||
      !is_latitude(box.north)) {
    return Status::invalid_argument("\"" + text +
                                    "\": longitudes must be -180..360 and latitudes -90..90 (W,S,E,N)");
  }
  if (box.south > box.north) {
    return Status::invalid_argument("\"" + text + "\": south is above north; the order is W,S,E,N");
  }
  return box;
}

Result<LevelText> parse_level(const std::string& text) {
  if (const auto number = parse_number(text)) return LevelText{*number, std::nullopt};
  // The dash of a layer is not the first character: that one is a sign.
  const std::size_t dash = text.find('-', 1);
  if (dash != std::string::npos) {
    const auto top = parse_number(std::string_view(text).substr(0, dash));
    const auto bottom = parse_number(std::string_view(text).substr(dash + 1));
    if (top && bottom) return LevelText{*top, *bottom};
  }
  return Status::invalid_argument("\"" + text + "\" is not a level, such as 500, or a layer, such as 0-0.1");
}

Result<std::optional<met::UnixSeconds>> parse_run(const std::string& text) {
  if (text == "latest") return std::optional<met::UnixSeconds>();
  const auto time = met::parse_time(text);
  if (!time.is_ok()) {
    return Status::invalid_argument("\"" + text +
                                    "\" is not a run: write latest, or a time such as 2024-01-15T06Z");
  }
  return std::optional<met::UnixSeconds>(*time);
}

Status parse_run_name(const std::string& text, query::Selection& selection) {
  std::string time = text;
  if (const std::size_t last = text.rfind('/'); last != std::string::npos) {
    const std::size_t first = text.find('/');
    selection.model = text.substr(0, first);
    if (first != last) selection.domain = text.substr(first + 1, last - first - 1);
    time = text.substr(last + 1);
  }
  const auto parsed = met::parse_time(time);
  if (!parsed.is_ok()) {
    return Status::invalid_argument("\"" + text +
                                    "\" is not a run: write its time, such as 2024-01-15T06Z, or "
                                    "MODEL/DOMAIN/TIME");
  }
  selection.run = *parsed;
  return Status::ok();
}

}  // namespace nvmdb::cli
