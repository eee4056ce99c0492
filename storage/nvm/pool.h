#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "storage/base/result.h"
#include "storage/nvm/media.h"

namespace nvmdb::storage {

/// How to open a pool directory.
struct PoolOptions {
  bool create = false;                      ///< create the pool when the directory holds none
  std::uint64_t nvm_bytes = 4ULL << 30U;    ///< size of a new pool; a pool that exists keeps its own
  std::uint32_t regions = 1;                ///< of a new pool
};

/// A pool directory: `identity` (magic, format version, uuid, sizes; written last, never changed), `root` (libpmemobj:
/// the identity again, root words), `region.N` (page regions mapped with libpmem2, preallocated), `lock` (one process at
/// a time; holds the owner's pid), `device` (the measured device profile, when there is one). `creating` is there during a creation only.
class Pool final : public PoolMedia {
 public:
  /// Opens, or creates, the pool in `directory`.
  /// Errors: NotFound (no pool there and !create), PermissionDenied, OutOfSpace (cannot preallocate; a half-made
  ///         pool is removed), Conflict (another process has it; its pid is named), InvalidArgument (not a directory,
  ///         unknown format version: both versions are named; a size below 16 MiB), Corruption (damaged root,
  ///         truncated region: expected and found sizes), IoError.
  [[nodiscard]] static Result<std::unique_ptr<Pool>> open(const std::filesystem::path& directory,
                                                          const PoolOptions& options);
  ~Pool() override;

  [[nodiscard]] const PoolIdentity& identity() const override;
  [[nodiscard]] const DeviceProfile& device() const override;
  [[nodiscard]] Door& root_words() override;
  [[nodiscard]] std::uint32_t region_count() const override;
  [[nodiscard]] Door& region(std::uint32_t index) override;

  [[nodiscard]] const std::filesystem::path& directory() const;
  /// Keeps the profile of this pool's device in the pool, in the file `device`, and uses it from now on. A crash
  /// leaves the old one or the new one. Not to be called while others use the pool.
  /// Errors: InvalidArgument (of another kind of device, or not measured), OutOfSpace, PermissionDenied, IoError.
  [[nodiscard]] Status store_profile(const DeviceProfile& profile);
  /// A second door to a region, whose stores are made durable by msync whatever the device: for comparison.
  [[nodiscard]] std::unique_ptr<Door> synced_door(std::uint32_t index);
  /// True when this open() created the pool.
  [[nodiscard]] bool created() const;

 private:
  struct State;
  explicit Pool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::storage
