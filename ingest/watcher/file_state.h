#pragma once

#include <cstdint>

namespace nvmdb::ingest {

/// What tells a file's content apart without reading it.
struct FileState {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;  ///< modification time, ns since 1970
  bool operator==(const FileState&) const = default;
};

}  // namespace nvmdb::ingest
