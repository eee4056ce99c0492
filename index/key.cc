#include "index/key.h"

#include <cstdio>

namespace nvmdb::index {

std::string Key::to_string() const {
  std::string text;
  for (const std::uint64_t word : span()) {
    std::array<char, 18> part{};
    std::snprintf(part.data(), part.size(), "%s%016llx", text.empty() ? "" : ".", static_cast<unsigned long long>(word));
    text += part.data();
  }
  return text;
}

}  // namespace nvmdb::index
