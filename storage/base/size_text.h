#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/result.h"

namespace nvmdb {

/// Parses "512MiB", "4GiB", "64KiB", "1TiB" or a plain count of bytes.
/// Errors: InvalidArgument (anything else, overflow).
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

/// "4.0 GiB": for people. Exact multiples print without a fraction ("512 MiB").
[[nodiscard]] std::string format_size(std::uint64_t bytes);

}  // namespace nvmdb
