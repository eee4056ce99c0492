#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/result.h"

namespace nvmdb::met {

/// Seconds since 1970-01-01T00:00:00Z, proleptic Gregorian, no leap seconds.
using UnixSeconds = std::int64_t;

/// Builds a time from calendar fields; hour 24 is the next day's 00. Errors: InvalidArgument (no such date or time).
[[nodiscard]] Result<UnixSeconds> make_time(int year, int month, int day, int hour, int minute, int second);

/// Parses YYYY-MM-DDTHH[:MM[:SS]]Z (the Z may be missing, `T` may be `_` or a blank) and YYYYMMDDTHHMMZ.
/// Errors: InvalidArgument (says what was expected).
[[nodiscard]] Result<UnixSeconds> parse_time(std::string_view text);

/// "2024-01-15T06:00:00Z".
[[nodiscard]] std::string format_time(UnixSeconds time);

/// "2024-01-15T06Z" or, when minutes are not zero, "2024-01-15T06:30Z" (with seconds when they are not zero): how a run is written.
[[nodiscard]] std::string format_run_time(UnixSeconds time);

/// What the reference time is the time of. Source: GRIB2 code table 1.2.
enum class ReferenceSignificance : std::uint8_t {
  Analysis = 0,
  StartOfForecast = 1,
  VerifyingTime = 2,
  ObservationTime = 3,
  Missing = 255,
};

}  // namespace nvmdb::met
