#include "tests/support/shared_data.h"

#include <cstdlib>

namespace nvmdb::test {
namespace {

bool is_shared_data(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path / "given") && std::filesystem::is_directory(path / "expected");
}

}  // namespace

std::filesystem::path shared_data() {
  if (const char* set = std::getenv("NVMDB_SHARED_DATA"); set != nullptr)
    return is_shared_data(set) ? set : "";
  for (std::filesystem::path at = NVMDB_SOURCE_DIR; at.has_relative_path(); at = at.parent_path()) {
    if (const auto path = at.parent_path() / "shared" / "data"; is_shared_data(path)) return path;
  }
  return "";
}

}  // namespace nvmdb::test
