#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/database_state.h"
#include "engine/dirty_list.h"
#include "engine/log_codec.h"
#include "engine/record.h"
#include "engine/record_memory.h"
#include "engine/tuple_slot.h"
#include "storage/base/mutex.h"

// Inside of the engine; other folders use database.h.
namespace nvmdb::engine {

/// What one thread of recovery has, and how it puts versions into the tables: of several versions of a record the one with
/// the newest Tid stays, deletions included. So neither the order nor a repetition matters.
/// Threads: one.
class RecoveryWorker {
 public:
  explicit RecoveryWorker(Database::State& database);
  ~RecoveryWorker();
  RecoveryWorker(const RecoveryWorker&) = delete;
  RecoveryWorker& operator=(const RecoveryWorker&) = delete;

  /// What a page's slots add up to; the caller adds it to the page when it is through.
  struct PageTotals {
    std::uint64_t live_rows = 0;
    std::uint64_t tables = 0;
  };
  /// A verified slot of a checkpoint page. Errors: InvalidArgument (unknown table), Corruption, OutOfSpace.
  [[nodiscard]] Status apply(const SlotView& slot, TuplePage& page, wal::Epoch durable, PageTotals& totals);
  /// An operation of the log. Errors: InvalidArgument (unknown table, other key width), Corruption, OutOfSpace.
  [[nodiscard]] Status apply(const LogOperation& operation, wal::Tid tid);

  std::uint64_t versions = 0;  ///< looked at
  std::uint64_t bytes = 0;     ///< of them

 private:
  friend class RecoveryWork;
  /// A change of a part of a row, kept until all whole rows are there.
  struct LoggedPatch {
    RecordHead* head;
    Table* table;
    index::Key key;
    wal::Tid tid;
    std::size_t at;  ///< of the bytes in patch_bytes_
    std::uint32_t count;
    std::uint32_t offset;
  };
  [[nodiscard]] Status apply_patch(const LoggedPatch& patch, ByteSpan patched);
  [[nodiscard]] Result<Table*> table_of(TableId id, std::uint32_t key_words, const char* where) const;
  [[nodiscard]] RecordHead* find_or_make(Table& table, const index::Key& key);
  /// A key that nobody has met: its head is made whole before others see it.
  [[nodiscard]] index::Insertion insert_row(Table& table, const SlotView& slot, wal::Tid tid);
  [[nodiscard]] Status store(RecordHead& head, Table& table, const LogOperation& operation, wal::Tid tid);
  void note_absent(Table& table, RecordHead& head, const index::Key& key);
  void mark_dirty(Table& table, RecordHead& head, const index::Key& key);

  Database::State& database_;
  RecordMemory memory_;
  RecordHead* spare_head_ = nullptr;
  std::int64_t rows_ = 0;
  std::vector<UnlinkEntry> deleted_;
  std::unique_ptr<DirtyList> dirty_;
  std::vector<LoggedPatch> patches_;
  Bytes patch_bytes_;
};

/// The threads of recovery. Lives from the scan of the checkpoint to the start of the log.
class RecoveryWork {
 public:
  explicit RecoveryWork(Database::State& database);

  /// Runs `task(worker, i)` for i from 0 to count - 1 on all threads, until one fails; returns the first failure.
  [[nodiscard]] Status for_each(std::size_t count, const std::function<Status(RecoveryWorker&, std::size_t)>& task);
  /// Told of progress from any thread.
  void report(const char* phase, std::uint64_t done, std::uint64_t total);

  [[nodiscard]] Database::State& database() { return database_; }
  [[nodiscard]] std::uint64_t versions() const;
  /// Brings rows from their newest whole version, which may have been in any stream, to their newest one.
  [[nodiscard]] Status apply_patches();
  /// Takes deleted records out of the index, and hands the checkpointer what the log changed.
  [[nodiscard]] Status finish();

 private:
  void forget(const UnlinkEntry& entry);

  Database::State& database_;
  std::vector<std::unique_ptr<RecoveryWorker>> workers_;
  Mutex report_mutex_;
};

}  // namespace nvmdb::engine
