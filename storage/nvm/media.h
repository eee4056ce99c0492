#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "storage/device/device_profile.h"
#include "storage/nvm/door.h"

namespace nvmdb::storage {

/// Who a pool is.
struct PoolIdentity {
  std::array<unsigned char, 16> uuid{};
  std::uint32_t format_version = 0;
};

/// The durable memory of one pool: a root of 8-byte words (page directory and flags) and page regions.
/// `Pool` is the real one; crash tests bring a recorded one.
/// Threads: any number.
class PoolMedia {
 public:
  PoolMedia() = default;
  PoolMedia(const PoolMedia&) = delete;
  PoolMedia& operator=(const PoolMedia&) = delete;
  virtual ~PoolMedia() = default;

  [[nodiscard]] virtual const PoolIdentity& identity() const = 0;
  [[nodiscard]] virtual const DeviceProfile& device() const = 0;
  /// The root words: changed only by aligned 8-byte stores. Layout: storage/nvm/root_words.h.
  [[nodiscard]] virtual Door& root_words() = 0;
  [[nodiscard]] virtual std::uint32_t region_count() const = 0;
  /// A page region; its size is a multiple of kPageBytes and its bytes are preallocated.
  [[nodiscard]] virtual Door& region(std::uint32_t index) = 0;
};

}  // namespace nvmdb::storage
