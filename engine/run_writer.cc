#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "engine/catalogue_rows.h"
#include "engine/field_store.h"
#include "engine/field_store_state.h"
#include "engine/run_space.h"
#include "storage/base/clock.h"
#include "storage/base/crc32c.h"
#include "storage/base/fail_point.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {
namespace {

constexpr std::int64_t kStepSecondsMax = 1LL << 50U;

/// Looks the content of a row up by its hash, or gives it the next number, writes the row and calls
/// `insert(transaction, number)` for more. Errors: Conflict (other content has the same hash).
template <class Insert>
Result<std::uint64_t> number_of(Database& database, TableId names, TableId contents, ByteSpan row,
                                rows::Counter counter, Insert insert) {
  const index::Key name = rows::hash_key(row);
  std::uint64_t number = 0;
  NVMDB_TRY(database.run_durable([&](Transaction& transaction) -> Status {
    const Result<ByteSpan> known = transaction.read(names, name);
    if (known.is_ok()) {
      NVMDB_ASSIGN(number, rows::decode_number(*known));
      NVMDB_ASSIGN(const ByteSpan found, transaction.read(contents, index::make_key(number)));
      return std::ranges::equal(found, row) ? Status::ok() : rows::same_hash(name);
    }
    if (known.status().code() != Code::NotFound) return known.status();
    NVMDB_ASSIGN(number, rows::next_number(transaction, counter));
    NVMDB_TRY(transaction.put(names, name, rows::encode_number(number)));
    NVMDB_TRY(transaction.put(contents, index::make_key(number), row));
    return insert(transaction, number);
  }));
  return number;
}

}  // namespace

struct RunWriter::State {
  State(FieldStore& s, RunId r, std::shared_ptr<RunShared> h)
      : store(s), run(r), shared(std::move(h)), space(s.database().pages(), r, shared->tails) {}

  struct Step {
    std::map<index::Key, Field> fields;  ///< not yet committed
    std::uint32_t unchanged = 0;
  };
  struct Open {
    Field field;
    std::uint64_t written = 0;     ///< bytes
    std::uint64_t next = 0;        ///< where the checksum has come to; pieces out of order end it
    bool in_order = true;
  };

  FieldStore& store;
  RunId run;
  std::shared_ptr<RunShared> shared;
  RunSpace space;
  std::optional<Open> open;
  std::map<std::int64_t, Step> steps;
  std::map<std::string, ParameterId> parameters;  ///< by encoded row
  std::map<std::string, LevelTypeId> level_types;
  std::map<index::Key, GridId> grids;             ///< by content hash
  std::map<GridId, std::uint64_t> grid_points;

  [[nodiscard]] storage::PersistentSpan span(const storage::Extent& at) {
    return {store.database().media().region(at.region), at.offset, at.bytes};
  }
  [[nodiscard]] Result<ParameterId> parameter(const met::Parameter& parameter);
  [[nodiscard]] Result<LevelTypeId> level_type(const std::string& name);
  [[nodiscard]] Result<bool> is_stored_already(const Field& field);
  [[nodiscard]] Status fence();
};

std::unique_ptr<RunWriter> RunWriter::make(FieldStore& store, RunId run, std::shared_ptr<RunShared> shared) {
  return std::unique_ptr<RunWriter>(new RunWriter(std::make_unique<State>(store, run, std::move(shared))));
}

RunWriter::RunWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

RunWriter::~RunWriter() {
  const std::shared_ptr<RunShared> shared = state_->shared;
  state_.reset();
  const std::lock_guard lock(shared->writers_mutex);
  --shared->writers;
}

RunId RunWriter::run() const { return state_->run; }

Result<ParameterId> RunWriter::State::parameter(const met::Parameter& parameter) {
  const Bytes row = rows::encode_parameter(parameter);
  const std::string name(reinterpret_cast<const char*>(row.data()), row.size());
  if (const auto it = parameters.find(name); it != parameters.end()) return it->second;
  NVMDB_ASSIGN(const std::uint64_t number,
               number_of(store.database(), rows::kParameterNameTable, rows::kParameterTable, row, rows::Counter::Parameter,
                         [&](Transaction& transaction, std::uint64_t id) {
                           return transaction.put(rows::kShortNameTable,
                                                  index::make_key(rows::hash_word(parameter.short_name), id), {});
                         }));
  return parameters[name] = static_cast<ParameterId>(number);
}

Result<LevelTypeId> RunWriter::State::level_type(const std::string& name) {
  if (const auto it = level_types.find(name); it != level_types.end()) return it->second;
  const ByteSpan row = std::as_bytes(std::span(name));
  NVMDB_ASSIGN(const std::uint64_t number,
               number_of(store.database(), rows::kLevelTypeNameTable, rows::kLevelTypeTable, row,
                         rows::Counter::LevelType, [](Transaction&, std::uint64_t) { return Status::ok(); }));
  return level_types[name] = static_cast<LevelTypeId>(number);
}

Result<GridId> RunWriter::grid(const met::Grid& grid) {
  NVMDB_TRY(grid.validate());
  rows::GridRow row;
  row.definition = grid.encode_definition();
  Bytes content = row.definition;
  const ByteSpan latitudes = std::as_bytes(std::span(grid.latitudes));
  const ByteSpan longitudes = std::as_bytes(std::span(grid.longitudes));
  content.insert(content.end(), latitudes.begin(), latitudes.end());
  content.insert(content.end(), longitudes.begin(), longitudes.end());
  const index::Key name = rows::hash_key(content);
  row.name = name;
  if (const auto it = state_->grids.find(name); it != state_->grids.end()) return it->second;

  Database& database = state_->store.database();
  const std::lock_guard lock(state_->store.state_->grid_mutex);
  RunSpace space(database.pages(), kGridRun, state_->store.state_->run(kGridRun)->tails);
  std::uint64_t number = 0;
  bool positions_used = false;
  NVMDB_ASSIGN(const CommitReceipt receipt, database.run([&](Transaction& transaction) -> Status {
    positions_used = false;
    const Result<ByteSpan> known = transaction.read(rows::kGridHashTable, name);
    if (known.is_ok()) {
      NVMDB_ASSIGN(number, rows::decode_number(*known));
      NVMDB_ASSIGN(const ByteSpan stored, transaction.read(rows::kGridTable, index::make_key(number)));
      NVMDB_ASSIGN(const rows::GridRow found, rows::decode_grid(stored));
      const bool same = found.definition == row.definition && found.positions.bytes == latitudes.size() + longitudes.size() &&
                        (latitudes.empty() || found.positions_crc == crc32c(longitudes, crc32c(latitudes)));
      if (!same) return rows::same_hash(name);
    } else if (known.status().code() != Code::NotFound) {
      return known.status();
    } else {
      if (!latitudes.empty() && row.positions.bytes == 0) {
        NVMDB_ASSIGN(row.positions, space.allocate(latitudes.size() + longitudes.size()));
        const storage::PersistentSpan span = state_->span(row.positions);
        span.copy_nontemporal(0, latitudes);
        span.copy_nontemporal(latitudes.size(), longitudes);
        NVMDB_FAIL_POINT_TRY("grid.positions");
        NVMDB_TRY(span.fence());
        row.positions_crc = crc32c(longitudes, crc32c(latitudes));
      }
      positions_used = true;
      NVMDB_ASSIGN(number, rows::next_number(transaction, rows::Counter::Grid));
      NVMDB_TRY(transaction.put(rows::kGridHashTable, name, rows::encode_number(number)));
      NVMDB_TRY(transaction.put(rows::kGridTable, index::make_key(number), rows::encode_grid(row)));
    }
    // Says that the run needs the grid, so that dropping another run does not take it away.
    return transaction.put(rows::kGridUseTable, index::make_key(number, state_->run), {});
  }));
  NVMDB_FAIL_POINT("grid.logged");
  if (row.positions.bytes > 0 && positions_used) {
    space.keep(row.positions);
    state_->store.state_->add_positions(row.positions);
  } else if (row.positions.bytes > 0) {
    space.discard(row.positions);
  }
  NVMDB_TRY(database.wait_durable(receipt));
  const auto id = static_cast<GridId>(number);
  state_->grid_points[id] = grid.points;
  return state_->grids[name] = id;
}

Status RunWriter::begin_field(const FieldHeader& header) {
  NVMDB_CHECK(!state_->open.has_value(), "begin_field() while a field is open");
  NVMDB_TRY(header.encoding.validate());
  const auto points = state_->grid_points.find(header.grid);
  if (points == state_->grid_points.end()) {
    return Status::invalid_argument("field " + header.parameter.short_name + ": its grid was not registered");
  }
  if (header.points != points->second) {
    return Status::invalid_argument("field " + header.parameter.short_name + ": expected " +
                                    std::to_string(points->second) + " points as its grid has, found " +
                                    std::to_string(header.points));
  }
  const met::Step& step = header.step;
  if (!std::isfinite(header.level.value) || !std::isfinite(header.level.bottom) || step.end_seconds > kStepSecondsMax ||
      step.end_seconds < -kStepSecondsMax || step.start_seconds > kStepSecondsMax || step.start_seconds < -kStepSecondsMax) {
    return Status::invalid_argument("field " + header.parameter.short_name + ": level or step is out of range");
  }
  State::Open open;
  Field& field = open.field;
  field.key.run = state_->run;
  field.key.member = header.member;
  NVMDB_ASSIGN(field.key.parameter, state_->parameter(header.parameter));
  NVMDB_ASSIGN(field.key.level_type, state_->level_type(header.level.type));
  field.key.level = header.level.value;
  field.key.bottom = header.level.bottom;
  field.key.step = step;
  field.grid = header.grid;
  field.encoding = header.encoding;
  field.points = header.points;
  field.extent.bytes = header.encoding.extent_bytes(header.points);
  if (field.extent.bytes > 0) {
    NVMDB_ASSIGN(field.extent, state_->space.allocate(field.extent.bytes));
    state_->store.state_->checked.remove(field.extent);
  }
  NVMDB_FAIL_POINT("field.begin");
  state_->open = open;
  return Status::ok();
}

Status RunWriter::write(std::uint64_t at, ByteSpan bytes) {
  NVMDB_CHECK(state_->open.has_value(), "write() without begin_field()");
  State::Open& open = *state_->open;
  const std::uint64_t size = open.field.extent.bytes;
  if (at > size || bytes.size() > size - at) {
    return Status::invalid_argument("field bytes " + std::to_string(at) + " to " + std::to_string(at + bytes.size()) +
                                    " lie outside its " + std::to_string(size));
  }
  if (bytes.empty()) return Status::ok();
  NVMDB_FAIL_POINT_TRY("field.copy");
  state_->span(open.field.extent).copy_nontemporal(at, bytes);
  open.written += bytes.size();
  if (at == open.next && open.in_order) {
    open.field.crc = crc32c(bytes, open.field.crc);
    open.next = at + bytes.size();
  } else {
    open.in_order = false;
  }
  return Status::ok();
}

Status RunWriter::end_field(const FieldStatistics& statistics) {
  NVMDB_CHECK(state_->open.has_value(), "end_field() without begin_field()");
  State::Open open = *state_->open;
  Field& field = open.field;
  if (open.written != field.extent.bytes) {
    cancel_field();
    return Status::invalid_argument("field: expected " + std::to_string(field.extent.bytes) + " bytes, found " +
                                    std::to_string(open.written));
  }
  NVMDB_FAIL_POINT("field.end");
  if (!open.in_order) {
    const ByteSpan stored = state_->span(field.extent).bytes();
    if (!storage::read_guarded([&] { field.crc = crc32c(stored); })) {
      cancel_field();
      return storage::media_fault_status("field just stored");
    }
  }
  field.minimum = statistics.minimum;
  field.maximum = statistics.maximum;
  field.mean = statistics.mean;
  field.missing_count = statistics.missing_count;
  const Result<bool> stored = state_->is_stored_already(field);
  if (!stored.is_ok()) {
    cancel_field();
    return stored.status();
  }
  State::Step& step = state_->steps[field.key.step.end_seconds];
  if (*stored) {
    cancel_field();
    // The last of several fields with one key counts: what was put before this one is not wanted any more.
    if (const auto earlier = step.fields.find(rows::field_key(field.key)); earlier != step.fields.end()) {
      if (earlier->second.extent.bytes > 0) state_->space.discard(earlier->second.extent);
      step.fields.erase(earlier);
    }
    ++step.unchanged;
    return Status::ok();
  }
  state_->open.reset();
  const auto [place, is_new] = step.fields.try_emplace(rows::field_key(field.key), field);
  if (!is_new) {
    if (place->second.extent.bytes > 0) state_->space.discard(place->second.extent);
    place->second = field;
  }
  return Status::ok();
}

void RunWriter::cancel_field() {
  if (!state_->open.has_value()) return;
  if (state_->open->field.extent.bytes > 0) state_->space.discard(state_->open->field.extent);
  state_->open.reset();
}

Result<bool> RunWriter::State::is_stored_already(const Field& field) {
  bool same = false;
  bool other_grid = false;
  const index::Key key = rows::field_key(field.key);
  NVMDB_TRY(store.database().run_durable([&](Transaction& transaction) -> Status {
    same = other_grid = false;
    const Result<ByteSpan> row = transaction.read(rows::kFieldTable, key);
    if (!row.is_ok()) return row.status().code() == Code::NotFound ? Status::ok() : row.status();
    NVMDB_ASSIGN(const Field there, rows::decode_field(key, *row));
    other_grid = there.grid != field.grid;
    if (other_grid || !(there.encoding == field.encoding) || there.points != field.points ||
        there.crc != field.crc) {
      return Status::ok();
    }
    const ByteSpan a = span(there.extent).bytes();
    const ByteSpan b = span(field.extent).bytes();
    // Where the stored bytes are damaged or cannot be read, the field is another one: it is stored again elsewhere.
    if (a.size() != b.size()) return Status::ok();
    if (!storage::read_guarded([&] { same = a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0; })) same = false;
    return Status::ok();
  }));
  // Two domains under one name would destroy each other's steps.
  if (other_grid) {
    return Status::conflict("step " + met::format_step(field.key.step) +
                            " is stored already on another grid; drop the run first, or give the file a --domain or "
                            "--model of its own");
  }
  return same;
}

std::vector<std::int64_t> RunWriter::pending_steps() const {
  std::vector<std::int64_t> ends;
  for (const auto& [end, step] : state_->steps) ends.push_back(end);
  return ends;
}

Status RunWriter::State::fence() {
  storage::PoolMedia& media = store.database().media();
  for (std::uint32_t region = 0; region < media.region_count(); ++region) NVMDB_TRY(media.region(region).fence());
  return Status::ok();
}

Result<StepAck> RunWriter::commit_step(std::int64_t end_seconds) {
  StepAck ack;
  ack.run = state_->run;
  ack.end_seconds = end_seconds;
  const auto found = state_->steps.find(end_seconds);
  if (found == state_->steps.end()) return ack;
  State::Step& step = found->second;
  ack.fields_unchanged = step.unchanged;
  if (step.fields.empty()) {
    state_->steps.erase(found);
    return ack;
  }
  NVMDB_FAIL_POINT_TRY("step.fence");
  // The bytes of the fields are durable before the transaction that names them is logged.
  NVMDB_TRY(state_->fence());
  NVMDB_FAIL_POINT_TRY("step.commit");
  std::uint64_t version = 0;
  std::uint64_t sequence = 0;
  std::vector<storage::Extent> replaced_extents;
  const met::UnixSeconds now = system_clock().wall_seconds();
  Database& database = state_->store.database();
  NVMDB_ASSIGN(const CommitReceipt receipt, database.run([&](Transaction& transaction) -> Status {
    const index::Key run_key = index::make_key(state_->run);
    replaced_extents.clear();
    NVMDB_ASSIGN(const ByteSpan run_row, transaction.read(rows::kRunTable, run_key));
    NVMDB_ASSIGN(Run run, rows::decode_run(state_->run, run_row));
    if (run.state == RunState::Dropping) return Status::not_found("run " + format_run(run.key) + " was dropped");
    StepRow row;
    const index::Key step_key = rows::step_key(state_->run, end_seconds);
    const Result<ByteSpan> known = transaction.read(rows::kStepTable, step_key);
    if (known.is_ok()) {
      NVMDB_ASSIGN(row, rows::decode_step(step_key, *known));
    } else if (known.status().code() != Code::NotFound) {
      return known.status();
    }
    for (const auto& [key, field] : step.fields) {
      const Result<ByteSpan> replaced = transaction.read(rows::kFieldTable, key);
      if (replaced.is_ok()) {
        NVMDB_ASSIGN(const Field old, rows::decode_field(key, *replaced));
        run.field_bytes -= old.extent.bytes;
        replaced_extents.push_back(old.extent);
      } else if (replaced.status().code() == Code::NotFound) {
        ++run.field_count;
        ++row.field_count;
      } else {
        return replaced.status();
      }
      run.field_bytes += field.extent.bytes;
      NVMDB_TRY(transaction.put(rows::kFieldTable, key, rows::encode_field(field)));
    }
    NVMDB_ASSIGN(sequence, rows::next_number(transaction, rows::Counter::Event));
    const Event event{sequence,
                      known.is_ok() ? Event::Kind::StepReplaced : Event::Kind::StepVisible,
                      state_->run,
                      run.key,
                      end_seconds,
                      static_cast<std::uint32_t>(step.fields.size()),
                      now};
    NVMDB_TRY(rows::put_event(transaction, event));
    row.event_sequence = sequence;
    row.committed_at = now;
    NVMDB_TRY(transaction.put(rows::kStepTable, step_key, rows::encode_step(row)));
    version = ++run.version;
    run.changed_at = now;
    return transaction.put(rows::kRunTable, run_key, rows::encode_run(run));
  }));
  NVMDB_FAIL_POINT("step.logged");
  // Kept before the wait: the record may reach the media even when the wait fails, and then names these bytes.
  for (const auto& [key, field] : step.fields) {
    if (field.extent.bytes > 0) state_->space.keep(field.extent);
    ack.bytes_stored += field.extent.bytes;
  }
  NVMDB_TRY(database.wait_durable(receipt));
  NVMDB_FAIL_POINT("step.durable");
  for (const storage::Extent& extent : replaced_extents) state_->store.state_->damage.forget(extent);
  ack.fields_stored = static_cast<std::uint32_t>(step.fields.size());
  state_->steps.erase(found);
  state_->shared->raise_version(version);
  state_->store.catalogue().announce(sequence);
  return ack;
}

}  // namespace nvmdb::engine
