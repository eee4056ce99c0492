#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cli/output.h"
#include "query/answer.h"

namespace nvmdb::cli {

/// What `write(output)` writes.
template <class Write>
std::string written(Write write) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nvmdb_cli_" + std::to_string(::getpid()));
  {
    auto output = Output::open(file.string());
    EXPECT_TRUE(output.is_ok());
    const Status status = write(*output);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    const Status finished = output->finish();
    EXPECT_TRUE(finished.is_ok()) << finished.to_string();
  }
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  std::filesystem::remove(file);
  return text.str();
}

/// 2024-01-15T00Z, 2 m temperature at two points and two steps, one value missing.
[[nodiscard]] query::SeriesAnswer small_series();
/// 2 x 3 values on a regular grid.
[[nodiscard]] query::SlabAnswer small_slab();

}  // namespace nvmdb::cli
