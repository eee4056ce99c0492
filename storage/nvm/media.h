#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/nvm/door.h"

namespace nvmdb::storage {

/// What a power cut or a crash leaves, in words for people and for `info`.
enum class Durability : unsigned char {
  PowerFail,     ///< real persistent memory: flush and fence survive a power cut
  FileSync,      ///< an ordinary file: made durable by synchronous writes
  ProcessCrash,  ///< memory of this machine (/dev/shm): survives a process crash, not a power cut
};
[[nodiscard]] std::string durability_words(Durability durability);

/// How the device behind a region behaves; parameters, never constants in code.
struct DeviceProfile {
  std::string kind;                    ///< "devdax", "fsdax", "shm", "file", "recorded"
  Durability durability = Durability::ProcessCrash;
  std::uint32_t write_unit_bytes = 256;    ///< durable writes are laid out and aligned in multiples of it (4096 on files)
  std::uint32_t best_log_writers = 2;      ///< write concurrency the device likes
  std::uint64_t fence_cost_ns = 100;       ///< rough cost of one small durable write, for group commit
};

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
