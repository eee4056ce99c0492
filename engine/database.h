#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/table.h"
#include "engine/transaction.h"
#include "storage/base/result.h"
#include "storage/nvm/media.h"
#include "storage/page/hot_pages.h"
#include "storage/page/page_allocator.h"
#include "wal/log.h"

namespace nvmdb::engine {

/// Where new versions go.
struct PlacementOptions {
  bool overflow = true;  ///< rows for which no hot page is left go to NVM pages; else writing them is OutOfSpace
  bool evict = true;     ///< checkpointed rows may leave DRAM when it becomes scarce
  std::uint32_t tuple_percent = 62;  ///< of the DRAM budget that tuples may take
  /// Not empty: hot tuples are in a nameless file of this directory instead of DRAM, as in a memory-mode device. They
  /// are as volatile as ever. For comparisons only.
  std::filesystem::path tuple_directory;
};

struct CheckpointOptions {
  /// A thread runs checkpoints (only together with log.writer_threads). Without it they run in the thread that finds the
  /// log full.
  bool background = true;
  bool at_close = true;  ///< a database that is closed well needs no redo (only together with `background`)
  std::uint64_t interval_ms = 5000;  ///< at the latest after this time, when something changed
  /// Tuple pages may take this much of what is live in them, in percent, and some pages more; above it pages with garbage
  /// are emptied.
  std::uint64_t space_percent_max = 130;
  std::uint64_t spare_pages = 3;
};

struct DatabaseOptions {
  std::uint64_t dram_bytes = 512ULL << 20U;
  PlacementOptions placement;
  CheckpointOptions checkpoint;
  wal::LogOptions log;
  std::uint32_t recovery_threads = 2;
  /// Told of recovery's progress: phase ("analysis", "redo", "undo"), done, total (in its own units).
  std::function<void(const char* phase, std::uint64_t done, std::uint64_t total)> progress;
};

struct RecoveryReport {
  bool clean_shutdown = false;
  std::uint64_t checkpoint_tuples = 0;
  std::uint64_t checkpoint_bytes = 0;
  std::uint64_t records_applied = 0;  ///< of the log
  std::uint64_t log_bytes = 0;
  std::uint64_t discarded_blocks = 0;
  std::uint64_t nanoseconds = 0;
};

struct CheckpointStatistics {
  std::uint64_t epoch = 0;  ///< what committed up to here needs no log
  std::uint64_t cycles = 0;
  std::uint64_t failures = 0;
  std::uint64_t last_cycle_ns = 0;
  std::uint64_t pages = 0;           ///< checkpoint pages now
  std::uint64_t overflow_pages = 0;  ///< now
  std::uint64_t retired_pages = 0;   ///< of all these, emptied ones that wait for readers, now
  std::uint64_t live_bytes = 0;      ///< in them, now
  std::uint64_t written_bytes = 0;   ///< to checkpoint pages, all in all
  std::uint64_t tuples_written = 0;
  std::uint64_t tuples_adopted = 0;  ///< made durable where they were, in overflow pages
  std::uint64_t tombstones_written = 0;
  std::uint64_t tuples_evicted = 0;  ///< DRAM copies dropped
  std::uint64_t tuples_moved = 0;    ///< by the garbage collection
  std::uint64_t pages_collected = 0;
};

struct DatabaseStatistics {
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  std::uint64_t rows = 0;
  std::uint64_t dram_bytes = 0;  ///< all of the following
  std::uint64_t dram_bytes_max = 0;
  std::uint64_t dram_index_bytes = 0;   ///< pages of record heads, index nodes, lists of changed records
  std::uint64_t dram_tuple_bytes = 0;   ///< pages of tuples
  std::uint64_t dram_tuples_in_use = 0; ///< bytes in these pages that hold tuples
  CheckpointStatistics checkpoint;
  wal::LogStatistics log;
};

class Session;

/// Tables, transactions, epochs, recovery: the entry of the engine. Knows no weather.
/// Threads: any number; each works through its own Session.
class Database {
 public:
  /// Opens the database on `media` and recovers it: analysis, redo, undo. Idempotent.
  /// Errors: Corruption (names region and offset), InvalidArgument (a logged table is not in `tables`), IoError.
  [[nodiscard]] static Result<std::unique_ptr<Database>> open(storage::PoolMedia& media, std::vector<TableSpec> tables,
                                                              const DatabaseOptions& options);
  /// Waits for what was committed to be durable, runs what retire() still holds, then marks the pool cleanly closed.
  /// All sessions must have ended.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// A session for the calling thread, taken from a pool of them. Errors: Overloaded (too many at once).
  [[nodiscard]] Result<Session> session();

  /// Runs `body` in a transaction and commits, again while that gives Conflict (bounded, with back-off). `body` may
  /// run several times. Does not wait for durability. An error of `body` is given when what it read was consistent and
  /// is durable; else the body is run again.
  [[nodiscard]] Result<CommitReceipt> run(const std::function<Status(Transaction&)>& body);
  /// For who commits by hand and got OutOfSpace: waits until checkpoints and collection have freed what they can, then
  /// the transaction may be run again. Call it with no transaction and no pin held: they keep memory from being freed.
  /// run() does so by itself. Errors: OutOfSpace, IoError, Overloaded (the checkpoint does not keep up).
  [[nodiscard]] Status make_room();
  /// run(), then wait_durable().
  [[nodiscard]] Status run_durable(const std::function<Status(Transaction&)>& body);

  /// Returns when the commit is durable: only then may anybody be told of it.
  [[nodiscard]] Status wait_durable(const CommitReceipt& receipt);

  /// Brings what was committed into checkpoint pages, frees log space and collects garbage, in the calling thread. The
  /// background does the same when it is due. Errors: OutOfSpace, IoError.
  [[nodiscard]] Status checkpoint();

  /// Compares the tuples of the first checkpoint page at or behind `next` with their checksums, and moves `next` behind it.
  /// `bytes`: how many that were; 0: there is no such page. Errors: Corruption (in `page`).
  [[nodiscard]] Status verify_checkpoint_page(storage::PageId& next, storage::PageId& page, std::uint64_t& bytes);

  /// Commits of this epoch and of earlier ones are durable. Costs one load.
  [[nodiscard]] wal::Epoch durable_epoch() const;

  /// Calls `free` once no thread that was in an epoch pin when retire() was called is still in it, at the latest when
  /// the database is closed.
  void retire(std::function<void()> free);
  /// Runs what became due of retire(), and makes what was retired before due unless somebody holds a pin. Called in the
  /// background too, but there only for what became due by itself.
  void reclaim();

  [[nodiscard]] storage::PageAllocator& pages();
  [[nodiscard]] storage::HotBudget& hot_budget();
  [[nodiscard]] storage::PoolMedia& media();
  [[nodiscard]] const RecoveryReport& recovery() const;
  [[nodiscard]] DatabaseStatistics statistics() const;

  struct State;

 private:
  friend class Session;
  friend struct EngineTestAccess;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A thread's place in the database: epoch slot, log appender, arenas. Returned to the pool when destroyed.
/// Threads: one at a time.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) = delete;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] Transaction begin();

  /// What any reader of the database saw stays allocated while the Pin lives, also without a transaction.
  class Pin {
   public:
    Pin(Pin&& other) noexcept : session_(other.session_) { other.session_ = nullptr; }
    Pin& operator=(Pin&&) = delete;
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin();

   private:
    friend class Session;
    explicit Pin(Session* session) : session_(session) {}
    Session* session_;
  };
  /// May be taken while no transaction of this session is open; transactions inside it are covered by it.
  [[nodiscard]] Pin pin();

  struct State;

 private:
  friend class Database;
  friend class Transaction;
  Session(Database::State* database, State* state) : database_(database), state_(state) {}
  Database::State* database_;
  State* state_;
};

}  // namespace nvmdb::engine
