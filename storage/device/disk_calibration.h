#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "storage/base/result.h"

namespace nvmdb::storage {

/// One point of a sweep over the archive's disk, by one thread.
struct DiskFigure {
  std::string access;  ///< "write" (1 MiB writes and one sync), "direct", "buffered"
  std::string cache;   ///< "cold": not in the page cache; "warm": in it; empty for writes
  std::string pattern;  ///< "sequential", "random"
  std::uint64_t file_bytes = 0;
  std::uint64_t transfer_bytes = 0;
  double bytes_per_second = 0;
  double p50_ns = 0;
  double p99_ns = 0;
};

struct DiskCalibrationOptions {
  bool quick = false;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// Measures the disk under `directory` with files that have no name, so that nothing is left whatever happens.
/// Cold reads go past the page cache (O_DIRECT), or through it after it was told to drop the file; without
/// O_DIRECT (memory file systems) those points are left out. A host's or a disk's own cache cannot be emptied.
/// Errors: NotFound, PermissionDenied, OutOfSpace, IoError.
[[nodiscard]] Result<std::vector<DiskFigure>> calibrate_disk(const std::filesystem::path& directory,
                                                             const DiskCalibrationOptions& options);

}  // namespace nvmdb::storage
