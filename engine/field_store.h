#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/catalogue.h"
#include "engine/damage_list.h"
#include "engine/database.h"
#include "storage/base/result.h"
#include "storage/device/read_hook.h"

namespace nvmdb::engine {

/// One parameter at one level and member of a run: what a time series reads.
struct ColumnKey {
  RunId run = 0;
  std::uint32_t member = 0;
  ParameterId parameter = 0;
  LevelTypeId level_type = 0;
  double level = 0;
  double bottom = 0;
  bool operator==(const ColumnKey&) const = default;
};

/// A stored field with its bytes in reach.
struct FieldRef {
  Field field;
  ByteSpan extent;  ///< valid while the ReadView lives
  /// To be called before `count` points from `first` on are read: see storage/device/read_hook.h.
  void charge_read(std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t at = std::min<std::uint64_t>(first * field.encoding.width_bytes, extent.size());
    storage::charge_nvm_read(extent.data() + at, std::min<std::uint64_t>(count * field.encoding.width_bytes, extent.size() - at));
  }
  [[nodiscard]] met::Decoder decoder() const { return {field.encoding, field.points, extent}; }
};

/// The fields of a column, by step. Immutable; shared by readers.
struct FieldColumn {
  ColumnKey key;
  std::uint64_t run_version = 0;
  std::vector<FieldRef> fields;
};

/// Copies of often-read columns in DRAM.
struct FieldCacheStatistics {
  std::uint64_t bytes = 0;
  std::uint64_t bytes_max = 0;
  std::uint64_t columns = 0;
  std::uint64_t copied = 0;   ///< columns, all in all
  std::uint64_t dropped = 0;  ///< of them
};

/// Bytes that may be compared with their checksums where one waits for the answer: a field is checked whole, however little
/// of it is read.
struct CheckBudget {
  std::uint64_t bytes_left = ~0ULL;
};

/// What checking stored bytes has found so far.
struct IntegrityStatistics {
  std::uint64_t fields_checked = 0;  ///< compared with their checksums
  std::uint64_t damage_found = 0;    ///< places, all in all
  std::vector<DamagedPlace> damaged; ///< those that still are
  std::uint64_t pages_quarantined = 0;
  std::uint64_t media_faults = 0;    ///< reads that the medium refused
};

class FieldCache;
class FieldStore;
class RunWriter;
struct RunShared;

/// Keeps what a reader was given allocated. Cheap to take; hold it until the last byte is sent.
/// Threads: one at a time.
class ReadView {
 public:
  ReadView(ReadView&&) noexcept = default;

 private:
  friend class FieldStore;
  ReadView(Session session);
  std::unique_ptr<Session> session_;
  Session::Pin pin_;
};

/// What a writer says of a run when it opens it.
struct RunDescription {
  RunKey key;
  met::ReferenceSignificance significance = met::ReferenceSignificance::StartOfForecast;
  std::string format;            ///< "grib" or "wrf"
  std::string attributes = "{}";
};

/// What a writer says of a field before its bytes.
struct FieldHeader {
  std::uint32_t member = 0;
  met::Parameter parameter;
  met::Level level;
  met::Step step;
  GridId grid = 0;
  met::Encoding encoding;
  std::uint64_t points = 0;
};

struct FieldStatistics {
  double minimum = 0;
  double maximum = 0;
  double mean = 0;
  std::uint64_t missing_count = 0;
};

/// Answer to a committed step: durable and visible.
struct StepAck {
  RunId run = 0;
  std::int64_t end_seconds = 0;
  std::uint32_t fields_stored = 0;     ///< new or replaced
  std::uint32_t fields_unchanged = 0;  ///< already there with the same bytes
  std::uint64_t bytes_stored = 0;
};

/// Fields in NVM and their rows.
/// Threads: any number.
class FieldStore {
 public:
  FieldStore(Database& database, Catalogue& catalogue);
  ~FieldStore();

  /// Finishes what a crash interrupted: frees pages that no visible field uses, goes on with half-done drops.
  /// Call once after Database::open, before any other use.
  [[nodiscard]] Status recover();

  /// Opens a run for writing; creates it when it is new (visible with its first step).
  /// Errors: InvalidArgument (a name that cannot be used), Conflict (the run is being dropped), Overloaded.
  [[nodiscard]] Result<std::unique_ptr<RunWriter>> write(const RunDescription& run);

  [[nodiscard]] Result<ReadView> view();
  /// The column at its newest committed state. Errors: NotFound.
  [[nodiscard]] Result<std::shared_ptr<const FieldColumn>> column(const ReadView& view, const ColumnKey& key);
  /// Copies of columns in hot pages, for who reads the same columns often.
  [[nodiscard]] FieldCache& cache();
  [[nodiscard]] FieldCacheStatistics cache_statistics() const;
  /// To be called before a field is read: compares it with its checksum if this process has not done so yet, else it costs
  /// a few loads. The caller holds the ReadView of the field.
  /// Errors: Corruption (names field, region, offset and what to do), Overloaded (more bytes than `budget` has left).
  [[nodiscard]] Status check(const FieldRef& field, CheckBudget* budget = nullptr) const;
  /// Compares the field with its checksum in any case. Errors: as check().
  [[nodiscard]] Status verify(const ReadView& view, const FieldRef& field) const;
  /// Compares the positions of a grid with their checksum; damage goes on the list. Returns how many bytes that was.
  /// Errors: those of Database::run_durable().
  [[nodiscard]] Result<std::uint64_t> verify_grid(GridId grid);
  /// Compares the tuples of the next checkpoint page, from `next` on, with their checksums; damage goes on the list. Returns
  /// how many bytes that was; 0: there is no more.
  [[nodiscard]] Result<std::uint64_t> verify_checkpoint_page(storage::PageId& next);
  /// The error of a guarded read (storage/nvm/media_guard.h) of these fields that failed just now in this thread.
  [[nodiscard]] Status unreadable(std::span<const FieldRef> read) const;
  /// What check() once said yes to is still so while this number stays the same.
  [[nodiscard]] std::uint64_t damage_generation() const;
  [[nodiscard]] IntegrityStatistics integrity() const;

  /// Takes a run out of sight at once, then frees its rows and pages.
  /// Errors: NotFound, Conflict (it is being written); others when its space could not be freed: it is out of sight then,
  /// and the next drop() or write() goes on.
  [[nodiscard]] Status drop(RunId run);

  [[nodiscard]] Catalogue& catalogue() { return catalogue_; }
  [[nodiscard]] Database& database() { return database_; }

 private:
  friend class RunWriter;
  struct State;
  [[nodiscard]] Result<Run> hide(RunId run);
  /// Frees rows and pages of a hidden run, now or later. Errors: those of Database::run_durable().
  [[nodiscard]] Status erase(const Run& run);
  /// Goes on with drops that failed half-way. The error is that of the run `asked`.
  [[nodiscard]] Status finish_drops(RunId asked);
  [[nodiscard]] Status compare(const FieldRef& field) const;
  [[nodiscard]] std::string describe(const Field& field) const;
  /// Puts the field on the list of what is damaged.
  [[nodiscard]] Status report_damage(const Field& field, const std::string& what) const;
  /// The number of the run with these names; a new one when there is none.
  [[nodiscard]] Result<RunId> open_run(const RunDescription& description);

  Database& database_;
  Catalogue& catalogue_;
  std::unique_ptr<State> state_;
};

/// Writes fields of one run: the bulk path. Bytes go once to NVM by non-temporal stores into pages of the run; a
/// small transaction makes a step visible. What was put and not committed is freed when the writer is destroyed.
/// Threads: the one that opened it, for its whole life (a fence orders only its own thread's stores); several writers
///          of one run may work side by side.
class RunWriter {
 public:
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  [[nodiscard]] RunId run() const;
  /// Registers a grid (again: same number). Durable with the next step. Errors: InvalidArgument, OutOfSpace.
  [[nodiscard]] Result<GridId> grid(const met::Grid& grid);

  /// Starts a field: extent bytes follow by write(). A second field with the same key in one step replaces the first.
  /// Errors: InvalidArgument (header does not fit the grid), OutOfSpace.
  [[nodiscard]] Status begin_field(const FieldHeader& header);
  /// Bytes [at, at + bytes.size()) of the extent. Every byte must be written once, pieces in any order.
  [[nodiscard]] Status write(std::uint64_t at, ByteSpan bytes);
  /// Errors: InvalidArgument (bytes are missing), Conflict (the same field is there on another grid).
  [[nodiscard]] Status end_field(const FieldStatistics& statistics);
  /// Forgets the field begun.
  void cancel_field();

  /// Ends of the steps that hold fields not yet committed, ascending.
  [[nodiscard]] std::vector<std::int64_t> pending_steps() const;
  /// Makes the fields put for this step durable and visible, all at once. Errors: OutOfSpace, Overloaded, IoError.
  [[nodiscard]] Result<StepAck> commit_step(std::int64_t end_seconds);

  struct State;

 private:
  friend class FieldStore;
  explicit RunWriter(std::unique_ptr<State> state);
  [[nodiscard]] static std::unique_ptr<RunWriter> make(FieldStore& store, RunId run,
                                                               std::shared_ptr<RunShared> shared);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::engine
