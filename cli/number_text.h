#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nvmdb::cli {

/// The shortest text that reads back to the same number; NaN gives an empty text.
void append_number(std::string& out, float value);
void append_number(std::string& out, double value);
void append_number(std::string& out, std::int64_t value);
[[nodiscard]] std::string number_text(double value);

/// A CSV field: quoted when it needs to be. Source: RFC 4180.
void append_csv(std::string& out, std::string_view text);
/// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. Source: RFC 8259.
void append_json(std::string& out, std::string_view text);
/// A JSON number; NaN and infinities, which JSON has not, become null.
void append_json_number(std::string& out, float value);
void append_json_number(std::string& out, double value);

}  // namespace nvmdb::cli
