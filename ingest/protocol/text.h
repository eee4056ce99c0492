#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nvmdb::ingest::protocol {

/// True for UTF-8 without control characters (so no line break can forge a log line) of at most `size_max`
/// bytes.
[[nodiscard]] bool is_clean_text(std::string_view text, std::size_t size_max);

/// Makes it so: other bytes become '?', what is too long is cut.
[[nodiscard]] std::string clean_text(std::string_view text, std::size_t size_max);

}  // namespace nvmdb::ingest::protocol
