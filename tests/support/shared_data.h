#pragma once

#include <filesystem>

namespace nvmdb::test {

/// Folder of the shared test data (given/, expected/): NVMDB_SHARED_DATA, else shared/data beside the source
/// tree or a parent of it. Empty when it is not there.
[[nodiscard]] std::filesystem::path shared_data();

}  // namespace nvmdb::test

/// Skips a test, and says why, where the shared data is not installed.
#define NVMDB_NEEDS_SHARED_DATA()                                                                           \
  do {                                                                                                      \
    if (::nvmdb::test::shared_data().empty())                                                               \
      GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA to its folder"; \
  } while (false)
