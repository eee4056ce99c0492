#include <algorithm>
#include <map>
#include <utility>

#include "engine/catalogue_rows.h"
#include "engine/field_store.h"
#include "engine/field_store_state.h"
#include "storage/base/clock.h"
#include "storage/base/fail_point.h"

namespace nvmdb::engine {
namespace {

constexpr std::size_t kDropBatch = 2000;

/// Takes the mark of a run being dropped away again, unless it is kept.
class DropMark {
 public:
  explicit DropMark(RunShared& run) : run_(&run) {}
  ~DropMark() {
    if (run_ == nullptr) return;
    const std::lock_guard lock(run_->writers_mutex);
    run_->dropped = false;
  }
  DropMark(const DropMark&) = delete;
  DropMark& operator=(const DropMark&) = delete;
  void keep() { run_ = nullptr; }

 private:
  RunShared* run_;
};

}  // namespace

/// Takes the run out of sight, durably.
Result<Run> FieldStore::hide(RunId id) {
  Run run;
  std::uint64_t sequence = 0;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    NVMDB_ASSIGN(const ByteSpan row, transaction.read(rows::kRunTable, index::make_key(id)));
    NVMDB_ASSIGN(run, rows::decode_run(id, row));
    run.state = RunState::Dropping;
    ++run.version;
    NVMDB_TRY(transaction.put(rows::kRunTable, index::make_key(id), rows::encode_run(run)));
    NVMDB_TRY(transaction.erase(rows::kRunNameTable, rows::hash_key(rows::encode_run_key(run.key))));
    NVMDB_ASSIGN(sequence, rows::next_number(transaction, rows::Counter::Event));
    const Event event{sequence, Event::Kind::RunDropped, id, run.key, 0, 0, system_clock().wall_seconds()};
    return rows::put_event(transaction, event);
  }));
  state_->run(id)->version.store(run.version, std::memory_order_release);
  NVMDB_FAIL_POINT("drop.hidden");
  catalogue_.announce(sequence);
  return run;
}

Status FieldStore::drop(RunId id) {
  NVMDB_TRY(finish_drops(id));
  NVMDB_ASSIGN(const Run visible, catalogue_.run(id));
  const std::shared_ptr<RunShared> state = state_->run(id);
  {
    const std::lock_guard lock(state->writers_mutex);
    if (state->writers > 0) {
      return Status::conflict("run " + format_run(visible.key) +
                              " is being written; drop it when the ingest has ended");
    }
    if (state->dropped) return Status::not_found("run " + format_run(visible.key) + " is not there");
    state->dropped = true;
  }
  // Also when memory runs out: a drop that did not hide the run can be called again.
  DropMark mark(*state);
  NVMDB_FAIL_POINT("drop.hide");
  NVMDB_ASSIGN(const Run run, hide(id));
  mark.keep();
  return erase(run);
}

Status FieldStore::erase(const Run& run) {
  const Status erased = state_->erase_run(*this, run);
  if (erased.is_ok()) return erased;
  state_->keep_unfinished(run);
  return {erased.code(), "run " + format_run(run.key) + " is dropped, but its space is not free yet: " + erased.message() +
                             "; the next drop or ingest goes on with it"};
}

Status FieldStore::finish_drops(RunId asked) {
  Status failed;
  for (const Run& run : state_->take_unfinished()) {
    const Status erased = erase(run);
    if (run.id == asked) failed = erased;
  }
  return failed;
}

void FieldStore::State::keep_unfinished(const Run& run) {
  const std::lock_guard lock(unfinished_mutex);
  unfinished.push_back(run);
}

std::vector<Run> FieldStore::State::take_unfinished() {
  const std::lock_guard lock(unfinished_mutex);
  return std::exchange(unfinished, {});
}

void FieldStore::State::add_positions(const storage::Extent& positions) {
  if (positions.bytes == 0) return;
  const std::uint64_t last = (positions.offset + positions.bytes - 1) / storage::kPageBytes;
  for (std::uint64_t page = positions.offset / storage::kPageBytes; page <= last; ++page) {
    ++grid_pages[{positions.region, static_cast<std::uint32_t>(page)}];
  }
}

void FieldStore::State::free_positions(Database& database, const std::vector<storage::Extent>& erased) {
  storage::PageAllocator& allocator = database.pages();
  const std::shared_ptr<RunShared> grids = run(kGridRun);
  for (const storage::Extent& positions : erased) {
    if (positions.bytes == 0) continue;
    const std::uint64_t last = (positions.offset + positions.bytes - 1) / storage::kPageBytes;
    for (std::uint64_t index = positions.offset / storage::kPageBytes; index <= last; ++index) {
      const storage::PageId page{positions.region, static_cast<std::uint32_t>(index)};
      if (--grid_pages[page] > 0) continue;
      grid_pages.erase(page);
      grids->tails.forget(page);
      // A reader of the catalogue may be copying them still.
      database.retire([&allocator, page] { (void)allocator.release({page, 1}); });
    }
  }
}

/// Ends the run's use of its grids and erases those that no other run uses, with their positions.
Status FieldStore::State::erase_unused_grids(Database& database, RunId run) {
  const std::lock_guard lock(grid_mutex);
  std::vector<storage::Extent> erased;
  NVMDB_TRY(database.run_durable([&](Transaction& transaction) -> Status {
    erased.clear();
    std::vector<GridId> used;
    std::map<GridId, std::size_t> users;
    NVMDB_TRY(transaction.scan(rows::kGridUseTable, index::make_key(0, 0), index::make_key(~0ULL, ~0ULL),
                               [&](const index::Key& key, ByteSpan) {
                                 const auto grid = static_cast<GridId>(key.words[0]);
                                 ++users[grid];
                                 if (key.words[1] == run) used.push_back(grid);
                                 return true;
                               }));
    for (const GridId grid : used) {
      NVMDB_TRY(transaction.erase(rows::kGridUseTable, index::make_key(grid, run)));
      if (users[grid] > 1) continue;
      NVMDB_ASSIGN(const ByteSpan bytes, transaction.read(rows::kGridTable, index::make_key(grid)));
      NVMDB_ASSIGN(const rows::GridRow row, rows::decode_grid(bytes));
      NVMDB_TRY(transaction.erase(rows::kGridHashTable, row.name));
      NVMDB_TRY(transaction.erase(rows::kGridTable, index::make_key(grid)));
      erased.push_back(row.positions);
    }
    return Status::ok();
  }));
  free_positions(database, erased);
  return Status::ok();
}

Status FieldStore::State::erase_run(FieldStore& store, const Run& run) {
  Database& database = store.database_;
  for (const auto& [table, low, high] :
       {std::tuple{rows::kFieldTable, rows::field_low(run.id), rows::field_high(run.id)},
        std::tuple{rows::kStepTable, index::make_key(run.id, 0), index::make_key(run.id, ~0ULL)}}) {
    for (bool more = true; more;) {
      NVMDB_TRY(database.run_durable([&](Transaction& transaction) -> Status {
        std::vector<index::Key> batch;
        NVMDB_TRY(transaction.scan(table, low, high, [&](const index::Key& key, ByteSpan) {
          batch.push_back(key);
          return batch.size() < kDropBatch;
        }));
        for (const index::Key& key : batch) NVMDB_TRY(transaction.erase(table, key));
        more = batch.size() == kDropBatch;
        return Status::ok();
      }));
    }
  }
  NVMDB_FAIL_POINT_TRY("drop.fields_erased");
  NVMDB_TRY(erase_unused_grids(database, run.id));
  NVMDB_FAIL_POINT_TRY("drop.grids_erased");
  NVMDB_TRY(database.run_durable([&](Transaction& transaction) -> Status {
    const index::Key name = rows::hash_key(rows::encode_run_key(run.key));
    // A run that only was opened still has its name.
    if (const Result<ByteSpan> owner = transaction.read(rows::kRunNameTable, name); owner.is_ok()) {
      NVMDB_ASSIGN(const std::uint64_t named, rows::decode_number(*owner));
      if (named == run.id) NVMDB_TRY(transaction.erase(rows::kRunNameTable, name));
    } else if (owner.status().code() != Code::NotFound) {
      return owner.status();
    }
    const Status erased = transaction.erase(rows::kRunTable, index::make_key(run.id));
    return erased.code() == Code::NotFound ? Status::ok() : erased;
  }));
  NVMDB_FAIL_POINT("drop.erased");
  std::vector<storage::PageId> pages;
  database.pages().for_each([&](storage::PageId page, storage::PageEntry entry) {
    if (entry.kind == storage::PageKind::Field && entry.owner == run.id) pages.push_back(page);
  });
  forget_columns(run.id);
  damage.forget_pages(pages);
  storage::PageAllocator& allocator = database.pages();
  // Readers that found the run before it went may still read its bytes.
  database.retire([&allocator, pages = std::move(pages)] {
    for (const storage::PageId page : pages) (void)allocator.release({page, 1});
  });
  database.reclaim();
  return Status::ok();
}

void FieldStore::State::forget_columns(RunId run) {
  cache->forget(run);
  for (Shard& part : shards) {
    const std::unique_lock lock(part.mutex);
    std::erase_if(part.columns, [&](const auto& entry) { return entry.first.run == run; });
  }
  const std::unique_lock lock(runs_mutex);
  runs.erase(run);
}

}  // namespace nvmdb::engine
