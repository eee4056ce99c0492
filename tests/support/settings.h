#pragma once

#include <cstdint>
#include <cstdlib>

namespace nvmdb::test {

/// A number from the environment, so that a test can be made longer or another one without building it again.
[[nodiscard]] inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace nvmdb::test
