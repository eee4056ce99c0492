#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/database.h"
#include "engine/met/encoding.h"
#include "engine/met/grid.h"
#include "engine/met/level.h"
#include "engine/met/parameter.h"
#include "engine/met/step.h"
#include "engine/met/time.h"
#include "storage/base/result.h"
#include "storage/page/page.h"

namespace nvmdb::engine {

// Numbers that the catalogue gives out; never reused in one pool.
using RunId = std::uint32_t;
using ParameterId = std::uint32_t;
using GridId = std::uint32_t;
using LevelTypeId = std::uint32_t;

/// What makes a run the same run.
struct RunKey {
  std::string model;
  std::string domain;
  met::UnixSeconds reference_time = 0;
  std::string version;  ///< experiment version (MARS expver); empty when there is none
  bool operator==(const RunKey&) const = default;
};
/// "wrf d01 2024-01-15T00Z": for messages and people.
[[nodiscard]] std::string format_run(const RunKey& key);

enum class RunState : std::uint8_t { Open = 1, Complete = 2, Dropping = 3 };
enum class RunLocation : std::uint8_t { Nvm = 1, Archive = 2 };

/// One run as the catalogue knows it.
struct Run {
  RunId id = 0;
  RunKey key;
  met::ReferenceSignificance significance = met::ReferenceSignificance::StartOfForecast;
  RunState state = RunState::Open;
  RunLocation location = RunLocation::Nvm;
  std::string format;      ///< "grib" or "wrf"
  std::string attributes;  ///< JSON object of the source's global attributes, "{}" when there are none
  std::uint64_t field_count = 0;
  std::uint64_t field_bytes = 0;      ///< NVM bytes of the fields that can be seen
  std::uint64_t version = 0;          ///< grows with each step committed or changed
  met::UnixSeconds changed_at = 0;    ///< wall clock of the last change
};

/// What makes a field the same field; the order of the field table.
struct FieldKey {
  RunId run = 0;
  std::uint32_t member = 0;  ///< 0 = control or deterministic
  ParameterId parameter = 0;
  LevelTypeId level_type = 0;
  double level = 0;
  double bottom = 0;
  met::Step step;
  bool operator==(const FieldKey&) const = default;
};

/// A stored field: where its values are and what they are like. Immutable.
struct Field {
  FieldKey key;
  GridId grid = 0;
  met::Encoding encoding;
  std::uint64_t points = 0;
  storage::Extent extent;
  double minimum = 0;  ///< of the values that are not missing; NaN when all are
  double maximum = 0;
  double mean = 0;
  std::uint64_t missing_count = 0;
  std::uint32_t crc = 0;  ///< CRC32C of the extent
};

/// A step of a run: all fields whose interval ends there, visible together.
struct StepRow {
  RunId run = 0;
  std::int64_t end_seconds = 0;
  std::uint32_t field_count = 0;
  std::uint64_t event_sequence = 0;    ///< of the last change
  met::UnixSeconds committed_at = 0;
};

/// What `Catalog.Watch` tells. Sequence numbers grow by one and are durable: a client resumes from the last it saw.
struct Event {
  enum class Kind : std::uint8_t { StepVisible = 1, StepReplaced = 2, RunComplete = 3, RunDropped = 4 };
  std::uint64_t sequence = 0;
  Kind kind = Kind::StepVisible;
  RunId run = 0;
  RunKey run_key;
  std::int64_t step_end_seconds = 0;
  std::uint32_t fields_changed = 0;
  met::UnixSeconds at = 0;
};

/// All steps of one parameter at one level and member of a run.
struct InventoryRow {
  std::uint32_t member = 0;
  ParameterId parameter = 0;
  LevelTypeId level_type = 0;
  double level = 0;
  double bottom = 0;
  GridId grid = 0;  ///< of the first step
  std::vector<met::Step> steps;
};

/// Names and descriptions of what is stored: runs, parameters, grids, level types, steps, events. A part of the
/// engine's tables; every method is a transaction of its own.
/// Threads: any number.
class Catalogue {
 public:
  /// Tables of the catalogue and of the field store.
  [[nodiscard]] static std::vector<TableSpec> tables();
  /// Errors are found by the first call that reads. Use one Catalogue per Database.
  explicit Catalogue(Database& database);

  /// Runs that can be seen, newest reference time first, then by model and domain.
  [[nodiscard]] Result<std::vector<Run>> runs() const;
  /// Errors: NotFound.
  [[nodiscard]] Result<Run> run(RunId id) const;
  [[nodiscard]] Result<Run> find_run(const RunKey& key) const;

  /// Errors: NotFound.
  [[nodiscard]] Result<met::Parameter> parameter(ParameterId id) const;
  /// Every parameter with this short name (several when units or origin differ); empty when there is none.
  [[nodiscard]] Result<std::vector<ParameterId>> parameters_named(const std::string& short_name) const;
  [[nodiscard]] Result<std::string> level_type(LevelTypeId id) const;
  /// Errors: NotFound.
  [[nodiscard]] Result<LevelTypeId> find_level_type(const std::string& name) const;

  /// A grid with its position arrays (Curvilinear), read once and shared. Errors: NotFound, Corruption.
  [[nodiscard]] Result<std::shared_ptr<const met::Grid>> grid(GridId id) const;

  /// Compares the positions of a grid with their checksum, whatever is kept of them. `positions`: where they are.
  /// Errors: NotFound, Corruption.
  [[nodiscard]] Status verify_positions(GridId id, storage::Extent& positions) const;

  /// What a run holds, in field-table order.
  [[nodiscard]] Result<std::vector<InventoryRow>> inventory(RunId run) const;
  [[nodiscard]] Result<std::vector<StepRow>> steps(RunId run) const;

  /// Events with a sequence above `after`, oldest first, at most `limit`. Errors: NotFound (`after` is older than the
  /// oldest event kept: start again from a listing).
  [[nodiscard]] Result<std::vector<Event>> events_after(std::uint64_t after, std::size_t limit) const;
  [[nodiscard]] Result<std::uint64_t> last_event() const;
  /// Waits until an event above `after` exists or `timeout_ms` passed; true when one does.
  [[nodiscard]] bool wait_for_event(std::uint64_t after, std::uint64_t timeout_ms) const;
  /// Grows with every durable change of what can be seen: what was looked up is still true while it stays the same.
  [[nodiscard]] std::uint64_t change_count() const { return announced_.load(std::memory_order_acquire); }

  [[nodiscard]] Database& database() const { return database_; }

 private:
  friend class FieldStore;
  friend class RunWriter;
  void announce(std::uint64_t sequence);

  Database& database_;
  mutable std::shared_mutex cache_mutex_;
  mutable std::unordered_map<ParameterId, met::Parameter> parameter_cache_;
  mutable std::unordered_map<LevelTypeId, std::string> level_type_cache_;
  mutable std::unordered_map<GridId, std::shared_ptr<const met::Grid>> grid_cache_;
  std::atomic<std::uint64_t> announced_{0};
  mutable std::mutex event_mutex_;
  mutable std::condition_variable event_arrived_;
};

}  // namespace nvmdb::engine
