#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/arena.h"
#include "engine/database_state.h"
#include "engine/dirty_list.h"
#include "engine/log_codec.h"
#include "engine/pointer_table.h"
#include "engine/record.h"
#include "engine/record_memory.h"
#include "storage/base/random.h"

// Inside of the engine; other folders use database.h and transaction.h.
namespace nvmdb::engine {

/// A transaction's sets and the steps of its commit. One per session, used again and again.
/// Threads: one.
struct Transaction::State {
  struct ReadEntry {
    const RecordHead* head;
    wal::Tid seen;  ///< without lock bit
  };
  struct WriteEntry {
    RecordHead* head;
    Table* table;
    index::Key key;
    LogAction action;
    bool created;   ///< this transaction put the record into the index
    ByteSpan row;   ///< Put: the row; Patch: the new bytes; in the arena
    std::uint32_t offset;  ///< Patch: where in the row
    TupleAddress fresh;  ///< room for a row that does not fit where the record is; empty when it fits
    wal::Tid seen;  ///< set when locked
  };
  struct LockEntry {
    RecordHead* head;
    std::uint32_t write;
  };

  State(Database::State& database_state, Session::State& session_state)
      : database(database_state), session(session_state) {}

  Database::State& database;
  Session::State& session;
  bool open = false;
  bool doomed = false;  ///< met a conflict: only a new attempt can succeed
  bool pinned_here = false;
  std::vector<ReadEntry> reads;
  std::vector<index::LeafVersion> leaves;
  PointerTable leaf_places;
  std::vector<WriteEntry> writes;
  PointerTable write_places;
  std::vector<LockEntry> lock_order;
  TransactionArena arena;
  index::LeafCopy scanned;

  // transaction.cc
  /// Marks the transaction as one that can only be run again.
  [[nodiscard]] Status conflict(const char* what);
  [[nodiscard]] Status check_key(const Table* table, TableId id, const index::Key& key) const;
  [[nodiscard]] WriteEntry* own_write(const RecordHead* head);
  [[nodiscard]] Status add_leaf(const index::LeafVersion& leaf);
  [[nodiscard]] Status note_insertion(const index::Insertion& insertion);
  [[nodiscard]] Result<ByteSpan> read_record(const RecordHead& head, std::size_t offset = 0,
                                             std::size_t bytes = ~std::size_t{0});
  /// The record as this transaction sees it, with its own writes.
  [[nodiscard]] Result<ByteSpan> read_part(const RecordHead& head, std::size_t offset, std::size_t bytes);
  [[nodiscard]] Status patch(Table& table, const index::Key& key, RecordHead& head, std::size_t offset,
                             ByteSpan bytes);
  [[nodiscard]] Status patch_again(WriteEntry& write, std::size_t offset, ByteSpan bytes);
  /// Room for the new bytes of a write; `bytes` must not be 0.
  [[nodiscard]] Status set_bytes(WriteEntry& write, ByteSpan bytes);
  [[nodiscard]] Status observe(const RecordHead& head, bool& absent);
  /// The head of the key, made absent (and read as absent) when there is none.
  [[nodiscard]] Status obtain_head(Table& table, const index::Key& key, RecordHead*& head, bool& created);
  [[nodiscard]] Status add_write(Table& table, const index::Key& key, RecordHead* head, bool created, LogAction action,
                                 ByteSpan row, std::uint32_t offset = 0);
  [[nodiscard]] Status set_row(WriteEntry& write, ByteSpan row);

  // commit.cc
  [[nodiscard]] Result<CommitReceipt> commit_reads();
  /// Whether everything read is still so, for a transaction that holds no locks; the newest version it read.
  [[nodiscard]] Result<CommitReceipt> check_reads();
  [[nodiscard]] Result<CommitReceipt> commit_writes();
  [[nodiscard]] Result<CommitReceipt> commit_locked();
  /// Room for everything that the commit will store, log space last. Errors: OutOfSpace, Overloaded, IoError.
  [[nodiscard]] Status prepare();
  [[nodiscard]] Status prepare_tuples();
  [[nodiscard]] Status prepare_tuple(WriteEntry& write);
  /// Makes a Put of a Patch.
  [[nodiscard]] Status complete_row(WriteEntry& write);
  /// False: the record cannot take the write as it is now.
  [[nodiscard]] static bool fits(const WriteEntry& write);
  [[nodiscard]] std::size_t log_bytes() const;
  [[nodiscard]] bool lock_writes();
  void unlock_writes(std::size_t count);
  [[nodiscard]] bool reads_unchanged();
  /// A planted fault.
  void store_too_early();
  [[nodiscard]] bool leaves_unchanged() const;
  [[nodiscard]] wal::Tid newest_seen() const;
  void write_log(wal::Tid tid);
  void apply(wal::Tid tid);
  /// Ends the transaction: gives back what it holds and empties its sets.
  void finish(bool committed);
};

/// Counters of one session, written by its thread only.
struct alignas(128) SessionCounters {
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> aborts{0};
  std::atomic<std::int64_t> rows{0};  ///< inserted minus deleted

  template <class T>
  static void add(std::atomic<T>& counter, T value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

struct Session::State {
  State(Database::State& database_state, wal::EpochClock::Slot& epoch_slot, std::uint64_t seed);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Database::State& database;
  wal::EpochClock::Slot& slot;
  RecordMemory memory;
  std::unique_ptr<wal::Log::Appender> appender;  ///< made at the first write
  RecordHead* spare_head = nullptr;              ///< for the next insertion
  wal::Tid last_tid;
  Transaction::State transaction;
  Fifo<UnlinkEntry> unlinks;
  DirtyList dirty;
  SessionCounters counters;
  SeededRandom random;
  bool pinned = false;
  std::uint32_t since_collect = 0;

  void pin();
  void unpin();
  [[nodiscard]] Status ensure_appender();
  /// Hands a record over that is absent for good or may become so.
  void queue_unlink(Table* table, RecordHead* head, const index::Key& key);
  /// Unlinks and frees what is due. Not inside a transaction.
  void collect();
  [[nodiscard]] bool has_garbage() const { return !unlinks.empty() || memory.retired() != 0; }

 private:
  /// False: the record is to be tried again later.
  [[nodiscard]] bool unlink(const UnlinkEntry& entry, wal::Epoch durable);
};

}  // namespace nvmdb::engine
