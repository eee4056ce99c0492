#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/result.h"

namespace nvmdb::server {

/// What a configuration file of `serve` says. The names are those of the flags; a flag wins over the file.
struct FileConfig {
  std::optional<std::string> pool;
  std::optional<std::string> listen;
  std::optional<std::uint64_t> dram_bytes;
  std::optional<std::uint64_t> nvm_bytes;
  std::optional<bool> no_create;
  std::optional<bool> insecure_listen;
  std::optional<std::uint64_t> ingest_workers;
  std::optional<std::uint64_t> scrub_bytes_per_second;
  std::optional<std::string> placement;
  std::optional<std::string> device_model;
  std::vector<std::filesystem::path> ingest_roots;
};

/// Reads a TOML file. Errors: NotFound, IoError, InvalidArgument (syntax, an unknown name, a wrong type: with
/// line).
[[nodiscard]] Result<FileConfig> load_config(const std::filesystem::path& file);

}  // namespace nvmdb::server
