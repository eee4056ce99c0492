#include "engine/recovery.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/log_codec.h"
#include "engine/session_state.h"

namespace nvmdb::engine {

namespace {

constexpr std::uint64_t kProgressEvery = 8192;

/// What the redo threads share.
struct RedoShared {
  RedoShared(Database::State& database_state, const wal::LogReader& log_reader)
      : database(database_state), log(log_reader) {}
  Database::State& database;
  const wal::LogReader& log;
  std::atomic<std::uint32_t> next_stream{0};
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> stop{false};
  Mutex mutex;
  Status failure NVMDB_GUARDED_BY(mutex);

  void fail(Status status) {
    const MutexLock lock(mutex);
    if (failure.is_ok()) failure = std::move(status);
    stop.store(true, std::memory_order_relaxed);
  }
  void report_progress() {
    const auto& progress = database.options.progress;
    if (!progress) return;
    const MutexLock lock(mutex);
    const std::uint64_t total = log.horizon().bytes;
    progress("redo", std::min(bytes.load(std::memory_order_relaxed), total), total);
  }
};

/// One redo thread.
class RedoWorker {
 public:
  explicit RedoWorker(RedoShared& shared) : shared_(shared), memory_(shared.database.hot, *shared.database.clock) {}
  RedoWorker(const RedoWorker&) = delete;
  RedoWorker& operator=(const RedoWorker&) = delete;
  ~RedoWorker() {
    if (spare_head_ != nullptr) memory_.free_head(spare_head_);
  }

  void run() {
    for (;;) {
      const std::uint32_t stream = shared_.next_stream.fetch_add(1, std::memory_order_relaxed);
      if (stream >= shared_.log.stream_count() || shared_.stop.load(std::memory_order_relaxed)) break;
      Status status = shared_.log.for_each(stream, [this](const wal::LogRecord& record) { return apply(record); });
      if (!status.is_ok()) shared_.fail(std::move(status));
    }
    shared_.records.fetch_add(records_, std::memory_order_relaxed);
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] const std::vector<UnlinkEntry>& deleted() const { return deleted_; }

 private:
  [[nodiscard]] Status apply(const wal::LogRecord& record) {
    LogOperationReader reader(record.payload);
    LogOperation operation;
    while (!reader.at_end()) {
      NVMDB_TRY(reader.next(operation));
      NVMDB_TRY(apply(operation, record.tid.order()));
    }
    ++records_;
    shared_.bytes.fetch_add(record.payload.size(), std::memory_order_relaxed);
    if (records_ % kProgressEvery == 0) shared_.report_progress();
    return shared_.stop.load(std::memory_order_relaxed) ? Status::conflict("stopped") : Status::ok();
  }

  [[nodiscard]] Status apply(const LogOperation& operation, wal::Tid tid) {
    Table* table = shared_.database.tables.find(operation.table);
    if (table == nullptr) {
      return Status::invalid_argument("the log holds rows of table " + std::to_string(operation.table) +
                                      ", which this program does not know");
    }
    if (table->spec.key_words != operation.key.count) {
      return Status::invalid_argument("the log holds keys of " + std::to_string(operation.key.count) +
                                      " words for table " + table->spec.name + ", which has " +
                                      std::to_string(table->spec.key_words));
    }
    RecordHead* head = find_or_make(*table, operation.key);
    if (head == nullptr) return memory_.out_of_space();
    wal::Tid seen;
    while (!head->lock(seen)) {
    }
    Status status;
    wal::Tid now = seen;
    // A new head has the Tid 0, which no transaction has.
    if (seen.order() < tid) {
      status = operation.action == LogAction::Put ? store(*head, operation.row) : Status::ok();
      if (status.is_ok()) now = operation.action == LogAction::Put ? tid : wal::Tid{tid.value | wal::Tid::kAbsentBit};
      rows_ += (now.absent() ? 0 : 1) - (seen.absent() ? 0 : 1);
      if (now.absent() && head->claim_unlink()) deleted_.push_back({table, head, operation.key});
    }
    head->unlock(now);
    return status;
  }

  [[nodiscard]] RecordHead* find_or_make(Table& table, const index::Key& key) {
    if (spare_head_ == nullptr) spare_head_ = memory_.new_head();
    if (spare_head_ == nullptr) return nullptr;
    const index::Insertion insertion =
        table.index->insert(key, reinterpret_cast<std::uintptr_t>(spare_head_), memory_);
    switch (insertion.outcome) {
      case index::Insertion::Outcome::NoMemory: return nullptr;
      case index::Insertion::Outcome::Exists: return reinterpret_cast<RecordHead*>(insertion.value);
      case index::Insertion::Outcome::Inserted: break;
    }
    return std::exchange(spare_head_, nullptr);
  }

  /// The caller holds the lock, and nobody reads during redo.
  [[nodiscard]] Status store(RecordHead& head, ByteSpan row) {
    Tuple* tuple = head.location().tuple();
    if (tuple == nullptr || tuple->capacity() < row.size()) {
      if (Tuple::block_bytes(row.size()) > storage::HotPages::kBlockBytesMax) {
        return Status::corruption("the log holds a row of " + std::to_string(row.size()) + " bytes");
      }
      Tuple* fresh = memory_.new_tuple(row.size());
      if (fresh == nullptr) return memory_.out_of_space();
      head.set_location(TupleAddress(fresh));
      if (tuple != nullptr) memory_.free_tuple(tuple);
      tuple = fresh;
    }
    tuple->store(row);
    return Status::ok();
  }

  RedoShared& shared_;
  RecordMemory memory_;
  RecordHead* spare_head_ = nullptr;
  std::uint64_t records_ = 0;
  std::int64_t rows_ = 0;
  std::vector<UnlinkEntry> deleted_;
};

/// Takes the records out that are deleted in the end. Nobody else is there.
void unlink_deleted(Database::State& database, const std::vector<UnlinkEntry>& deleted) {
  for (const UnlinkEntry& entry : deleted) {
    if (!entry.head->tid().absent()) {
      entry.head->release_unlink();
      continue;
    }
    NVMDB_CHECK(entry.table->index->erase(entry.key, *database.table_memory), "a deleted record is not in its index");
    if (Tuple* tuple = entry.head->location().tuple(); tuple != nullptr) database.table_memory->free_tuple(tuple);
    database.table_memory->free_head(entry.head);
  }
}

}  // namespace

Status redo(Database::State& database, const wal::LogReader& log) {
  RedoShared shared(database, log);
  std::vector<std::unique_ptr<RedoWorker>> workers;
  const std::uint32_t count = std::clamp(database.options.recovery_threads, 1U, std::max(1U, log.stream_count()));
  for (std::uint32_t i = 0; i < count; ++i) workers.push_back(std::make_unique<RedoWorker>(shared));
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < count; ++i) threads.emplace_back([&worker = *workers[i]] { worker.run(); });
  workers[0]->run();
  for (std::thread& thread : threads) thread.join();
  {
    const MutexLock lock(shared.mutex);
    NVMDB_TRY(shared.failure);
  }
  std::int64_t rows = 0;
  for (const auto& worker : workers) {
    rows += worker->rows();
    unlink_deleted(database, worker->deleted());
  }
  database.recovered_rows += static_cast<std::uint64_t>(rows);
  database.recovery.records_applied = shared.records.load(std::memory_order_relaxed);
  return Status::ok();
}

}  // namespace nvmdb::engine
