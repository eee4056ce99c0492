#include "engine/met/time.h"

#include <gtest/gtest.h>

namespace nvmdb::met {
namespace {

// Seconds since the epoch are from `date -u -d ... +%s`.
TEST(Time, MakesTimesOfTheGregorianCalendar) {
  EXPECT_EQ(make_time(1970, 1, 1, 0, 0, 0).value(), 0);
  EXPECT_EQ(make_time(2024, 2, 29, 12, 30, 15).value(), 1709209815);
  EXPECT_EQ(make_time(1900, 3, 1, 0, 0, 0).value(), -2203891200);
}

TEST(Time, TakesHour24AsTheNextDay) {
  EXPECT_EQ(make_time(2008, 10, 26, 24, 0, 0).value(), make_time(2008, 10, 27, 0, 0, 0).value());
  EXPECT_FALSE(make_time(2008, 10, 26, 24, 0, 1).is_ok());
}

TEST(Time, RefusesWhatIsNoTime) {
  EXPECT_EQ(make_time(2023, 2, 29, 0, 0, 0).status().code(), Code::InvalidArgument);
  EXPECT_EQ(make_time(0, 0, 0, 0, 0, 0).status().code(), Code::InvalidArgument);
  for (const char* text : {"", "yesterday", "2024-01-15", "2024-1-15T00Z", "2024-01-15T25Z", "2024-01-15T00ZZ", "20240115"}) {
    EXPECT_EQ(parse_time(text).status().code(), Code::InvalidArgument) << text;
  }
}

TEST(Time, ReadsTheWaysPeopleWriteIt) {
  const UnixSeconds expected = 1705298400;  // 2024-01-15 06:00 UTC
  for (const char* text : {"2024-01-15T06Z", "2024-01-15T06:00Z", "2024-01-15T06:00:00Z", "2024-01-15_06:00:00",
                           "2024-01-15_06_00_00", "2024-01-15 06:00", "20240115T0600Z", "20240115T06Z"}) {
    EXPECT_EQ(parse_time(text).value(), expected) << text;
  }
}

TEST(Time, WritesRunsShortly) {
  EXPECT_EQ(format_run_time(1705298400), "2024-01-15T06Z");
  EXPECT_EQ(format_run_time(1705298400 + 1800), "2024-01-15T06:30Z");
  EXPECT_EQ(format_run_time(1705298401), "2024-01-15T06:00:01Z");
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace nvmdb::met
