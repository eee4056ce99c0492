#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/met/time.h"
#include "storage/base/mutex.h"
#include "storage/page/page.h"

namespace nvmdb::engine {

/// A place of the pool whose bytes are not what was stored.
struct DamagedPlace {
  storage::Extent extent;
  std::string words;  ///< what lies there, what is wrong with it, what to do
  met::UnixSeconds found_at = 0;
};

/// The damage that this process met and that is still there. In DRAM only: whoever reads such a place again,
/// and the next walk over all of them, finds it again. Threads: any number.
class DamageList {
 public:
  static constexpr std::size_t kPlacesMax = 1000;

  /// False when the place is known, or when so many are that no more are kept.
  bool add(DamagedPlace place);
  /// What lies there was replaced, or dropped.
  void forget(const storage::Extent& extent);
  void forget_pages(const std::vector<storage::PageId>& pages);
  /// The words of the place that begins there; empty when it is not known as damaged.
  [[nodiscard]] std::string find(const storage::Extent& extent) const;
  [[nodiscard]] std::vector<DamagedPlace> places() const;
  /// All that were ever added.
  [[nodiscard]] std::uint64_t found() const { return generation() - 1; }
  /// Grows with each place found, from 1 on: what was whole while it stays the same may be damaged since.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> generation_{1};
  mutable Mutex mutex_;
  std::vector<DamagedPlace> places_ NVMDB_GUARDED_BY(mutex_);
};

}  // namespace nvmdb::engine
