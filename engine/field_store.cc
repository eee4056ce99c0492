#include "engine/field_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/catalogue_rows.h"
#include "engine/field_store_state.h"
#include "storage/base/clock.h"
#include "storage/base/fail_point.h"

namespace nvmdb::engine {
namespace {

/// Of the DRAM budget that copies of columns may take, as long as nobody else needs it.
constexpr std::uint64_t kCachePercent = 60;

constexpr std::size_t kNameBytesMax = 128;

/// Names stand in selectors, lists and messages: what would break them is refused.
Status check_name(const char* what, const std::string& name) {
  if (name.size() > kNameBytesMax) {
    return Status::invalid_argument(std::string(what) + " name has " + std::to_string(name.size()) + " bytes, at most " +
                                    std::to_string(kNameBytesMax) + " are taken");
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '/') {
      return Status::invalid_argument(std::string(what) + " name holds a control character or '/'; choose another with --" +
                                      what);
    }
  }
  return Status::ok();
}

std::string field_words(const Field& field) {
  return "run " + std::to_string(field.key.run) + " parameter " + std::to_string(field.key.parameter) + " level " +
         met::format_level(field.key.level, field.key.bottom) + " step " + met::format_step(field.key.step) +
         " (region " + std::to_string(field.extent.region) + " offset " + std::to_string(field.extent.offset) + ")";
}

}  // namespace

/// Which pages of a pool hold bytes that somebody can see, and how far each is filled.
class UsedPages {
 public:
  /// Errors: Corruption (the extent lies outside the region or overlaps another one).
  [[nodiscard]] Status add(storage::PoolMedia& media, const storage::Extent& extent, const std::string& what) {
    if (extent.bytes == 0) return Status::ok();
    if (extent.region >= media.region_count() || extent.offset > media.region(extent.region).size() ||
        extent.bytes > media.region(extent.region).size() - extent.offset) {
      return Status::corruption(what + ": its bytes lie outside the pool");
    }
    const std::uint64_t end = extent.offset + extent.bytes;
    const auto next = extents_.upper_bound({extent.region, extent.offset});
    if (next != extents_.end() && next->first.first == extent.region && next->first.second < end) {
      return Status::corruption(what + ": its bytes overlap those of another field");
    }
    if (next != extents_.begin()) {
      const auto& before = *std::prev(next);
      if (before.first.first == extent.region && before.second > extent.offset) {
        return Status::corruption(what + ": its bytes overlap those of another field");
      }
    }
    extents_[{extent.region, extent.offset}] = end;
    for (std::uint64_t page = extent.offset / storage::kPageBytes; page * storage::kPageBytes < end; ++page) {
      std::uint64_t& filled = filled_[{extent.region, static_cast<std::uint32_t>(page)}];
      filled = std::max(filled, std::min(end, (page + 1) * storage::kPageBytes));
    }
    return Status::ok();
  }
  [[nodiscard]] const std::map<storage::PageId, std::uint64_t>& filled() const { return filled_; }

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> extents_;  ///< (region, begin) -> end
  std::map<storage::PageId, std::uint64_t> filled_;                          ///< end of the last byte used
};

ReadView::ReadView(Session session)
    : session_(std::make_unique<Session>(std::move(session))), pin_(session_->pin()) {}

FieldStore::FieldStore(Database& database, Catalogue& catalogue)
    : database_(database), catalogue_(catalogue), state_(std::make_unique<State>(database.media())) {
  storage::HotBudget& budget = database.hot_budget();
  state_->cache = std::make_unique<FieldCache>(*this, budget, budget.bytes_max() / 100 * kCachePercent);
}

FieldStore::~FieldStore() {
  // Its thread uses the rest.
  state_->cache.reset();
}

FieldCache& FieldStore::cache() { return *state_->cache; }
FieldCacheStatistics FieldStore::cache_statistics() const { return state_->cache->statistics(); }

std::shared_ptr<RunShared> FieldStore::State::run(RunId id) {
  {
    const std::shared_lock lock(runs_mutex);
    if (const auto it = runs.find(id); it != runs.end()) return it->second;
  }
  const std::unique_lock lock(runs_mutex);
  std::shared_ptr<RunShared>& slot = runs[id];
  if (slot == nullptr) slot = std::make_shared<RunShared>();
  return slot;
}

Result<ReadView> FieldStore::view() {
  NVMDB_ASSIGN(Session session, database_.session());
  return ReadView(std::move(session));
}

/// Compares the page directory with what is used: frees field pages that nothing uses, and finds the half-filled ones.
Status FieldStore::State::sweep_pages(storage::PageAllocator& pages, const UsedPages& used) {
  std::vector<storage::PageId> orphans;
  std::set<storage::PageId> field_pages;
  pages.for_each([&](storage::PageId page, storage::PageEntry entry) {
    if (entry.kind != storage::PageKind::Field) return;
    const auto it = used.filled().find(page);
    if (it == used.filled().end()) {
      orphans.push_back(page);
      return;
    }
    field_pages.insert(page);
    const std::uint64_t free_from = align_up(it->second, kFieldAlignment);
    run(entry.owner)->tails.give({{page, 1}, free_from});
  });
  for (const auto& [page, filled] : used.filled()) {
    if (!field_pages.contains(page)) {
      return Status::corruption("region " + std::to_string(page.region) + " page " + std::to_string(page.index) +
                                " holds fields, but the page directory does not say so");
    }
  }
  for (const storage::PageId page : orphans) NVMDB_TRY(pages.release({page, 1}));
  return Status::ok();
}

Status FieldStore::recover() {
  std::vector<Run> unfinished;
  UsedPages used;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    unfinished.clear();
    used = {};
    state_->grid_pages.clear();
    Status failure;
    NVMDB_TRY(transaction.scan(rows::kRunTable, index::make_key(0), index::make_key(~0ULL),
                               [&](const index::Key& key, ByteSpan row) {
                                 Result<Run> run = rows::decode_run(static_cast<RunId>(key.words[0]), row);
                                 failure = run.status();
                                 if (!run.is_ok()) return false;
                                 if (run->state == RunState::Dropping || run->version == 0) unfinished.push_back(*run);
                                 state_->run(run->id)->version = run->version;
                                 return true;
                               }));
    NVMDB_TRY(failure);
    NVMDB_TRY(transaction.scan(rows::kGridTable, index::make_key(0), index::make_key(~0ULL),
                               [&](const index::Key& key, ByteSpan row) {
                                 const Result<rows::GridRow> grid = rows::decode_grid(row);
                                 failure = grid.is_ok() ? used.add(database_.media(), grid->positions,
                                                                   "grid " + std::to_string(key.words[0]))
                                                        : grid.status();
                                 if (failure.is_ok()) state_->add_positions(grid->positions);
                                 return failure.is_ok();
                               }));
    NVMDB_TRY(failure);
    NVMDB_TRY(transaction.scan(rows::kFieldTable, rows::field_low(0), rows::field_high(~0U),
                               [&](const index::Key& key, ByteSpan row) {
                                 const Result<Field> field = rows::decode_field(key, row);
                                 failure = field.is_ok() ? used.add(database_.media(), field->extent, field_words(*field))
                                                         : field.status();
                                 return failure.is_ok();
                               }));
    return failure;
  }));

  NVMDB_TRY(state_->sweep_pages(database_.pages(), used));
  for (const Run& run : unfinished) {
    // Nobody can see these runs. Where there is no room to erase them now there may be later.
    const Status erased = erase(run);
    if (!erased.is_ok() && erased.code() != Code::OutOfSpace && erased.code() != Code::Overloaded) return erased;
  }
  return Status::ok();
}

Result<std::shared_ptr<const FieldColumn>> FieldStore::column(const ReadView&, const ColumnKey& key) {
  State::Shard& shard = state_->shard(key);
  std::shared_ptr<const FieldColumn> cached;
  std::shared_ptr<RunShared> run;
  {
    const std::shared_lock lock(shard.mutex);
    if (const auto it = shard.columns.find(key); it != shard.columns.end()) {
      cached = it->second.column;
      run = it->second.run;
    }
  }
  if (cached != nullptr && cached->run_version == run->version.load(std::memory_order_acquire)) return cached;
  run = state_->run(key.run);
  return state_->load_column(*this, key, std::move(run));
}

Result<std::shared_ptr<const FieldColumn>> FieldStore::State::load_column(FieldStore& store, const ColumnKey& key,
                                                                          std::shared_ptr<RunShared> run) {
  auto column = std::make_shared<FieldColumn>();
  const FieldKey first{key.run, key.member, key.parameter, key.level_type, key.level, key.bottom, {}};
  index::Key low = rows::field_key(first);
  index::Key high = low;
  low.words[4] = low.words[5] = 0;
  high.words[4] = high.words[5] = ~0ULL;
  NVMDB_TRY(store.database_.run_durable([&](Transaction& transaction) -> Status {
    column->key = key;
    column->fields.clear();
    NVMDB_ASSIGN(const ByteSpan run_bytes, transaction.read(rows::kRunTable, index::make_key(key.run)));
    NVMDB_ASSIGN(const Run row, rows::decode_run(key.run, run_bytes));
    if (row.state == RunState::Dropping) return Status::not_found("run " + format_run(row.key) + " was dropped");
    column->run_version = row.version;
    Status failure;
    NVMDB_TRY(transaction.scan(rows::kFieldTable, low, high, [&](const index::Key& field_key, ByteSpan bytes) {
      Result<Field> field = rows::decode_field(field_key, bytes);
      failure = field.status();
      if (!field.is_ok()) return false;
      const storage::Extent& at = field->extent;
      column->fields.push_back({*field, store.database_.media().region(at.region).bytes(at.offset, at.bytes)});
      return true;
    }));
    return failure;
  }));
  if (column->fields.empty()) return Status::not_found("no field of that parameter, level and member in run " + std::to_string(key.run));
  // What was read is durable. Whoever reads another column after this one must not be given an older state of the run
  // because its writer has not yet come to say so.
  run->raise_version(column->run_version);
  Shard& place = shard(key);
  const std::unique_lock lock(place.mutex);
  place.columns[key] = {column, std::move(run)};
  return std::shared_ptr<const FieldColumn>(std::move(column));
}

Result<RunId> FieldStore::open_run(const RunDescription& description) {
  NVMDB_FAIL_POINT_TRY("run.open");
  std::uint64_t id = 0;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    const index::Key name = rows::hash_key(rows::encode_run_key(description.key));
    const Result<ByteSpan> known = transaction.read(rows::kRunNameTable, name);
    if (known.is_ok()) {
      NVMDB_ASSIGN(id, rows::decode_number(*known));
      NVMDB_ASSIGN(const ByteSpan row, transaction.read(rows::kRunTable, index::make_key(id)));
      NVMDB_ASSIGN(const Run found, rows::decode_run(static_cast<RunId>(id), row));
      return found.key == description.key ? Status::ok() : rows::same_hash(name);
    }
    if (known.status().code() != Code::NotFound) return known.status();
    NVMDB_ASSIGN(id, rows::next_number(transaction, rows::Counter::Run));
    Run run;
    run.id = static_cast<RunId>(id);
    run.key = description.key;
    run.significance = description.significance;
    run.format = description.format;
    run.attributes = description.attributes;
    NVMDB_TRY(transaction.put(rows::kRunTable, index::make_key(id), rows::encode_run(run)));
    return transaction.put(rows::kRunNameTable, name, rows::encode_number(id));
  }));
  NVMDB_FAIL_POINT("run.opened");
  return static_cast<RunId>(id);
}

Result<std::unique_ptr<RunWriter>> FieldStore::write(const RunDescription& description) {
  NVMDB_TRY(check_name("model", description.key.model));
  NVMDB_TRY(check_name("domain", description.key.domain));
  NVMDB_TRY(check_name("version", description.key.version));
  if (description.key.model.empty()) return Status::invalid_argument("a run needs the name of its model");
  (void)finish_drops(0);
  for (int attempt = 0; attempt < 8; ++attempt) {
    NVMDB_ASSIGN(const RunId id, open_run(description));
    std::shared_ptr<RunShared> run = state_->run(id);
    {
      const std::lock_guard lock(run->writers_mutex);
      // Dropped between the look-up and here: the name leads to a new run next time.
      if (run->dropped) continue;
      ++run->writers;
    }
    std::unique_ptr<RunWriter> writer = RunWriter::make(*this, id, std::move(run));
    // A drop may have ended before the writer was counted: then the number is that of a run that is gone.
    NVMDB_ASSIGN(const RunId still, open_run(description));
    if (still == id) return writer;
  }
  return Status::conflict("run " + format_run(description.key) + " is being dropped again and again; try later");
}

}  // namespace nvmdb::engine
