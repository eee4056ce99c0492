#include "cli/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace nvmdb::cli {
namespace {

template <class Number>
void append_shortest(std::string& out, Number value) {
  std::array<char, 40> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{}) out.append(text.data(), end);
}

template <class Real>
void append_real(std::string& out, Real value) {
  if (!std::isnan(value)) append_shortest(out, value);
}

template <class Real>
void append_json_real(std::string& out, Real value) {
  if (std::isfinite(value)) {
    append_shortest(out, value);
  } else {
    out += "null";
  }
}

}  // namespace

void append_number(std::string& out, float value) {
  append_real(out, value);
}
void append_number(std::string& out, double value) {
  append_real(out, value);
}
void append_number(std::string& out, std::int64_t value) {
  append_shortest(out, value);
}
void append_json_number(std::string& out, float value) {
  append_json_real(out, value);
}
void append_json_number(std::string& out, double value) {
  append_json_real(out, value);
}

std::string number_text(double value) {
  std::string out;
  append_number(out, value);
  return out;
}

void append_csv(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_json(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace nvmdb::cli
