#pragma once

#include <cstdint>
#include <string>

#include "engine/catalogue.h"
#include "index/key.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

/// Keys and row layouts of the catalogue's tables. Everything read from a pool is checked.
namespace nvmdb::engine::rows {

// Table numbers; never reused for another table.
inline constexpr TableId kCounterTable = 1;        ///< counter -> last number given out
inline constexpr TableId kRunTable = 2;            ///< run -> Run
inline constexpr TableId kRunNameTable = 3;        ///< hash of RunKey -> run
inline constexpr TableId kParameterTable = 4;      ///< parameter -> met::Parameter
inline constexpr TableId kParameterNameTable = 5;  ///< hash of met::Parameter -> parameter
inline constexpr TableId kShortNameTable = 6;      ///< (hash of short name, parameter) -> nothing
inline constexpr TableId kLevelTypeTable = 7;      ///< level type -> name
inline constexpr TableId kLevelTypeNameTable = 8;  ///< hash of name -> level type
inline constexpr TableId kGridTable = 9;           ///< grid -> GridRow
inline constexpr TableId kGridHashTable = 10;      ///< hash of definition and positions -> grid
inline constexpr TableId kGridUseTable = 11;       ///< (grid, run) -> nothing
inline constexpr TableId kFieldTable = 12;         ///< FieldKey -> Field
inline constexpr TableId kStepTable = 13;          ///< (run, end) -> StepRow
inline constexpr TableId kEventTable = 14;         ///< sequence -> Event

/// Keys of the counter table.
enum class Counter : std::uint64_t { Run = 1, Parameter = 2, LevelType = 3, Grid = 4, Event = 5 };

/// How many of the newest events are kept.
inline constexpr std::uint64_t kEventsKept = 100'000;

/// Grid as stored: definition, and where its position arrays are (latitudes, then longitudes, float32).
struct GridRow {
  Bytes definition;
  index::Key name;  ///< its key in the grid-hash table
  storage::Extent positions;
  std::uint32_t positions_crc = 0;
};

/// 128-bit content hash as a two-word key.
[[nodiscard]] index::Key hash_key(ByteSpan bytes);
/// The error of content that has the hash of other content: it would get the other's number.
[[nodiscard]] Status same_hash(const index::Key& hash);
[[nodiscard]] std::uint64_t hash_word(std::string_view text);

[[nodiscard]] Bytes encode_number(std::uint64_t number);
[[nodiscard]] Result<std::uint64_t> decode_number(ByteSpan row);

[[nodiscard]] Bytes encode_run_key(const RunKey& key);
[[nodiscard]] Bytes encode_run(const Run& run);
[[nodiscard]] Result<Run> decode_run(RunId id, ByteSpan row);

[[nodiscard]] Bytes encode_parameter(const met::Parameter& parameter);
[[nodiscard]] Result<met::Parameter> decode_parameter(ByteSpan row);

[[nodiscard]] Bytes encode_grid(const GridRow& grid);
[[nodiscard]] Result<GridRow> decode_grid(ByteSpan row);

[[nodiscard]] index::Key field_key(const FieldKey& key);
[[nodiscard]] FieldKey decode_field_key(const index::Key& key);
/// First and last possible key of a run, or of a column.
[[nodiscard]] index::Key field_low(RunId run);
[[nodiscard]] index::Key field_high(RunId run);
[[nodiscard]] Bytes encode_field(const Field& field);
[[nodiscard]] Result<Field> decode_field(const index::Key& key, ByteSpan row);

[[nodiscard]] index::Key step_key(RunId run, std::int64_t end_seconds);
[[nodiscard]] Bytes encode_step(const StepRow& step);
[[nodiscard]] Result<StepRow> decode_step(const index::Key& key, ByteSpan row);

[[nodiscard]] Bytes encode_event(const Event& event);
[[nodiscard]] Result<Event> decode_event(std::uint64_t sequence, ByteSpan row);

/// Writes an event, and erases the one that is no longer kept.
[[nodiscard]] Status put_event(Transaction& transaction, const Event& event);

/// The next number of a counter, in the caller's transaction.
[[nodiscard]] Result<std::uint64_t> next_number(Transaction& transaction, Counter counter);

}  // namespace nvmdb::engine::rows
