#include "engine/met/time.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace nvmdb::met {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

/// Reads exactly `digits` decimal digits.
bool take_digits(std::string_view& text, std::size_t digits, int& value) {
  if (text.size() < digits) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc{} || end != text.data() + digits || text[0] == '-') return false;
  text.remove_prefix(digits);
  return true;
}

bool take_any(std::string_view& text, std::string_view choices) {
  if (text.empty() || choices.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

struct Fields {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

bool parse_dashed(std::string_view text, Fields& f) {
  if (!take_digits(text, 4, f.year) || !take_any(text, "-") || !take_digits(text, 2, f.month) ||
      !take_any(text, "-") || !take_digits(text, 2, f.day) || !take_any(text, "T_ ") || !take_digits(text, 2, f.hour))
    return false;
  if (take_any(text, ":_")) {
    if (!take_digits(text, 2, f.minute)) return false;
    if (take_any(text, ":_") && !take_digits(text, 2, f.second)) return false;
  }
  take_any(text, "Z");
  return text.empty();
}

bool parse_compact(std::string_view text, Fields& f) {
  if (!take_digits(text, 4, f.year) || !take_digits(text, 2, f.month) || !take_digits(text, 2, f.day) ||
      !take_any(text, "T") || !take_digits(text, 2, f.hour))
    return false;
  if (!text.empty() && text[0] != 'Z' && !take_digits(text, 2, f.minute)) return false;
  take_any(text, "Z");
  return text.empty();
}

struct Broken {
  int year;
  unsigned month, day, hour, minute, second;
};

Broken break_down(UnixSeconds time) {
  std::int64_t days = time / kSecondsPerDay;
  std::int64_t rest = time % kSecondsPerDay;
  if (rest < 0) {
    rest += kSecondsPerDay;
    --days;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
          static_cast<unsigned>(rest / 3600), static_cast<unsigned>(rest / 60 % 60), static_cast<unsigned>(rest % 60)};
}

}  // namespace

Result<UnixSeconds> make_time(int year, int month, int day, int hour, int minute, int second) {
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  const bool end_of_day = hour == 24 && minute == 0 && second == 0;
  const bool plain = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  if (month < 1 || day < 1 || year < 1 || year > 9999 || !date.ok() || !(plain || end_of_day)) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "no such time: %04d-%02d-%02d %02d:%02d:%02d", year, month, day, hour,
                  minute, second);
    return Status::invalid_argument(text.data());
  }
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return days * kSecondsPerDay + hour * 3600 + minute * 60 + second;
}

Result<UnixSeconds> parse_time(std::string_view text) {
  Fields f;
  if (!parse_dashed(text, f)) {
    f = Fields{};
    if (!parse_compact(text, f)) {
      return Status::invalid_argument("time '" + std::string(text) + "' is not understood; write it like 2024-01-15T06Z");
    }
  }
  return make_time(f.year, f.month, f.day, f.hour, f.minute, f.second);
}

std::string format_time(UnixSeconds time) {
  const Broken b = break_down(time);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02u:%02u:%02uZ", b.year, b.month, b.day, b.hour, b.minute,
                b.second);
  return text.data();
}

std::string format_run_time(UnixSeconds time) {
  const Broken b = break_down(time);
  std::array<char, 40> text{};
  if (b.second != 0) return format_time(time);
  if (b.minute != 0) {
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02u:%02uZ", b.year, b.month, b.day, b.hour, b.minute);
  } else {
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02uZ", b.year, b.month, b.day, b.hour);
  }
  return text.data();
}

}  // namespace nvmdb::met
