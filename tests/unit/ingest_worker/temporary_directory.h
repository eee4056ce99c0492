#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "storage/base/check.h"

namespace nvmdb::ingest {

/// A directory for one test, removed with what is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nvmdb-ingest-XXXXXX").string();
    NVMDB_CHECK(::mkdtemp(pattern.data()) != nullptr, "cannot make a directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace nvmdb::ingest
