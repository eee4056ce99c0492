#include "engine/met/step.h"

#include <array>
#include <charconv>
#include <utility>

namespace nvmdb::met {
namespace {

constexpr std::int64_t kStepSecondsMax = 1LL << 40U;

/// Reads "[-]N[unit]"; the unit is 0 when none is written. Seconds of a step without unit are hours.
bool take_step(std::string_view& text, std::int64_t& count, char& unit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  unit = 0;
  if (!text.empty() && (text[0] == 'h' || text[0] == 'm' || text[0] == 's' || text[0] == 'd')) {
    unit = text[0];
    text.remove_prefix(1);
  }
  return count > -kStepSecondsMax / 86400 && count < kStepSecondsMax / 86400;
}

std::int64_t unit_seconds(char unit) {
  switch (unit) {
    case 'd': return 86400;
    case 'm': return 60;
    case 's': return 1;
    default: return 3600;
  }
}

}  // namespace

std::string_view process_name(StepProcess process) {
  switch (process) {
    case StepProcess::Instant: return "instant";
    case StepProcess::Average: return "avg";
    case StepProcess::Accumulation: return "accum";
    case StepProcess::Maximum: return "max";
    case StepProcess::Minimum: return "min";
    case StepProcess::Difference: return "diff";
    case StepProcess::RootMeanSquare: return "rms";
    case StepProcess::StandardDeviation: return "sd";
    case StepProcess::Covariance: return "cov";
    case StepProcess::DifferenceReversed: return "rdiff";
    case StepProcess::Ratio: return "ratio";
    case StepProcess::StandardizedAnomaly: return "anomaly";
    case StepProcess::Summation: return "sum";
    case StepProcess::Other: return "other";
  }
  return "other";
}

std::string format_step(const Step& step) {
  static constexpr std::array<std::pair<std::int64_t, char>, 3> kUnits{{{3600, 'h'}, {60, 'm'}, {1, 's'}}};
  for (const auto& [seconds, letter] : kUnits) {
    if (step.start_seconds % seconds != 0 || step.end_seconds % seconds != 0) continue;
    const std::string end = std::to_string(step.end_seconds / seconds) + letter;
    if (step.is_instant()) return end;
    return std::to_string(step.start_seconds / seconds) + "-" + end;
  }
  return {};
}

bool StepSelector::matches(const Step& step) const {
  if (all) return true;
  if (interval) return step.start_seconds == start_seconds && step.end_seconds == end_seconds;
  return step.end_seconds == end_seconds;
}

Result<StepSelector> parse_step(std::string_view text) {
  StepSelector selector;
  if (text == "all") {
    selector.all = true;
    return selector;
  }
  std::string_view rest = text;
  std::int64_t first = 0;
  std::int64_t second = 0;
  char first_unit = 0;
  char second_unit = 0;
  if (take_step(rest, first, first_unit)) {
    if (rest.empty()) {
      selector.start_seconds = selector.end_seconds = first * unit_seconds(first_unit);
      return selector;
    }
    if (rest[0] == '-') {
      rest.remove_prefix(1);
      if (take_step(rest, second, second_unit) && rest.empty()) {
        // "0-6h": the unit stands behind the last number and counts for both.
        if (first_unit == 0) first_unit = second_unit;
        selector.interval = true;
        selector.start_seconds = first * unit_seconds(first_unit);
        selector.end_seconds = second * unit_seconds(second_unit);
        return selector;
      }
    }
  }
  return Status::invalid_argument("step '" + std::string(text) +
                                  "' is not understood; write it like 6, 6h, 90m, 0-6h or all");
}

}  // namespace nvmdb::met
