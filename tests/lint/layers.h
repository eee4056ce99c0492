#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nvmdb::lint {

/// An include line, or another line, that breaks a rule of the layers.
struct Violation {
  std::string file;  ///< from the root of the sources
  std::size_t line = 0;
  std::string text;
  std::string rule;
};

/// Checks one file. `path` is its place from the root of the sources: its first folder tells its layer.
[[nodiscard]] std::vector<Violation> check_file(const std::string& path, const std::string& content);

/// Checks every source and header of the product below `root`; `files` counts them.
[[nodiscard]] std::vector<Violation> check_tree(const std::filesystem::path& root, std::size_t& files);

}  // namespace nvmdb::lint
