#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/field_cache.h"
#include "engine/field_store.h"
#include "query/run_index.h"
#include "query/selection.h"
#include "storage/base/mutex.h"

namespace nvmdb::query {

/// A selection carried out: the column and which of its fields are meant.
struct ResolvedSelection {
  SelectedColumn selected;
  std::shared_ptr<const engine::FieldColumn> column;
  std::weak_ptr<const engine::HotColumn> hot;  ///< its copy for series, while there is one: what is kept here keeps no DRAM
  std::vector<std::uint32_t> fields;  ///< indexes into column->fields, by step; at least one
  std::vector<met::Step> steps;       ///< of `fields`
  /// Where the values of each of `fields` begin, when all are plain float32 on one grid; else empty. A long
  /// series then reads eight bytes of bookkeeping a step.
  std::vector<const std::byte*> plain;
  std::uint64_t event = 0;       ///< last event of the catalogue before it was carried out
  std::uint64_t generation = 0;  ///< of the copies in DRAM before it was carried out
  mutable std::atomic<std::uint32_t> uses{0};
  /// FieldStore::damage_generation() when all of `fields` were found whole; 0: not yet.
  mutable std::atomic<std::uint64_t> checked_at{0};
};

/// Carries out selections. What it found for a selection holds as long as the catalogue has had no new event
/// (any step committed, replaced or dropped is one) and the field store still gives out the same column.
/// Threads: any number.
class ColumnCache {
 public:
  explicit ColumnCache(engine::FieldStore& store) : store_(store), indexes_(store.catalogue()) {}
  /// What resolve() found before and still holds; nullptr when there is no such.
  [[nodiscard]] std::shared_ptr<const ResolvedSelection> known(const engine::ReadView& view, const Selection& selection);
  /// Errors: those of select_column().
  [[nodiscard]] Result<std::shared_ptr<const ResolvedSelection>> resolve(const engine::ReadView& view,
                                                                         const Selection& selection);

  /// What a run holds. Errors: as Catalogue::inventory().
  [[nodiscard]] Result<std::shared_ptr<const RunIndex>> index_of(const engine::Run& run) { return indexes_.get(run); }

  /// It was asked for a series: columns for which that is so often get a copy, and keep it as long as it is so.
  void note_series(const ResolvedSelection& known);

 private:
  [[nodiscard]] std::shared_ptr<const ResolvedSelection> look_up(const engine::ReadView& view, const std::string& key,
                                                                 std::uint64_t event);
  [[nodiscard]] Result<std::shared_ptr<const ResolvedSelection>> carry_out(const engine::ReadView& view,
                                                                           const Selection& selection,
                                                                           std::uint64_t event);

  engine::FieldStore& store_;
  RunIndexCache indexes_;
  Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const ResolvedSelection>> known_ NVMDB_GUARDED_BY(mutex_);
};

}  // namespace nvmdb::query
