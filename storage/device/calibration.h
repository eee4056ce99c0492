#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "storage/base/result.h"
#include "storage/device/device_profile.h"
#include "storage/nvm/media.h"

namespace nvmdb::storage {

struct CalibrationOptions {
  bool quick = false;        ///< a few points, for tests: the figures say little
  Door* synced = nullptr;    ///< a second door to region 0 that uses msync; nullptr: that path is left out
  std::uint32_t processors = 1;  ///< that this process may use: more writers than these only take turns
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// Sweeps transfer size x threads x path x pattern on the pool's device, and picks the log's shape. Writes only
/// to pages that it allocates, and frees them again; pages that a calibration left that was killed are freed
/// first. The pool must not be open by others (the Pool's lock sees to that). The profile returned is not stored.
/// Errors: OutOfSpace (no free page), Corruption (page directory), IoError.
[[nodiscard]] Result<DeviceProfile> calibrate(PoolMedia& media, const CalibrationOptions& options);

}  // namespace nvmdb::storage
