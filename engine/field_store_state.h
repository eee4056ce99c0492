#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "engine/damage_list.h"
#include "engine/field_cache.h"
#include "engine/field_integrity.h"
#include "engine/field_store.h"
#include "engine/run_space.h"

namespace nvmdb::engine {

class UsedPages;

/// Owner of the pages that hold positions of grids; no run has this number.
inline constexpr RunId kGridRun = 0;

/// What the process keeps of a run besides its rows.
struct RunShared {
  std::atomic<std::uint64_t> version{0};  ///< of the newest durable change; stored with release after it is durable
  RunTails tails;
  std::mutex writers_mutex;
  std::uint32_t writers = 0;  ///< guarded by writers_mutex
  bool dropped = false;       ///< guarded by writers_mutex

  /// The version never goes back: writers of one run may finish out of order.
  void raise_version(std::uint64_t to) {
    std::uint64_t seen = version.load(std::memory_order_relaxed);
    while (seen < to && !version.compare_exchange_weak(seen, to, std::memory_order_release)) {
    }
  }
};

struct ColumnKeyHash {
  [[nodiscard]] std::size_t operator()(const ColumnKey& key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
    for (const std::uint64_t part : {(std::uint64_t{key.run} << 32U) | key.member,
                                     (std::uint64_t{key.parameter} << 32U) | key.level_type,
                                     std::bit_cast<std::uint64_t>(key.level), std::bit_cast<std::uint64_t>(key.bottom)}) {
      hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
      hash ^= hash >> 33U;
    }
    return hash;
  }
};

struct FieldStore::State {
  struct CachedColumn {
    std::shared_ptr<const FieldColumn> column;
    std::shared_ptr<RunShared> run;
  };
  struct Shard {
    std::shared_mutex mutex;
    std::unordered_map<ColumnKey, CachedColumn, ColumnKeyHash> columns;
  };
  explicit State(storage::PoolMedia& media) : checked(media) {}

  CheckedFields checked;
  DamageList damage;
  std::atomic<std::uint64_t> fields_checked{0};
  std::unique_ptr<FieldCache> cache;
  std::array<Shard, 16> shards;
  std::shared_mutex runs_mutex;
  std::unordered_map<RunId, std::shared_ptr<RunShared>> runs;

  std::mutex unfinished_mutex;
  std::vector<Run> unfinished;  ///< out of sight, but not erased; guarded by unfinished_mutex

  /// Held while the positions of a grid are stored or freed.
  std::mutex grid_mutex;
  /// How many stored grids have positions in a page; guarded by grid_mutex.
  std::map<storage::PageId, std::uint32_t> grid_pages;

  [[nodiscard]] Shard& shard(const ColumnKey& key) { return shards[ColumnKeyHash{}(key) % shards.size()]; }
  [[nodiscard]] std::shared_ptr<RunShared> run(RunId id);
  [[nodiscard]] Result<std::shared_ptr<const FieldColumn>> load_column(FieldStore& store, const ColumnKey& key,
                                                                       std::shared_ptr<RunShared> run);
  [[nodiscard]] Status sweep_pages(storage::PageAllocator& pages, const UsedPages& used);
  void keep_unfinished(const Run& run);
  [[nodiscard]] std::vector<Run> take_unfinished();
  /// Frees rows and pages of a run that nobody can find any more. Safe to repeat.
  [[nodiscard]] Status erase_run(FieldStore& store, const Run& run);
  [[nodiscard]] Status erase_unused_grids(Database& database, RunId run);
  /// Counts the positions of a grid that is stored now. Needs grid_mutex.
  void add_positions(const storage::Extent& positions);
  /// Frees pages that hold no positions any more. Needs grid_mutex.
  void free_positions(Database& database, const std::vector<storage::Extent>& erased);
  void forget_columns(RunId run);
};

}  // namespace nvmdb::engine
