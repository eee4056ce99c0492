#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/device/device_model.h"
#include "storage/nvm/media.h"

namespace nvmdb::storage {

/// A pool's media with the delays of a device model: its doors pass everything on and charge writes, flushes and
/// fences to the model. While it lives, charge_nvm_read() charges reads to it. device() says that it is modelled.
/// One at a time in a process. Threads: any number.
class ModelledMedia final : public PoolMedia {
 public:
  /// Measures the machine's own memory in region 0, by reading. `media` must outlive this.
  /// Errors: InvalidArgument (a device that syncs files: its own delays are longer than any the model adds; a
  /// second model in the process).
  [[nodiscard]] static Result<std::unique_ptr<ModelledMedia>> start(PoolMedia& media, const DevicePreset& preset,
                                                                    const TickClock& clock = tsc_clock());
  ~ModelledMedia() override;

  [[nodiscard]] const PoolIdentity& identity() const override { return media_.identity(); }
  [[nodiscard]] const DeviceProfile& device() const override { return device_; }
  [[nodiscard]] Door& root_words() override { return *root_; }
  [[nodiscard]] std::uint32_t region_count() const override { return media_.region_count(); }
  [[nodiscard]] Door& region(std::uint32_t index) override { return *regions_[index]; }
  [[nodiscard]] const DeviceModel& model() const { return model_; }

 private:
  ModelledMedia(PoolMedia& media, const DevicePreset& preset, const MemoryBaseline& baseline, const TickClock& clock);

  PoolMedia& media_;
  DeviceModel model_;
  DeviceProfile device_;
  std::unique_ptr<Door> root_;
  std::vector<std::unique_ptr<Door>> regions_;
};

}  // namespace nvmdb::storage
