#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/result.h"

namespace nvmdb::met {

/// How values over an interval were combined. Source: GRIB2 code table 4.10 (+1, so that 0 is an instant).
enum class StepProcess : std::uint8_t {
  Instant = 0,
  Average = 1,
  Accumulation = 2,
  Maximum = 3,
  Minimum = 4,
  Difference = 5,
  RootMeanSquare = 6,
  StandardDeviation = 7,
  Covariance = 8,
  DifferenceReversed = 9,
  Ratio = 10,
  StandardizedAnomaly = 11,
  Summation = 12,
  Other = 255,
};
/// "instant", "avg", "accum", "max", "min", "diff", "rms", "sd", ...: ecCodes' stepType words.
[[nodiscard]] std::string_view process_name(StepProcess process);

/// An interval after the reference time, in seconds; an instant when both ends are equal. Ends may be negative.
struct Step {
  std::int64_t start_seconds = 0;
  std::int64_t end_seconds = 0;
  StepProcess process = StepProcess::Instant;

  /// By end, then start, then process: the order of a time series.
  [[nodiscard]] std::strong_ordering operator<=>(const Step& other) const {
    if (end_seconds != other.end_seconds) return end_seconds <=> other.end_seconds;
    if (start_seconds != other.start_seconds) return start_seconds <=> other.start_seconds;
    return process <=> other.process;
  }
  bool operator==(const Step&) const = default;
  [[nodiscard]] bool is_instant() const { return start_seconds == end_seconds; }

  [[nodiscard]] static Step instant(std::int64_t seconds) { return {seconds, seconds, StepProcess::Instant}; }
};

/// "6h", "90m", "45s"; an interval "0-6h". The largest unit that divides both ends.
[[nodiscard]] std::string format_step(const Step& step);

/// What a user asked for: a point of time after the reference time or an interval; the process is not asked.
struct StepSelector {
  bool all = false;
  bool interval = false;
  std::int64_t start_seconds = 0;
  std::int64_t end_seconds = 0;

  /// A lone step matches what ends there: an instant first, else intervals; an interval matches both ends.
  [[nodiscard]] bool matches(const Step& step) const;
};
/// Parses "6", "6h", "90m", "45s", "0-6h", "0-6", "-3h", "all". A number without unit is hours.
/// Errors: InvalidArgument.
[[nodiscard]] Result<StepSelector> parse_step(std::string_view text);

}  // namespace nvmdb::met
