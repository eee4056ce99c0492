#pragma once

#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace nvmdb::cli {

/// One line on stderr, "nvmdb: ...": line breaks and control characters in it become blanks, so that text
/// from files and servers cannot steer a terminal.
void tell_error(const std::string& message);
void tell_error(const Status& status);
/// `text` without control characters.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace nvmdb::cli
