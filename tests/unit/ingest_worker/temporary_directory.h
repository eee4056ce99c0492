#pragma once

#include <fstream>
#include <string>

#include "tests/support/scratch_directory.h"

namespace nvmdb::ingest {

/// A directory for one test, removed with what is in it.
class TemporaryDirectory : public test::ScratchDirectory {
 public:
  /// Makes, or overwrites, a file.
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path() / name, std::ios::binary) << content;
    return path() / name;
  }
};

inline std::string read_whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace nvmdb::ingest
