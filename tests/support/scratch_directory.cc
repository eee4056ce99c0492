#include "tests/support/scratch_directory.h"

#include <cstdlib>
#include <string>
#include <system_error>

#include "storage/base/check.h"

namespace nvmdb::test {

ScratchDirectory::ScratchDirectory(Place place) {
  std::error_code error;
  std::filesystem::path parent = NVMDB_BINARY_DIR;
  if (place == Memory) {
    parent = std::filesystem::is_directory("/dev/shm", error) ? "/dev/shm"
                                                              : std::filesystem::temp_directory_path();
  }
  std::string pattern = (parent / "nvmdb-test-XXXXXX").string();
  NVMDB_CHECK(::mkdtemp(pattern.data()) != nullptr, "no scratch directory in " + parent.string());
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nvmdb::test
