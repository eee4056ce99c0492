#include "ingest/decode/grib/times.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr unsigned kSecond = 13;
constexpr std::int64_t kCountMax = std::int64_t{1} << 33U;
constexpr std::int64_t kMonthsMax = 12 * 20'000;
constexpr std::uint32_t kMissing4 = 0xffffffffU;

/// Seconds of a unit of fixed length; 0: a unit of months.
std::int64_t unit_seconds(unsigned unit) {
  switch (unit) {
    case 0:
      return 60;
    case 1:
      return 3600;
    case 2:
      return kSecondsPerDay;
    case 10:
      return 3 * 3600;
    case 11:
      return 6 * 3600;
    case 12:
      return 12 * 3600;
    case kSecond:
      return 1;
    default:
      return 0;
  }
}

std::int64_t unit_months(unsigned unit) {
  switch (unit) {
    case 3:
      return 1;
    case 4:
      return 12;
    case 5:
      return 120;
    case 6:
      return 360;
    case 7:
      return 1200;
    default:
      return 0;
  }
}

Result<std::int64_t> months_to_seconds(met::UnixSeconds reference, std::int64_t months) {
  if (months > kMonthsMax || months < -kMonthsMax) {
    return Status::invalid_argument("a step of " + std::to_string(months) + " months is out of range");
  }
  const std::chrono::sys_seconds start{std::chrono::seconds{reference}};
  const auto day = std::chrono::floor<std::chrono::days>(start);
  std::chrono::year_month_day date = std::chrono::year_month_day{day} + std::chrono::months{months};
  if (!date.ok()) date = date.year() / date.month() / std::chrono::last;
  return (std::chrono::sys_days{date} - day).count() * kSecondsPerDay;
}

Result<met::UnixSeconds> read_time7(ByteSpan section, std::size_t at) {
  return met::make_time(static_cast<int>(octet2(section, at)), static_cast<int>(octet1(section, at + 2)),
                        static_cast<int>(octet1(section, at + 3)), static_cast<int>(octet1(section, at + 4)),
                        static_cast<int>(octet1(section, at + 5)), static_cast<int>(octet1(section, at + 6)));
}

met::ReferenceSignificance significance(std::uint32_t code) {
  return code <= 3 ? static_cast<met::ReferenceSignificance>(code) : met::ReferenceSignificance::Missing;
}

/// Source: GRIB2 code table 4.10.
met::StepProcess process_of_table(std::int64_t code) {
  if (code >= 0 && code <= 9) return static_cast<met::StepProcess>(code + 1);
  return code == 11 ? met::StepProcess::Summation : met::StepProcess::Other;
}

/// Where the message does not say how values were combined, the parameter may: GRIB1 has no code for extremes
/// ("valid between P1 and P2"), and NCEP left code 255 in GRIB2.
met::StepProcess process_of_name(const Handle& handle) {
  const std::string name = handle.text("name").value_or("");
  if (name.find("inimum") != std::string::npos) return met::StepProcess::Minimum;
  if (name.find("aximum") != std::string::npos) return met::StepProcess::Maximum;
  const std::string type = handle.text("stepType").value_or("");
  if (type == "min") return met::StepProcess::Minimum;
  if (type == "max") return met::StepProcess::Maximum;
  return type == "accum" ? met::StepProcess::Accumulation : met::StepProcess::Other;
}

// Edition 2.

/// The end that the product gives as a date; nothing when it gives none.
std::optional<std::int64_t> end_by_date(const Handle& handle, met::UnixSeconds reference) {
  const auto part = [&](const char* key) { return static_cast<int>(handle.integer(key).value_or(-1)); };
  const auto time =
      met::make_time(part("yearOfEndOfOverallTimeInterval"), part("monthOfEndOfOverallTimeInterval"),
                     part("dayOfEndOfOverallTimeInterval"), part("hourOfEndOfOverallTimeInterval"),
                     part("minuteOfEndOfOverallTimeInterval"), part("secondOfEndOfOverallTimeInterval"));
  if (!time.is_ok()) return std::nullopt;
  return *time - reference;
}

/// One time range: its length counts. Several: only the date tells the end of the whole.
Result<std::int64_t> interval_end(const Handle& handle, met::UnixSeconds reference, std::int64_t start,
                                  std::int64_t ranges) {
  const std::int64_t length = handle.integer("lengthOfTimeRange").value_or(kMissing4);
  const auto unit = static_cast<unsigned>(handle.integer("indicatorOfUnitForTimeRange").value_or(255));
  // Each field of the mean has its own reference time (monthly means of analyses): the step is that of one
  // field.
  constexpr std::int64_t kSuccessiveReferenceTimes = 1;
  if (ranges == 1 && handle.integer("typeOfTimeIncrement") == kSuccessiveReferenceTimes) return start;
  if (ranges == 1 && length != kMissing4) {
    if (const auto seconds = units_to_seconds(reference + start, length, unit); seconds.is_ok()) {
      return start + *seconds;
    }
  }
  if (const auto end = end_by_date(handle, reference)) return *end;
  return Status::corruption("the time range has neither a length nor an end");
}

Status read_reference2(ByteSpan identification, FieldTimes& times) {
  NVMDB_ASSIGN(times.reference_time, read_time7(identification, 12));
  times.significance = significance(octet1(identification, 11));
  return Status::ok();
}

Result<met::Step> read_step2(const Handle& handle, met::UnixSeconds reference) {
  const auto coded = handle.integer("forecastTime");
  if (!coded) return met::Step::instant(0);  // satellite products: valid at the reference time
  // ecCodes reads sign and magnitude; undone, to tell two's complement from it.
  const auto raw =
      *coded < 0 ? 0x80000000U | static_cast<std::uint32_t>(-*coded) : static_cast<std::uint32_t>(*coded);
  const auto unit = static_cast<unsigned>(handle.integer("indicatorOfUnitOfTimeRange").value_or(1));
  NVMDB_ASSIGN(const std::int64_t start, units_to_seconds(reference, signed4(raw), unit));
  const auto ranges = handle.integer("numberOfTimeRange");
  const auto process = handle.integer("typeOfStatisticalProcessing");
  if (!ranges || *ranges < 1 || !process) return met::Step::instant(start);
  NVMDB_ASSIGN(const std::int64_t end, interval_end(handle, reference, start, *ranges));
  constexpr std::int64_t kUnsaid = 255;
  return met::Step{start, end, *process == kUnsaid ? process_of_name(handle) : process_of_table(*process)};
}

// Edition 1.

Result<met::UnixSeconds> read_reference1(ByteSpan pds) {
  const std::uint32_t century = octet1(pds, 24);
  const std::uint32_t year = (century - (century > 0 ? 1U : 0U)) * 100 + octet1(pds, 12);
  // Monthly means are written with day 0: the month as a whole, which starts on day 1.
  const std::uint32_t day = octet1(pds, 14) == 0 ? 1 : octet1(pds, 14);
  return met::make_time(static_cast<int>(year), static_cast<int>(octet1(pds, 13)), static_cast<int>(day),
                        static_cast<int>(octet1(pds, 15)), static_cast<int>(octet1(pds, 16)), 0);
}

/// GRIB1 code table 4 in units of GRIB2 code table 4.4; `count` changes where there is no such unit.
unsigned unit_of_edition1(std::uint32_t unit, std::int64_t& count) {
  if (unit == 254) return kSecond;
  if (unit == 13 || unit == 14) {
    count *= unit == 13 ? 15 : 30;
    return 0;
  }
  return unit;
}

struct Interval {
  std::int64_t start = 0;
  std::int64_t end = 0;
  met::StepProcess process = met::StepProcess::Instant;
};

Interval interval_of_indicator(ByteSpan pds, const Handle& handle) {
  using met::StepProcess;
  const std::int64_t p1 = octet1(pds, 18);
  const std::int64_t p2 = octet1(pds, 19);
  const std::int64_t gaps = std::max<std::int64_t>(octet2(pds, 21), 1) - 1;
  switch (octet1(pds, 20)) {
    case 0:
      return {p1, p1, StepProcess::Instant};
    case 1:
      return {0, 0, StepProcess::Instant};
    case 2:
      return {p1, p2, process_of_name(handle)};
    case 3:
      return {p1, p2, StepProcess::Average};
    case 4:
      return {p1, p2, StepProcess::Accumulation};
    case 5:
      return {p1, p2, StepProcess::Difference};
    case 6:
      return {-p1, -p2, StepProcess::Average};
    case 7:
      return {-p1, p2, StepProcess::Average};
    case 10:
      return {octet2(pds, 18), octet2(pds, 18), StepProcess::Instant};
    case 113:
      return {p1, p1, StepProcess::Average};
    case 114:
      return {p1, p1, StepProcess::Accumulation};
    case 115:
      return {p1, p1 + gaps * p2, StepProcess::Average};
    case 116:
      return {p1, p1 + gaps * p2, StepProcess::Accumulation};
    case 117:
      return {p1, p1, StepProcess::Average};
    case 118:
      return {0, 0, StepProcess::Covariance};
    case 119:
      return {p1, p1 + gaps * p2, StepProcess::StandardDeviation};
    case 123:
      return {0, gaps * p2, StepProcess::Average};
    case 124:
      return {0, gaps * p2, StepProcess::Accumulation};
    default:
      return {p1, p1, StepProcess::Other};
  }
}

Result<met::Step> read_step1(ByteSpan pds, const Handle& handle, met::UnixSeconds reference) {
  Interval interval = interval_of_indicator(pds, handle);
  const std::uint32_t unit = octet1(pds, 17);
  const bool at_reference = interval.start == 0 && interval.end == 0;
  if (at_reference) return met::Step{0, 0, interval.process};  // analyses may have no unit
  const unsigned start_unit = unit_of_edition1(unit, interval.start);
  unit_of_edition1(unit, interval.end);
  NVMDB_ASSIGN(const std::int64_t start, units_to_seconds(reference, interval.start, start_unit));
  NVMDB_ASSIGN(const std::int64_t end, units_to_seconds(reference, interval.end, start_unit));
  return met::Step{start, end, interval.process};
}

}  // namespace

Result<std::int64_t> units_to_seconds(met::UnixSeconds reference, std::int64_t count, unsigned unit) {
  if (count > kCountMax || count < -kCountMax) {
    return Status::invalid_argument("a step of " + std::to_string(count) + " units is out of range");
  }
  if (const std::int64_t seconds = unit_seconds(unit); seconds != 0) return count * seconds;
  if (const std::int64_t months = unit_months(unit); months != 0)
    return months_to_seconds(reference, count * months);
  if (count == 0) return std::int64_t{0};
  return Status::invalid_argument("unknown unit of time " + std::to_string(unit));
}

Result<FieldTimes> read_times(const FieldSections& sections, const Handle& handle) {
  FieldTimes times;
  if (sections.edition == 1) {
    NVMDB_ASSIGN(times.reference_time, read_reference1(sections.product));
    NVMDB_ASSIGN(times.step, read_step1(sections.product, handle, times.reference_time));
    if (octet1(sections.product, 20) == 1) times.significance = met::ReferenceSignificance::Analysis;
    return times;
  }
  NVMDB_TRY(read_reference2(sections.identification, times));
  NVMDB_ASSIGN(times.step, read_step2(handle, times.reference_time));
  return times;
}

Result<FieldTimes> read_times_at_point(const FieldSections& sections) {
  FieldTimes times;
  NVMDB_TRY(read_reference2(sections.identification, times));
  NVMDB_ASSIGN(const std::int64_t seconds,
               units_to_seconds(times.reference_time, signed4(octet4(sections.product, 18)),
                                octet1(sections.product, 17)));
  times.step = met::Step::instant(seconds);
  return times;
}

}  // namespace nvmdb::ingest::grib
