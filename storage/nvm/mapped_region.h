#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "storage/base/result.h"
#include "storage/nvm/door.h"
#include "storage/nvm/media.h"
#include "storage/nvm/media_guard.h"
#include "storage/nvm/posix.h"

namespace nvmdb::storage {

/// A page region: one preallocated file, locked for this process and mapped with libpmem2, with the door that
/// fits the device: flush instructions on persistent memory and on /dev/shm, syncs on an ordinary file.
///
/// Memory files (tmpfs) have PAGE granularity for libpmem2; they are mapped as CACHE_LINE, so that the code
/// path of persistent memory runs, unless the user set PMEM2_FORCE_GRANULARITY. That makes them no safer than
/// process-crash.
class MappedRegion {
 public:
  /// Creates the file, all blocks allocated, mode 0600, and makes it durable. Fails when it exists.
  /// Errors: OutOfSpace (wanted size and free space; the file is removed), PermissionDenied, IoError.
  [[nodiscard]] static Status create(const std::filesystem::path& path, std::uint64_t bytes);

  /// Opens, checks, locks and maps the file.
  /// Errors: Corruption (missing, not a regular file, another size, sparse: expected and found), Conflict
  /// (another
  ///         process has the file, by whatever name), PermissionDenied, IoError.
  [[nodiscard]] static Result<std::unique_ptr<MappedRegion>> open(const std::filesystem::path& path,
                                                                  std::uint64_t bytes);
  ~MappedRegion();
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;

  [[nodiscard]] Door& door() { return *door_; }
  [[nodiscard]] const DeviceProfile& device() const { return device_; }
  /// A door over other memory of the same device (the root words). `memory` must outlive it.
  [[nodiscard]] std::unique_ptr<Door> make_door(std::byte* memory, std::uint64_t bytes,
                                                std::string name) const;
  /// A second door to the region that makes stores durable by msync, whatever the device.
  [[nodiscard]] std::unique_ptr<Door> synced_door() const;

 private:
  struct Mapping;
  explicit MappedRegion(FileDescriptor fd);

  FileDescriptor fd_;
  std::unique_ptr<Mapping> mapping_;
  std::optional<GuardedMemory> guard_;
  DeviceProfile device_;
  std::string name_;
  std::unique_ptr<Door> door_;
};

}  // namespace nvmdb::storage
