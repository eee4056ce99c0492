#include "engine/catalogue.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "engine/catalogue_rows.h"
#include "storage/base/crc32c.h"
#include "storage/base/fail_point.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {
namespace {

constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint64_t>::max();

/// Calls `visit(key, row)`, which returns a Status, for each row of a range; stops at the first failure.
template <class Visit>
Status scan_rows(Transaction& transaction, TableId table, const index::Key& low, const index::Key& high, Visit visit,
                 bool reverse = false) {
  Status failure;
  NVMDB_TRY(transaction.scan(
      table, low, high,
      [&](const index::Key& key, ByteSpan row) {
        failure = visit(key, row);
        return failure.is_ok();
      },
      reverse));
  return failure;
}

Status read_positions(storage::PoolMedia& media, GridId id, const rows::GridRow& row, met::Grid& grid) {
  const storage::Extent& at = row.positions;
  if (at.bytes == 0) return Status::ok();
  const std::string where = "grid " + std::to_string(id) + ": positions at region " + std::to_string(at.region) +
                            " offset " + std::to_string(at.offset);
  if (at.region >= media.region_count() || at.bytes != grid.points * 8 || at.offset > media.region(at.region).size() ||
      at.bytes > media.region(at.region).size() - at.offset) {
    return Status::corruption(where + " do not fit the grid's definition");
  }
  const ByteSpan positions = media.region(at.region).bytes(at.offset, at.bytes);
  grid.latitudes.resize(grid.points);
  grid.longitudes.resize(grid.points);
  bool whole = false;
  if (!storage::read_guarded([&] {
        std::memcpy(grid.latitudes.data(), positions.data(), grid.points * 4);
        std::memcpy(grid.longitudes.data(), positions.data() + grid.points * 4, grid.points * 4);
        whole = crc32c(positions) == row.positions_crc;
      })) {
    return storage::media_fault_status(where);
  }
  return whole ? Status::ok() : Status::corruption(where + " do not match their checksum");
}

}  // namespace

std::string format_run(const RunKey& key) {
  std::string text = key.model;
  if (!key.domain.empty()) text += " " + key.domain;
  text += " " + met::format_run_time(key.reference_time);
  if (!key.version.empty()) text += " " + key.version;
  return text;
}

std::vector<TableSpec> Catalogue::tables() {
  return {{rows::kCounterTable, "counter", 1},
          {rows::kRunTable, "run", 1},
          {rows::kRunNameTable, "run_name", 2},
          {rows::kParameterTable, "parameter", 1},
          {rows::kParameterNameTable, "parameter_name", 2},
          {rows::kShortNameTable, "short_name", 2},
          {rows::kLevelTypeTable, "level_type", 1},
          {rows::kLevelTypeNameTable, "level_type_name", 2},
          {rows::kGridTable, "grid", 1},
          {rows::kGridHashTable, "grid_hash", 2},
          {rows::kGridUseTable, "grid_use", 2},
          {rows::kFieldTable, "field", 6},
          {rows::kStepTable, "step", 2},
          {rows::kEventTable, "event", 1}};
}

Catalogue::Catalogue(Database& database) : database_(database) {
  if (const Result<std::uint64_t> last = last_event(); last.is_ok()) announced_ = *last;
}

Result<std::vector<Run>> Catalogue::runs() const {
  std::vector<Run> found;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) {
    found.clear();
    return scan_rows(transaction, rows::kRunTable, index::make_key(0), index::make_key(kMaxWord),
                     [&](const index::Key& key, ByteSpan row) -> Status {
                       NVMDB_ASSIGN(Run run, rows::decode_run(static_cast<RunId>(key.words[0]), row));
                       // A run without a step is one that a writer has only opened.
                       if (run.state != RunState::Dropping && run.version > 0) found.push_back(std::move(run));
                       return Status::ok();
                     });
  }));
  std::sort(found.begin(), found.end(), [](const Run& a, const Run& b) {
    if (a.key.reference_time != b.key.reference_time) return a.key.reference_time > b.key.reference_time;
    if (a.key.model != b.key.model) return a.key.model < b.key.model;
    if (a.key.domain != b.key.domain) return a.key.domain < b.key.domain;
    return a.key.version < b.key.version;
  });
  return found;
}

Result<Run> Catalogue::run(RunId id) const {
  Run found;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    NVMDB_ASSIGN(const ByteSpan row, transaction.read(rows::kRunTable, index::make_key(id)));
    NVMDB_ASSIGN(found, rows::decode_run(id, row));
    return Status::ok();
  }));
  if (found.state == RunState::Dropping || found.version == 0) {
    return Status::not_found("run " + std::to_string(id) + " is not there");
  }
  return found;
}

Result<Run> Catalogue::find_run(const RunKey& key) const {
  std::uint64_t id = 0;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    const Result<ByteSpan> row = transaction.read(rows::kRunNameTable, rows::hash_key(rows::encode_run_key(key)));
    if (!row.is_ok()) {
      if (row.status().code() != Code::NotFound) return row.status();
      return Status::not_found("no run " + format_run(key));
    }
    NVMDB_ASSIGN(id, rows::decode_number(*row));
    return Status::ok();
  }));
  NVMDB_ASSIGN(Run found, run(static_cast<RunId>(id)));
  if (!(found.key == key)) return Status::corruption("run name of " + format_run(key) + " leads to " + format_run(found.key));
  return found;
}

Result<met::Parameter> Catalogue::parameter(ParameterId id) const {
  {
    const std::shared_lock lock(cache_mutex_);
    if (const auto it = parameter_cache_.find(id); it != parameter_cache_.end()) return it->second;
  }
  met::Parameter found;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    NVMDB_ASSIGN(const ByteSpan row, transaction.read(rows::kParameterTable, index::make_key(id)));
    NVMDB_ASSIGN(found, rows::decode_parameter(row));
    return Status::ok();
  }));
  const std::unique_lock lock(cache_mutex_);
  parameter_cache_.emplace(id, found);
  return found;
}

Result<std::vector<ParameterId>> Catalogue::parameters_named(const std::string& short_name) const {
  std::vector<ParameterId> ids;
  const std::uint64_t word = rows::hash_word(short_name);
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) {
    ids.clear();
    return scan_rows(transaction, rows::kShortNameTable, index::make_key(word, 0), index::make_key(word, kMaxWord),
                     [&](const index::Key& key, ByteSpan) {
                       ids.push_back(static_cast<ParameterId>(key.words[1]));
                       return Status::ok();
                     });
  }));
  std::vector<ParameterId> named;
  for (const ParameterId id : ids) {
    NVMDB_ASSIGN(const met::Parameter found, parameter(id));
    if (found.short_name == short_name) named.push_back(id);
  }
  return named;
}

Result<std::string> Catalogue::level_type(LevelTypeId id) const {
  {
    const std::shared_lock lock(cache_mutex_);
    if (const auto it = level_type_cache_.find(id); it != level_type_cache_.end()) return it->second;
  }
  std::string name;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    NVMDB_ASSIGN(const ByteSpan row, transaction.read(rows::kLevelTypeTable, index::make_key(id)));
    name.assign(reinterpret_cast<const char*>(row.data()), row.size());
    return Status::ok();
  }));
  const std::unique_lock lock(cache_mutex_);
  level_type_cache_.emplace(id, name);
  return name;
}

Result<LevelTypeId> Catalogue::find_level_type(const std::string& name) const {
  std::uint64_t id = 0;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    const Result<ByteSpan> row =
        transaction.read(rows::kLevelTypeNameTable, rows::hash_key(std::as_bytes(std::span(name))));
    if (!row.is_ok()) {
      if (row.status().code() != Code::NotFound) return row.status();
      return Status::not_found("no field has the level type '" + name + "'");
    }
    NVMDB_ASSIGN(id, rows::decode_number(*row));
    return Status::ok();
  }));
  NVMDB_ASSIGN(const std::string found, level_type(static_cast<LevelTypeId>(id)));
  if (found != name) return Status::not_found("no field has the level type '" + name + "'");
  return static_cast<LevelTypeId>(id);
}

Status Catalogue::verify_positions(GridId id, storage::Extent& positions) const {
  return database_.run_durable([&](Transaction& transaction) -> Status {
    NVMDB_ASSIGN(const ByteSpan bytes, transaction.read(rows::kGridTable, index::make_key(id)));
    NVMDB_ASSIGN(const rows::GridRow row, rows::decode_grid(bytes));
    NVMDB_ASSIGN(met::Grid grid, met::Grid::decode_definition(row.definition));
    positions = row.positions;
    return read_positions(database_.media(), id, row, grid);
  });
}

Result<std::shared_ptr<const met::Grid>> Catalogue::grid(GridId id) const {
  {
    const std::shared_lock lock(cache_mutex_);
    if (const auto it = grid_cache_.find(id); it != grid_cache_.end()) return it->second;
  }
  met::Grid grid;
  // The transaction's pin keeps the positions from being freed while they are copied.
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    NVMDB_ASSIGN(const ByteSpan bytes, transaction.read(rows::kGridTable, index::make_key(id)));
    NVMDB_ASSIGN(const rows::GridRow row, rows::decode_grid(bytes));
    NVMDB_ASSIGN(grid, met::Grid::decode_definition(row.definition));
    return read_positions(database_.media(), id, row, grid);
  }));
  NVMDB_TRY(grid.validate());
  auto shared = std::make_shared<const met::Grid>(std::move(grid));
  const std::unique_lock lock(cache_mutex_);
  return grid_cache_.emplace(id, std::move(shared)).first->second;
}

Result<std::vector<InventoryRow>> Catalogue::inventory(RunId run) const {
  std::vector<InventoryRow> found;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) {
    found.clear();
    return scan_rows(transaction, rows::kFieldTable, rows::field_low(run), rows::field_high(run),
                     [&](const index::Key& key, ByteSpan row) -> Status {
                       NVMDB_ASSIGN(const Field field, rows::decode_field(key, row));
                       const FieldKey& k = field.key;
                       if (found.empty() || found.back().member != k.member || found.back().parameter != k.parameter ||
                           found.back().level_type != k.level_type || found.back().level != k.level ||
                           found.back().bottom != k.bottom) {
                         found.push_back({k.member, k.parameter, k.level_type, k.level, k.bottom, field.grid, {}});
                       }
                       found.back().steps.push_back(k.step);
                       return Status::ok();
                     });
  }));
  return found;
}

Result<std::vector<StepRow>> Catalogue::steps(RunId run) const {
  std::vector<StepRow> found;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) {
    found.clear();
    return scan_rows(transaction, rows::kStepTable, index::make_key(run, 0), index::make_key(run, kMaxWord),
                     [&](const index::Key& key, ByteSpan row) -> Status {
                       NVMDB_ASSIGN(StepRow step, rows::decode_step(key, row));
                       found.push_back(step);
                       return Status::ok();
                     });
  }));
  return found;
}

Result<std::vector<Event>> Catalogue::events_after(std::uint64_t after, std::size_t limit) const {
  std::vector<Event> found;
  if (limit == 0 || after >= kMaxWord - limit) return found;
  std::uint64_t last = 0;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    found.clear();
    const Result<ByteSpan> counter =
        transaction.read(rows::kCounterTable, index::make_key(static_cast<std::uint64_t>(rows::Counter::Event)));
    if (counter.is_ok()) {
      NVMDB_ASSIGN(last, rows::decode_number(*counter));
    } else if (counter.status().code() != Code::NotFound) {
      return counter.status();
    }
    // Sequence numbers have no gaps, so the limit is a range.
    return scan_rows(transaction, rows::kEventTable, index::make_key(after + 1), index::make_key(after + limit),
                     [&](const index::Key& key, ByteSpan row) -> Status {
                       NVMDB_ASSIGN(Event event, rows::decode_event(key.words[0], row));
                       found.push_back(std::move(event));
                       return Status::ok();
                     });
  }));
  const std::uint64_t expected = after < last ? std::min<std::uint64_t>(limit, last - after) : 0;
  if (found.size() != expected) {
    return Status::not_found("events after " + std::to_string(after) + " are no longer kept; list the runs and resume from event " +
                             std::to_string(last));
  }
  return found;
}

Result<std::uint64_t> Catalogue::last_event() const {
  std::uint64_t last = 0;
  NVMDB_TRY(database_.run_durable([&](Transaction& transaction) -> Status {
    const Result<ByteSpan> row =
        transaction.read(rows::kCounterTable, index::make_key(static_cast<std::uint64_t>(rows::Counter::Event)));
    if (!row.is_ok()) return row.status().code() == Code::NotFound ? Status::ok() : row.status();
    NVMDB_ASSIGN(last, rows::decode_number(*row));
    return Status::ok();
  }));
  return last;
}

bool Catalogue::wait_for_event(std::uint64_t after, std::uint64_t timeout_ms) const {
  std::unique_lock lock(event_mutex_);
  return event_arrived_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                 [&] { return announced_.load(std::memory_order_acquire) > after; });
}

void Catalogue::announce(std::uint64_t sequence) {
  NVMDB_FAIL_POINT("catalogue.announce");
  {
    const std::lock_guard lock(event_mutex_);
    std::uint64_t seen = announced_.load(std::memory_order_relaxed);
    while (seen < sequence && !announced_.compare_exchange_weak(seen, sequence, std::memory_order_release)) {
    }
  }
  event_arrived_.notify_all();
}

}  // namespace nvmdb::engine
