#pragma once

#include <optional>
#include <string>

#include "engine/met/step.h"
#include "engine/met/time.h"
#include "query/request.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

// Values of the command line. Errors: InvalidArgument, in one line with an example.

/// "LAT,LON": latitude -90..90, longitude -180..360.
[[nodiscard]] Result<query::Point> parse_point(const std::string& text);
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
