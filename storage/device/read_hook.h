#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/device/device_model.h"

namespace nvmdb::storage {

/// The model that reads of NVM are charged to; nullptr: none, as in every normal run. Set while nobody reads
/// (release), loaded with acquire.
inline std::atomic<DeviceModel*> read_model{nullptr};

/// Loads the first word, then waits for what the model asks beyond the time that the load took.
void charge_modelled_read(DeviceModel& model, const void* address, std::size_t bytes);

/// To be called before NVM at `address` is read. Without a model it is one load and a branch never taken.
inline void charge_nvm_read(const void* address, std::size_t bytes) {
  DeviceModel* const model = read_model.load(std::memory_order_acquire);
  if (__builtin_expect(model != nullptr && bytes > 0, 0)) charge_modelled_read(*model, address, bytes);
}

}  // namespace nvmdb::storage
