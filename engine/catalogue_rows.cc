#include "engine/catalogue_rows.h"

#include <xxhash.h>

#include <cstring>
#include <limits>
#include <type_traits>

namespace nvmdb::engine::rows {
namespace {

constexpr std::uint8_t kRowVersion = 1;
constexpr std::uint64_t kMaxWord = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned kProcessBits = 8;
constexpr std::int64_t kStepBias = 1LL << 54U;  ///< makes every step start non-negative before the process is appended

Status damaged(const char* table, const std::string& key) {
  return Status::corruption(std::string(table) + " row " + key + " does not parse");
}

/// A field row as it lies in the pool.
struct FieldRowLayout {
  std::uint8_t version;
  std::uint8_t encoding_kind;
  std::uint8_t width_bytes;
  std::uint8_t has_bitmap;
  std::int16_t binary_scale;
  std::int16_t decimal_scale;
  std::uint32_t grid;
  std::uint32_t region;
  std::uint32_t crc;
  std::uint32_t reserved;
  double reference;
  std::uint64_t points;
  std::uint64_t offset;
  std::uint64_t bytes;
  double minimum;
  double maximum;
  double mean;
  std::uint64_t missing_count;
};
static_assert(sizeof(FieldRowLayout) == 88 && std::is_trivially_copyable_v<FieldRowLayout>);
static_assert(offsetof(FieldRowLayout, reference) == 24 && offsetof(FieldRowLayout, missing_count) == 80);

std::uint64_t start_word(const met::Step& step) {
  return (static_cast<std::uint64_t>(step.start_seconds + kStepBias) << kProcessBits) |
         static_cast<std::uint64_t>(step.process);
}

}  // namespace

index::Key hash_key(ByteSpan bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return index::make_key(hash.high64, hash.low64);
}

Status same_hash(const index::Key& hash) {
  return Status::conflict("two names, or two grids, have the same hash " + hash.to_string() + "; rename one of them");
}

std::uint64_t hash_word(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

Bytes encode_number(std::uint64_t number) {
  ByteWriter out;
  out.put(number);
  return out.take();
}

Result<std::uint64_t> decode_number(ByteSpan row) {
  ByteReader in(row);
  const auto number = in.get<std::uint64_t>();
  if (!in.complete()) return damaged("number", std::to_string(row.size()) + " bytes");
  return number;
}

Bytes encode_run_key(const RunKey& key) {
  ByteWriter out;
  out.put_string(key.model);
  out.put_string(key.domain);
  out.put(key.reference_time);
  out.put_string(key.version);
  return out.take();
}

Bytes encode_run(const Run& run) {
  ByteWriter out;
  out.put(kRowVersion);
  out.put_bytes(encode_run_key(run.key));
  out.put(static_cast<std::uint8_t>(run.significance));
  out.put(static_cast<std::uint8_t>(run.state));
  out.put(static_cast<std::uint8_t>(run.location));
  out.put_string(run.format);
  out.put_string(run.attributes);
  out.put(run.field_count);
  out.put(run.field_bytes);
  out.put(run.version);
  out.put(run.changed_at);
  return out.take();
}

Result<Run> decode_run(RunId id, ByteSpan row) {
  ByteReader in(row);
  const auto version = in.get<std::uint8_t>();
  Run run;
  run.id = id;
  run.key.model = in.get_string();
  run.key.domain = in.get_string();
  run.key.reference_time = in.get<met::UnixSeconds>();
  run.key.version = in.get_string();
  run.significance = static_cast<met::ReferenceSignificance>(in.get<std::uint8_t>());
  run.state = static_cast<RunState>(in.get<std::uint8_t>());
  run.location = static_cast<RunLocation>(in.get<std::uint8_t>());
  run.format = in.get_string();
  run.attributes = in.get_string();
  run.field_count = in.get<std::uint64_t>();
  run.field_bytes = in.get<std::uint64_t>();
  run.version = in.get<std::uint64_t>();
  run.changed_at = in.get<met::UnixSeconds>();
  if (!in.complete() || version != kRowVersion) return damaged("run", std::to_string(id));
  return run;
}

Bytes encode_parameter(const met::Parameter& parameter) {
  ByteWriter out;
  out.put(kRowVersion);
  out.put_string(parameter.short_name);
  out.put_string(parameter.long_name);
  out.put_string(parameter.units);
  out.put(parameter.param_id);
  out.put_string(parameter.origin);
  out.put_string(parameter.discriminator);
  out.put_string(parameter.stagger);
  return out.take();
}

Result<met::Parameter> decode_parameter(ByteSpan row) {
  ByteReader in(row);
  const auto version = in.get<std::uint8_t>();
  met::Parameter parameter;
  parameter.short_name = in.get_string();
  parameter.long_name = in.get_string();
  parameter.units = in.get_string();
  parameter.param_id = in.get<std::int32_t>();
  parameter.origin = in.get_string();
  parameter.discriminator = in.get_string();
  parameter.stagger = in.get_string();
  if (!in.complete() || version != kRowVersion) return damaged("parameter", parameter.short_name);
  return parameter;
}

Bytes encode_grid(const GridRow& grid) {
  ByteWriter out;
  out.put(kRowVersion);
  out.put(static_cast<std::uint32_t>(grid.definition.size()));
  out.put_bytes(grid.definition);
  out.put(grid.name.words[0]);
  out.put(grid.name.words[1]);
  out.put(grid.positions.region);
  out.put(grid.positions.offset);
  out.put(grid.positions.bytes);
  out.put(grid.positions_crc);
  return out.take();
}

Result<GridRow> decode_grid(ByteSpan row) {
  ByteReader in(row);
  const auto version = in.get<std::uint8_t>();
  GridRow grid;
  const ByteSpan definition = in.get_bytes(in.get<std::uint32_t>());
  grid.definition.assign(definition.begin(), definition.end());
  const auto high = in.get<std::uint64_t>();
  const auto low = in.get<std::uint64_t>();
  grid.name = index::make_key(high, low);
  grid.positions.region = in.get<std::uint32_t>();
  grid.positions.offset = in.get<std::uint64_t>();
  grid.positions.bytes = in.get<std::uint64_t>();
  grid.positions_crc = in.get<std::uint32_t>();
  if (!in.complete() || version != kRowVersion) return damaged("grid", std::to_string(row.size()) + " bytes");
  return grid;
}

index::Key field_key(const FieldKey& key) {
  return index::make_key((std::uint64_t{key.run} << 32U) | key.member,
                         (std::uint64_t{key.parameter} << 32U) | key.level_type, index::double_word(key.level),
                         index::double_word(key.bottom), index::signed_word(key.step.end_seconds),
                         start_word(key.step));
}

FieldKey decode_field_key(const index::Key& key) {
  FieldKey field;
  field.run = static_cast<RunId>(key.words[0] >> 32U);
  field.member = static_cast<std::uint32_t>(key.words[0]);
  field.parameter = static_cast<ParameterId>(key.words[1] >> 32U);
  field.level_type = static_cast<LevelTypeId>(key.words[1]);
  field.level = index::word_double(key.words[2]);
  field.bottom = index::word_double(key.words[3]);
  field.step.end_seconds = index::word_signed(key.words[4]);
  field.step.start_seconds = static_cast<std::int64_t>(key.words[5] >> kProcessBits) - kStepBias;
  field.step.process = static_cast<met::StepProcess>(key.words[5] & 0xffU);
  return field;
}

index::Key field_low(RunId run) { return index::make_key(std::uint64_t{run} << 32U, 0, 0, 0, 0, 0); }

index::Key field_high(RunId run) {
  return index::make_key((std::uint64_t{run} << 32U) | 0xffffffffU, kMaxWord, kMaxWord, kMaxWord, kMaxWord, kMaxWord);
}

Bytes encode_field(const Field& field) {
  FieldRowLayout row{};
  row.version = kRowVersion;
  row.encoding_kind = static_cast<std::uint8_t>(field.encoding.kind);
  row.width_bytes = field.encoding.width_bytes;
  row.has_bitmap = static_cast<std::uint8_t>(field.encoding.has_bitmap);
  row.binary_scale = field.encoding.binary_scale;
  row.decimal_scale = field.encoding.decimal_scale;
  row.grid = field.grid;
  row.region = field.extent.region;
  row.crc = field.crc;
  row.reference = field.encoding.reference;
  row.points = field.points;
  row.offset = field.extent.offset;
  row.bytes = field.extent.bytes;
  row.minimum = field.minimum;
  row.maximum = field.maximum;
  row.mean = field.mean;
  row.missing_count = field.missing_count;
  Bytes out(sizeof row);
  std::memcpy(out.data(), &row, sizeof row);
  return out;
}

Result<Field> decode_field(const index::Key& key, ByteSpan bytes) {
  FieldRowLayout row{};
  if (bytes.size() != sizeof row) return damaged("field", key.to_string());
  std::memcpy(&row, bytes.data(), sizeof row);
  Field field;
  field.key = decode_field_key(key);
  field.grid = row.grid;
  field.encoding.kind = static_cast<met::EncodingKind>(row.encoding_kind);
  field.encoding.width_bytes = row.width_bytes;
  field.encoding.has_bitmap = row.has_bitmap != 0;
  field.encoding.binary_scale = row.binary_scale;
  field.encoding.decimal_scale = row.decimal_scale;
  field.encoding.reference = row.reference;
  field.points = row.points;
  field.extent = {row.region, row.offset, row.bytes};
  field.minimum = row.minimum;
  field.maximum = row.maximum;
  field.mean = row.mean;
  field.missing_count = row.missing_count;
  field.crc = row.crc;
  if (row.version != kRowVersion || !field.encoding.validate().is_ok() ||
      field.points > (1ULL << 32U) || field.encoding.extent_bytes(field.points) != row.bytes) {
    return damaged("field", key.to_string());
  }
  return field;
}

index::Key step_key(RunId run, std::int64_t end_seconds) {
  return index::make_key(run, index::signed_word(end_seconds));
}

Bytes encode_step(const StepRow& step) {
  ByteWriter out;
  out.put(kRowVersion);
  out.put(step.field_count);
  out.put(step.event_sequence);
  out.put(step.committed_at);
  return out.take();
}

Result<StepRow> decode_step(const index::Key& key, ByteSpan row) {
  ByteReader in(row);
  const auto version = in.get<std::uint8_t>();
  StepRow step;
  step.run = static_cast<RunId>(key.words[0]);
  step.end_seconds = index::word_signed(key.words[1]);
  step.field_count = in.get<std::uint32_t>();
  step.event_sequence = in.get<std::uint64_t>();
  step.committed_at = in.get<met::UnixSeconds>();
  if (!in.complete() || version != kRowVersion) return damaged("step", key.to_string());
  return step;
}

Bytes encode_event(const Event& event) {
  ByteWriter out;
  out.put(kRowVersion);
  out.put(static_cast<std::uint8_t>(event.kind));
  out.put(event.run);
  out.put_string(event.run_key.model);
  out.put_string(event.run_key.domain);
  out.put(event.run_key.reference_time);
  out.put_string(event.run_key.version);
  out.put(event.step_end_seconds);
  out.put(event.fields_changed);
  out.put(event.at);
  return out.take();
}

Result<Event> decode_event(std::uint64_t sequence, ByteSpan row) {
  ByteReader in(row);
  const auto version = in.get<std::uint8_t>();
  Event event;
  event.sequence = sequence;
  event.kind = static_cast<Event::Kind>(in.get<std::uint8_t>());
  event.run = in.get<RunId>();
  event.run_key.model = in.get_string();
  event.run_key.domain = in.get_string();
  event.run_key.reference_time = in.get<met::UnixSeconds>();
  event.run_key.version = in.get_string();
  event.step_end_seconds = in.get<std::int64_t>();
  event.fields_changed = in.get<std::uint32_t>();
  event.at = in.get<met::UnixSeconds>();
  if (!in.complete() || version != kRowVersion) return damaged("event", std::to_string(sequence));
  return event;
}

Status put_event(Transaction& transaction, const Event& event) {
  NVMDB_TRY(transaction.put(kEventTable, index::make_key(event.sequence), encode_event(event)));
  if (event.sequence <= kEventsKept) return Status::ok();
  const Status erased = transaction.erase(kEventTable, index::make_key(event.sequence - kEventsKept));
  return erased.code() == Code::NotFound ? Status::ok() : erased;
}

Result<std::uint64_t> next_number(Transaction& transaction, Counter counter) {
  const index::Key key = index::make_key(static_cast<std::uint64_t>(counter));
  std::uint64_t number = 0;
  if (Result<ByteSpan> row = transaction.read(kCounterTable, key); row.is_ok()) {
    NVMDB_ASSIGN(number, decode_number(*row));
  } else if (row.status().code() != Code::NotFound) {
    return row.status();
  }
  NVMDB_TRY(transaction.put(kCounterTable, key, encode_number(number + 1)));
  return number + 1;
}

}  // namespace nvmdb::engine::rows
