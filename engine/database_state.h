#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "engine/record_memory.h"
#include "engine/tuple_pages.h"
#include "index/ordered_index.h"
#include "storage/base/mutex.h"
#include "storage/page/hot_pages.h"
#include "wal/epoch_clock.h"

// Inside of the engine; other folders use database.h and transaction.h.
namespace nvmdb::engine {

/// A table: its index, whose values are addresses of record heads.
struct Table {
  TableSpec spec;
  std::unique_ptr<index::OrderedIndex> index;
};

/// Tables by number. Fixed when the database is open.
class TableSet {
 public:
  /// Errors: InvalidArgument (a number twice, an impossible width), OutOfSpace.
  [[nodiscard]] static Result<TableSet> create(const std::vector<TableSpec>& specs, index::NodeMemory& memory);
  /// nullptr when there is none.
  [[nodiscard]] Table* find(TableId id) const { return id < by_id_.size() ? by_id_[id].get() : nullptr; }
  /// One more than the highest number.
  [[nodiscard]] TableId count() const { return static_cast<TableId>(by_id_.size()); }

 private:
  std::vector<std::unique_ptr<Table>> by_id_;
};

/// A record that was deleted, or whose insertion was aborted: to be taken out of the index.
struct UnlinkEntry {
  Table* table;
  RecordHead* head;
  index::Key key;
};

/// Faults that isolation tests plant to prove that they would be found. Never set elsewhere.
struct PlantedFaults {
  bool skip_read_validation = false;
  bool skip_leaf_validation = false;
  bool unlock_before_store = false;      ///< of rows changed in place
  bool store_before_validation = false;  ///< rows changed in place are to be seen although the commit may fail
};

class Checkpointer;
class DirtyList;

struct Database::State {
  /// `tuple_file`: the memory of hot tuples; -1: DRAM.
  State(storage::PoolMedia& pool_media, const DatabaseOptions& database_options, int tuple_file);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // In order of construction; destroyed the other way round.
  storage::PoolMedia& media;
  const DatabaseOptions options;
  storage::HotBudget hot_budget;
  storage::HotPages hot;         ///< record heads, index nodes, lists
  storage::HotPages hot_tuples;  ///< tuples: a part of the budget, so that the index always has room to grow
  std::unique_ptr<storage::PageAllocator> pages;
  std::unique_ptr<TuplePages> tuple_pages;
  std::unique_ptr<wal::EpochClock> clock;
  std::unique_ptr<RecordMemory> table_memory;  ///< of the roots and of what recovery allocated
  TableSet tables;
  std::uint64_t recovered_rows = 0;
  RecoveryReport recovery;
  PlantedFaults planted_faults;
  std::unique_ptr<wal::Log> log;
  std::vector<std::unique_ptr<DirtyList>> recovered_dirty;  ///< of redo; the checkpointer consumes them
  std::unique_ptr<Checkpointer> checkpointer;

  // Sessions. A session in use belongs to its thread; `idle` ones belong to who takes them from the list.
  mutable Mutex sessions_mutex;
  std::vector<std::unique_ptr<Session::State>> sessions NVMDB_GUARDED_BY(sessions_mutex);
  std::vector<Session::State*> idle NVMDB_GUARDED_BY(sessions_mutex);

  struct RetiredCall {
    std::uint64_t epoch;
    std::function<void()> free;
  };
  Mutex retired_mutex;
  Fifo<RetiredCall> retired NVMDB_GUARDED_BY(retired_mutex);

  std::mutex collector_mutex;
  std::condition_variable collector_wake;
  bool collector_stop = false;  ///< guarded by collector_mutex
  std::thread collector;

  /// Errors: Overloaded (too many sessions).
  [[nodiscard]] Result<Session::State*> take_session();
  void retire(std::function<void()> free);
  [[nodiscard]] Session::State* take_idle();
  void put_idle(Session::State* session);
  void run_collector();
  /// Runs the retired calls that no reader can miss any more.
  void run_retired_calls(std::uint64_t oldest_pinned);
  /// Frees what idle sessions hold back. True when something is left that waits for a later epoch.
  [[nodiscard]] bool collect_idle_sessions();
};

}  // namespace nvmdb::engine
