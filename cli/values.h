#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/met/step.h"
#include "engine/met/time.h"
#include "query/request.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

// Values of the command line. Errors: InvalidArgument, in one line with an example.

/// "LAT,LON": latitude -90..90, longitude -180..360.
[[nodiscard]] Result<query::Point> parse_point(const std::string& text);
/// A file of stations: "LAT,LON" in each line; what follows another comma, empty lines, lines that begin with "#" and
/// a first line of names are skipped. At most 100,000. Errors: also NotFound, IoError; messages name the line.
[[nodiscard]] Result<std::vector<query::Point>> read_points(const std::string& file);
/// "W,S,E,N".
[[nodiscard]] Result<query::Box> parse_box(const std::string& text);
/// "500", "0.5", or a layer "0-0.1".
struct LevelText {
  double value = 0;
  std::optional<double> bottom;
};
[[nodiscard]] Result<LevelText> parse_level(const std::string& text);
/// "latest" (nothing) or a time.
[[nodiscard]] Result<std::optional<met::UnixSeconds>> parse_run(const std::string& text);
/// RUN of `drop`: a time, or MODEL/DOMAIN/TIME as `nvmdb runs` can be read.
[[nodiscard]] Status parse_run_name(const std::string& text, query::Selection& selection);

}  // namespace nvmdb::cli
