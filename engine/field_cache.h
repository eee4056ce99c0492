#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "engine/field_store.h"
#include "storage/page/hot_pages.h"

// Inside of the engine; other folders use field_store.h.
namespace nvmdb::engine {

/// A copy of a column made for series: decoded to float32 (missing values are NaN), all steps of a point after one another.
/// A series of one point is then one sequential read, where the fields themselves, planes apart, cost a line and a page
/// look-up a step.
/// Shape: [points][steps].
struct HotColumn {
  ColumnKey key;
  std::uint64_t run_version = 0;
  std::uint64_t steps = 0;   ///< those of the column, in its order
  std::uint64_t points = 0;  ///< of the one grid that all fields have
  const float* values = nullptr;
  std::shared_ptr<const void> backing;  ///< keeps the values

  /// The values of a point.
  /// Shape: [steps].
  [[nodiscard]] const float* series(std::uint64_t point) const { return values + point * steps; }
};

/// Copies of hot columns in hot pages. NVM keeps the fields; a copy may go at any time.
///
/// Policy: who asks a column for series often says so (want()); a thread copies it, checking the fields' checksums on the
/// way. Slabs read the fields. When the budget of the cache is used up, the column that was touched the longest ago goes,
/// and when index or tuples need DRAM, columns go until they have it.
/// Threads: any number.
class FieldCache {
 public:
  /// `store` and `budget` outlive the cache.
  FieldCache(FieldStore& store, storage::HotBudget& budget, std::uint64_t bytes_max);
  ~FieldCache();
  FieldCache(const FieldCache&) = delete;
  FieldCache& operator=(const FieldCache&) = delete;

  /// The copy of this state of the column, or nullptr.
  [[nodiscard]] std::shared_ptr<const HotColumn> find(const FieldColumn& column);
  /// The column is read often. Copied soon, if it fits and all its fields are on one grid;
  /// nothing happens when too many wait.
  void want(const FieldColumn& column);
  /// Changes whenever a copy came or went.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Gives up copies of a run.
  void forget(RunId run);
  /// Waits until nothing is left to copy. For tests and benchmarks.
  void settle();

  [[nodiscard]] FieldCacheStatistics statistics() const;

 private:
  struct Entry {
    std::shared_ptr<const HotColumn> column;
    std::uint64_t bytes = 0;
  };
  using Entries = std::list<Entry>;  ///< the one touched last is the first

  void run();
  void copy(const ColumnKey& key);
  [[nodiscard]] Entries::iterator find_locked(const ColumnKey& key);
  /// Gives up the copy touched the longest ago. False when there is none.
  [[nodiscard]] bool drop_oldest();
  void erase_locked(Entries::iterator entry);

  FieldStore& store_;
  storage::HotBudget& budget_;
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> generation_{1};

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  // Guarded by mutex_.
  Entries entries_;
  std::list<ColumnKey> wanted_;
  std::uint64_t bytes_ = 0;
  std::uint64_t copied_ = 0;
  std::uint64_t dropped_ = 0;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace nvmdb::engine
