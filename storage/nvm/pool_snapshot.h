#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "storage/base/result.h"
#include "storage/nvm/media.h"

namespace nvmdb::storage {

/// A pool that nobody has open, as it lies in its files, for looking at. What is stored into it stays in
/// memory of this process and is gone with it: recovery can be tried, and no byte of the pool changes.
class PoolSnapshot final : public PoolMedia {
 public:
  /// Errors: as Pool::open() without `create`.
  [[nodiscard]] static Result<std::unique_ptr<PoolSnapshot>> open(const std::filesystem::path& directory);
  ~PoolSnapshot() override;

  [[nodiscard]] const PoolIdentity& identity() const override;
  [[nodiscard]] const DeviceProfile& device() const override;
  [[nodiscard]] Door& root_words() override;
  [[nodiscard]] std::uint32_t region_count() const override;
  [[nodiscard]] Door& region(std::uint32_t index) override;

 private:
  struct State;
  explicit PoolSnapshot(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::storage
