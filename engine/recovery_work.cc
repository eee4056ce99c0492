#include "engine/recovery_work.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "engine/session_state.h"
#include "storage/base/fail_point.h"

namespace nvmdb::engine {

namespace {

/// Calls `work` with 0 to count - 1, each in a thread of its own.
void run_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
#if defined(__SANITIZE_THREAD__)
  // The packaged library was not built with the sanitizer, which then sees none of its hand-overs.
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
#else
  // The recovery's own number of threads, also above that of the processors.
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, count);
  oneapi::tbb::task_arena arena(static_cast<int>(count));
  arena.execute([&] {
    oneapi::tbb::parallel_for(std::size_t{0}, count, std::size_t{1}, work, oneapi::tbb::static_partitioner());
  });
#endif
}

}  // namespace

RecoveryWorker::RecoveryWorker(Database::State& database)
    : database_(database),
      memory_(database.hot, database.hot_tuples, *database.clock),
      dirty_(std::make_unique<DirtyList>()) {}

RecoveryWorker::~RecoveryWorker() {
  if (spare_head_ != nullptr) memory_.free_head(spare_head_);
}

Result<Table*> RecoveryWorker::table_of(TableId id, std::uint32_t key_words, const char* where) const {
  Table* table = database_.tables.find(id);
  if (table == nullptr) {
    return Status::invalid_argument(std::string(where) + " holds rows of table " + std::to_string(id) +
                                    ", which this program does not know");
  }
  if (table->spec.key_words != key_words) {
    return Status::invalid_argument(std::string(where) + " holds keys of " + std::to_string(key_words) +
                                    " words for table " + table->spec.name + ", which has " +
                                    std::to_string(table->spec.key_words));
  }
  return table;
}

RecordHead* RecoveryWorker::find_or_make(Table& table, const index::Key& key) {
  if (spare_head_ == nullptr) spare_head_ = memory_.new_head();
  if (spare_head_ == nullptr) return nullptr;
  const index::Insertion insertion = table.index->insert(key, reinterpret_cast<std::uintptr_t>(spare_head_), memory_);
  switch (insertion.outcome) {
    case index::Insertion::Outcome::NoMemory: return nullptr;
    case index::Insertion::Outcome::Exists: return reinterpret_cast<RecordHead*>(insertion.value);
    case index::Insertion::Outcome::Inserted: break;
  }
  return std::exchange(spare_head_, nullptr);
}

void RecoveryWorker::note_absent(Table& table, RecordHead& head, const index::Key& key) {
  if (head.claim_unlink()) deleted_.push_back({&table, &head, key});
}

void RecoveryWorker::mark_dirty(Table& table, RecordHead& head, const index::Key& key) {
  if (head.dirty()) return;
  head.set_dirty(true);
  dirty_->push(table.spec.id, &head, key);
}

index::Insertion RecoveryWorker::insert_row(Table& table, const SlotView& slot, wal::Tid tid) {
  if (spare_head_ == nullptr) spare_head_ = memory_.new_head();
  if (spare_head_ == nullptr) return {};
  spare_head_->set_home(slot.address());
  spare_head_->set_location(TupleAddress::in_nvm(slot.address()));
  spare_head_->unlock(tid);
  const index::Insertion insertion =
      table.index->insert(slot.key(), reinterpret_cast<std::uintptr_t>(spare_head_), memory_);
  if (insertion.outcome == index::Insertion::Outcome::Inserted) {
    spare_head_ = nullptr;
  } else {
    new (spare_head_) RecordHead();
  }
  return insertion;
}

Status RecoveryWorker::apply(const SlotView& slot, TuplePage& page, wal::Epoch durable, PageTotals& totals) {
  NVMDB_ASSIGN(Table* table, table_of(slot.table(), slot.key_words(), "the checkpoint"));
  const wal::Tid tid = slot.tid().order();
  if (tid.value == 0 || tid.epoch() > durable) {
    return Status::corruption("region " + std::to_string(page.id.region) + " offset " +
                              std::to_string(page.id.offset() + static_cast<std::uint64_t>(slot.address() - page.base)) +
                              ": a checkpoint tuple of epoch " + std::to_string(tid.epoch().value) +
                              ", but the log is durable up to " + std::to_string(durable.value) + " only");
  }
  ++versions;
  bytes += slot.bytes();
  totals.tables |= 1ULL << (slot.table() % 64U);
  if (!slot.is_tombstone()) {
    switch (insert_row(*table, slot, tid).outcome) {
      case index::Insertion::Outcome::NoMemory: return memory_.out_of_space();
      case index::Insertion::Outcome::Exists: break;
      case index::Insertion::Outcome::Inserted:
        totals.live_rows += slot.bytes();
        ++rows_;
        return Status::ok();
    }
  }
  const index::Key key = slot.key();
  RecordHead* head = find_or_make(*table, key);
  if (head == nullptr) return memory_.out_of_space();
  wal::Tid seen;
  while (!head->lock(seen)) {
  }
  wal::Tid now = seen;
  const std::byte* old = head->home();
  const bool tombstone = slot.is_tombstone();
  if (tombstone) page.note_tombstone(slot.bytes(), slot.barrier());
  if (seen.order() < tid) {
    now = slot.tid();
    head->set_home(tombstone ? nullptr : slot.address());
    head->set_location(tombstone ? TupleAddress() : TupleAddress::in_nvm(slot.address()));
    if (!tombstone) totals.live_rows += slot.bytes();
    if (old != nullptr) database_.tuple_pages->drop_row(old);
    rows_ += (now.absent() ? 0 : 1) - (seen.absent() ? 0 : 1);
    if (tombstone) note_absent(*table, *head, key);
  }
  head->unlock(now);
  return Status::ok();
}

Status RecoveryWorker::apply(const LogOperation& operation, wal::Tid tid) {
  NVMDB_ASSIGN(Table* table, table_of(operation.table, operation.key.count, "the log"));
  RecordHead* head = find_or_make(*table, operation.key);
  if (head == nullptr || !dirty_->reserve(memory_, DirtyList::entry_bytes(operation.key.count))) {
    return memory_.out_of_space();
  }
  if (operation.action == LogAction::Patch) {
    patches_.push_back({head, table, operation.key, tid, patch_bytes_.size(),
                        static_cast<std::uint32_t>(operation.row.size()), operation.offset});
    patch_bytes_.insert(patch_bytes_.end(), operation.row.begin(), operation.row.end());
    return Status::ok();
  }
  wal::Tid seen;
  while (!head->lock(seen)) {
  }
  Status status;
  wal::Tid now = seen;
  // A new head has the Tid 0, which no transaction has.
  if (seen.order() < tid) {
    const bool put = operation.action == LogAction::Put;
    if (put) {
      status = store(*head, *table, operation, tid);
    } else if (head->location().slot() != nullptr) {
      head->set_location(TupleAddress());
    }
    if (status.is_ok()) {
      now = put ? tid : wal::Tid{tid.value | wal::Tid::kAbsentBit};
      mark_dirty(*table, *head, operation.key);
    }
    rows_ += (now.absent() ? 0 : 1) - (seen.absent() ? 0 : 1);
    if (now.absent()) note_absent(*table, *head, operation.key);
  }
  head->unlock(now);
  return status;
}

Status RecoveryWorker::apply_patch(const LoggedPatch& patch, ByteSpan patched) {
  const wal::Tid seen = patch.head->tid();
  if (patch.tid <= seen.order()) return Status::ok();
  Tuple* tuple = patch.head->location().tuple();
  const std::byte* slot = patch.head->location().slot();
  const std::size_t row_bytes = tuple != nullptr ? tuple->row_bytes() : slot != nullptr ? SlotView(slot).row().size() : 0;
  if (seen.absent() || patched.size() > row_bytes || patch.offset > row_bytes - patched.size()) {
    return Status::corruption("the log changes a part of a row of table " + patch.table->spec.name +
                              " that is not there");
  }
  if (!dirty_->reserve(memory_, DirtyList::entry_bytes(patch.key.count))) return memory_.out_of_space();
  if (tuple != nullptr) {
    tuple->store_part(patch.offset, patched);
  } else {
    const ByteSpan old = SlotView(slot).row();
    Bytes row(old.begin(), old.end());
    std::copy(patched.begin(), patched.end(), row.begin() + patch.offset);
    NVMDB_TRY(store(*patch.head, *patch.table, {LogAction::Put, patch.table->spec.id, patch.key, row, 0}, patch.tid));
  }
  mark_dirty(*patch.table, *patch.head, patch.key);
  patch.head->unlock(patch.tid);
  return Status::ok();
}

/// The caller holds the lock, and nobody reads during recovery.
Status RecoveryWorker::store(RecordHead& head, Table& table, const LogOperation& operation, wal::Tid tid) {
  Tuple* tuple = head.location().tuple();
  if (tuple != nullptr && tuple->capacity() >= operation.row.size()) {
    tuple->store(operation.row);
    return Status::ok();
  }
  if (Tuple::block_bytes(operation.row.size()) > storage::HotPages::kBlockBytesMax) {
    return Status::corruption("the log holds a row of " + std::to_string(operation.row.size()) + " bytes");
  }
  if (Tuple* fresh = memory_.new_tuple(operation.row.size()); fresh != nullptr) {
    fresh->store(operation.row);
    head.set_location(TupleAddress(fresh));
  } else if (database_.options.placement.overflow) {
    NVMDB_ASSIGN(const std::byte* slot,
                 database_.tuple_pages->reserve_overflow(operation.key.count, operation.row.size(),
                                                         TuplePages::For::Recovery));
    database_.tuple_pages->fill_overflow(slot, tid, table.spec.id, operation.key, operation.row, memory_.hint_of(&head));
    head.set_location(TupleAddress::in_nvm(slot));
  } else {
    return memory_.out_of_space();
  }
  if (tuple != nullptr) memory_.free_tuple(tuple);
  return Status::ok();
}

RecoveryWork::RecoveryWork(Database::State& database) : database_(database) {
  const std::uint32_t count = std::clamp(database.options.recovery_threads, 1U, 64U);
  for (std::uint32_t i = 0; i < count; ++i) workers_.push_back(std::make_unique<RecoveryWorker>(database));
}

Status RecoveryWork::for_each(std::size_t count, const std::function<Status(RecoveryWorker&, std::size_t)>& task) {
  if (workers_.size() == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) NVMDB_TRY(task(*workers_[0], i));
    return Status::ok();
  }
  // Each worker begins with a range of its own, then helps the others: neighbouring pages often hold neighbouring keys,
  // and threads that insert them side by side would wait for the same leaves.
  const std::size_t parts = workers_.size();
  std::vector<std::atomic<std::size_t>> next(parts);
  for (std::size_t part = 0; part < parts; ++part) next[part] = count * part / parts;
  std::atomic<bool> stop{false};
  std::vector<Status> results(parts);
  run_side_by_side(parts, [&](std::size_t number) {
    for (std::size_t turn = 0; turn < parts; ++turn) {
      const std::size_t part = (number + turn) % parts;
      const std::size_t end = count * (part + 1) / parts;
      for (std::size_t i = next[part]++; i < end && !stop.load(std::memory_order_relaxed); i = next[part]++) {
        results[number] = task(*workers_[number], i);
        if (!results[number].is_ok()) stop.store(true, std::memory_order_relaxed);
      }
    }
  });
  for (const Status& result : results) NVMDB_TRY(result);
  return Status::ok();
}

void RecoveryWork::report(const char* phase, std::uint64_t done, std::uint64_t total) {
  const auto& progress = database_.options.progress;
  if (!progress) return;
  const MutexLock lock(report_mutex_);
  progress(phase, std::min(done, total), total);
}

std::uint64_t RecoveryWork::versions() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->versions;
  return sum;
}

void RecoveryWork::forget(const UnlinkEntry& entry) {
  NVMDB_FAIL_POINT("recovery.unlink");
  NVMDB_CHECK(entry.table->index->erase(entry.key, *database_.table_memory), "a deleted record is not in its index");
  if (Tuple* tuple = entry.head->location().tuple(); tuple != nullptr) database_.table_memory->free_tuple(tuple);
  if (entry.head->dirty()) {
    // On a list of the checkpointer, which frees it.
    entry.head->unlock({RecordHead::kDead});
  } else {
    database_.table_memory->free_head(entry.head);
  }
}

Status RecoveryWork::apply_patches() {
  struct Place {
    wal::Tid tid;
    RecoveryWorker* worker;
    const RecoveryWorker::LoggedPatch* patch;
  };
  std::vector<Place> places;
  for (const auto& worker : workers_) {
    for (const auto& patch : worker->patches_) places.push_back({patch.tid, worker.get(), &patch});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.tid < b.tid; });
  for (const Place& place : places) {
    const ByteSpan bytes = ByteSpan(place.worker->patch_bytes_).subspan(place.patch->at, place.patch->count);
    NVMDB_FAIL_POINT_TRY("recovery.patch");
    NVMDB_TRY(place.worker->apply_patch(*place.patch, bytes));
  }
  return Status::ok();
}

Status RecoveryWork::finish() {
  NVMDB_TRY(apply_patches());
  NVMDB_ASSIGN(Session::State* session, database_.take_session());
  std::int64_t rows = 0;
  for (const auto& worker : workers_) {
    rows += worker->rows_;
    for (const UnlinkEntry& entry : worker->deleted_) {
      if (!entry.head->tid().absent()) {
        entry.head->release_unlink();
      } else if (entry.head->home() != nullptr) {
        // The checkpointer has to see the deletion first.
        session->unlinks.push(entry);
      } else {
        forget(entry);
      }
    }
    if (!worker->dirty_->empty()) database_.recovered_dirty.push_back(std::move(worker->dirty_));
  }
  workers_.clear();
  database_.put_idle(session);
  database_.recovered_rows += static_cast<std::uint64_t>(rows);
  return Status::ok();
}

}  // namespace nvmdb::engine
