#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/arena.h"
#include "engine/database_state.h"
#include "engine/record.h"
#include "engine/record_memory.h"
#include "engine/tuple_pages.h"
#include "index/ordered_index.h"
#include "storage/base/mutex.h"

// Inside of the engine; other folders use database.h.
namespace nvmdb::engine {

/// Turns what the log holds into checkpoint pages, so that log segments can be freed: the log cleaner. Also collects
/// garbage among the tuple pages, and drops DRAM copies of checkpointed tuples when the budget is under pressure.
///
/// A cycle: everything committed up to the durable epoch E, and perhaps more, is captured record by record, newest
/// version only; the newest captured version becomes durable in the log; the pages are published; the checkpoint epoch
/// becomes E; log segments through E are freed. Commits go on all the time.
/// Threads: any number; one cycle at a time.
class Checkpointer {
 public:
  explicit Checkpointer(Database::State& database);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Runs cycles in a thread of its own, at a rate that keeps the log and the hot tuples within their budgets.
  void start();
  void stop();

  /// One cycle in the calling thread, which holds no lock. Errors: OutOfSpace, IoError.
  [[nodiscard]] Status run_cycle();
  /// See Database::verify_checkpoint_page(). Holds up cycles meanwhile.
  [[nodiscard]] Status verify_page(storage::PageId& next, storage::PageId& page, std::uint64_t& bytes);
  /// In recovery, between the scan of the checkpoint and the redo, alone: collects garbage until `pages` pages are free,
  /// or there is none worth it. Errors: OutOfSpace, IoError.
  [[nodiscard]] Status make_room(std::uint64_t pages);
  /// For who has no log space or memory left: returns when a cycle that began now is over, or after a bounded time.
  /// Errors: that of the cycle; Overloaded (it takes too long).
  [[nodiscard]] Status relieve();
  /// A cycle is wanted soon.
  void request();
  /// Writers call it when they have committed and hold neither lock nor pin: while the log is three quarters full they wait
  /// here, for a bounded time, instead of finding it full in the middle of a commit.
  void pace_writer() {
    if (throttling_.load(std::memory_order_relaxed)) [[unlikely]] wait_for_log();
  }
  /// True when hot tuples are near their budget; cheap.
  [[nodiscard]] bool under_pressure() const;

  [[nodiscard]] CheckpointStatistics statistics() const;

  /// Tests: the thread begins no cycle while paused.
  void pause(bool paused) { paused_.store(paused, std::memory_order_relaxed); }

 private:
  struct Move {
    RecordHead* head;
    const std::byte* from;
    const std::byte* to;
  };

  /// DRAM that tuples can have.
  [[nodiscard]] std::uint64_t tuple_budget() const;
  void run();
  void wait_for_log();
  void update_throttle();
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const;
  [[nodiscard]] Status cycle();
  /// Captures and publishes all that is listed, some megabytes at a time: so what becomes garbage is collected meanwhile.
  [[nodiscard]] Status capture_all();
  [[nodiscard]] Status capture(TableId table, RecordHead* head, const std::byte* key_words);
  [[nodiscard]] Status capture_locked(TableId table, RecordHead& head, const index::Key& key, wal::Tid seen);
  [[nodiscard]] Status publish();
  [[nodiscard]] Status publish_and_collect();
  [[nodiscard]] Status advance(wal::Epoch covered);

  // garbage_collection.cc
  [[nodiscard]] Status collect_garbage();
  [[nodiscard]] Status empty_page(TuplePage& page, const std::vector<TuplePage*>& pages);
  [[nodiscard]] RecordHead* head_of(const TuplePage& page, const SlotView& slot) const;
  void swing(const Move& move);
  void retire_page(TuplePage& page);
  [[nodiscard]] Status release_all_retired();
  /// Releases retired pages that no reader can be in.
  [[nodiscard]] Status release_retired();
  /// Waits while many retired pages wait for readers that do go on.
  [[nodiscard]] Status await_readers();

  // eviction.cc
  void evict();
  /// Bytes freed in one leaf.
  [[nodiscard]] std::uint64_t evict_leaf(const index::LeafCopy& leaf);

  Database::State& database_;
  RecordMemory memory_;
  wal::EpochClock::Slot* slot_;
  TransactionArena arena_;
  wal::Tid newest_captured_;
  std::uint64_t published_bytes_ = 0;  ///< TuplePages::written_bytes() at the last publish()
  struct Retired {
    TuplePage* page;
    std::uint64_t epoch;
  };
  Fifo<Retired> retired_;
  std::uint64_t long_reader_ = 0;  ///< the epoch of a reader that was waited for in vain

  Mutex cycle_mutex_;
  TableId evict_table_ = 0;
  index::Key evict_key_;
  index::LeafCopy leaf_;

  std::atomic<bool> in_background_{false};  ///< cycles run in thread_
  std::atomic<bool> paused_{false};
  std::atomic<bool> throttling_{false};
  std::atomic<std::uint64_t> covered_{0};
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> tuples_written_{0};
  std::atomic<std::uint64_t> tuples_adopted_{0};
  std::atomic<std::uint64_t> tombstones_{0};
  std::atomic<std::uint64_t> tuples_evicted_{0};
  std::atomic<std::uint64_t> tuples_moved_{0};
  std::atomic<std::uint64_t> pages_collected_{0};
  std::atomic<std::uint64_t> retired_pages_{0};
  std::atomic<std::uint64_t> last_cycle_ns_{0};
  std::atomic<std::uint64_t> last_end_ns_{0};

  std::mutex thread_mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  bool stop_ = false;               ///< these three guarded by thread_mutex_
  std::uint64_t requested_ = 0;     ///< number of the cycle that is asked for
  std::uint64_t completed_ = 0;     ///< cycles that the thread ended
  Status last_status_;
  std::thread thread_;
};

}  // namespace nvmdb::engine
