#include "cli/messages.h"

#include <cstdio>

namespace nvmdb::cli {

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    line += code < 0x20 || code == 0x7f ? ' ' : c;
  }
  return line;
}

void tell_error(const std::string& message) {
  const std::string line = "nvmdb: " + one_line(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void tell_error(const Status& status) {
  tell_error(status.message());
}

}  // namespace nvmdb::cli
