#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "memory_sink.h"

namespace nvmdb::ingest::testing {

/// Folder of the shared test data: NVMDB_SHARED_DATA, else shared/data beside the source tree or a parent of
/// it. Empty when it is not there.
[[nodiscard]] std::filesystem::path shared_data();

/// Names of the GRIB files that have an expected result, in order.
[[nodiscard]] std::vector<std::string> given_grib_files();

[[nodiscard]] nlohmann::json expected_result(const std::string& file);
[[nodiscard]] nlohmann::json expected_case(const std::string& name);

/// Decodes a given file. `space_bytes`: size of the sink's spaces.
[[nodiscard]] Status decode_given(const std::string& file, MemorySink& sink);
/// Decodes bytes as a file of their own.
[[nodiscard]] Status decode_bytes(ByteSpan bytes, MemorySink& sink, const DecodeLimits& limits = {});
[[nodiscard]] Bytes read_given(const std::string& file);

}  // namespace nvmdb::ingest::testing

/// Skips a test, and says why, where the shared data is not installed.
#define NVMDB_NEED_SHARED_DATA()                                                                            \
  do {                                                                                                      \
    if (::nvmdb::ingest::testing::shared_data().empty()) {                                                  \
      GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA to its folder"; \
    }                                                                                                       \
  } while (false)
