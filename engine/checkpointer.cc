#include "engine/checkpointer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/session_state.h"
#include "storage/base/clock.h"
#include "storage/base/fail_point.h"
#include "storage/nvm/root_words.h"

namespace nvmdb::engine {

namespace {

constexpr int kNice = -5;
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::chrono::seconds kReliefTime{10};
/// A cycle is due when the log has filled this part of its budget.
constexpr std::uint64_t kLogShare = 4;
/// Writers are held back while the log is fuller than this, in percent.
constexpr std::uint64_t kThrottlePercent = 75;
constexpr std::chrono::milliseconds kThrottleTime{100};
/// Captured tuples are published after so many bytes.
constexpr std::uint64_t kPublishBytes = 4 * storage::kPageBytes;

}  // namespace

Checkpointer::Checkpointer(Database::State& database)
    : database_(database),
      memory_(database.hot, database.hot_tuples, *database.clock),
      slot_(database.clock->acquire_slot()) {
  NVMDB_CHECK(slot_ != nullptr, "no epoch slot is left for the checkpointer");
  // The log's analysis read it before, and refused what does not check.
  covered_ = storage::load_root_number(database.media.root_words(), storage::kCheckpointEpochWord).value();
}

Checkpointer::~Checkpointer() {
  stop();
  // What cannot be released is garbage that the next start finds.
  static_cast<void>(release_all_retired());
  database_.clock->release_slot(*slot_);
}

void Checkpointer::start() {
  last_end_ns_ = system_clock().monotonic_ns();
  in_background_.store(true, std::memory_order_relaxed);
  thread_ = std::thread([this] { run(); });
}

void Checkpointer::stop() {
  {
    const std::lock_guard lock(thread_mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  done_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::request() {
  {
    const std::lock_guard lock(thread_mutex_);
    requested_ = std::max(requested_, completed_ + 1);
  }
  wake_.notify_all();
}

std::uint64_t Checkpointer::tuple_budget() const {
  const std::uint64_t index = database_.hot.bytes_used();
  const std::uint64_t rest = database_.hot_budget.bytes_max() - std::min(index, database_.hot_budget.bytes_max());
  return std::min(database_.hot_tuples.bytes_max(), rest);
}

bool Checkpointer::under_pressure() const {
  const std::uint64_t budget = tuple_budget();
  return database_.hot_tuples.bytes_allocated() > budget - budget / 8;
}

bool Checkpointer::is_due(std::uint64_t now_ns) const {
  const wal::LogStatistics log = database_.log->statistics();
  const std::uint64_t least = std::uint64_t{database_.options.log.streams} * storage::kPageBytes;
  const std::uint64_t since = now_ns - last_end_ns_.load(std::memory_order_relaxed);
  const bool changed = database_.log->durable_epoch().value > covered_.load(std::memory_order_relaxed) &&
                       log.records > 0;
  if (!changed) return false;
  if (log.log_bytes > least && log.log_bytes > log.log_bytes_max / kLogShare) return true;
  if (under_pressure() && since > 50'000'000) return true;
  return since > database_.options.checkpoint.interval_ms * 1'000'000;
}

void Checkpointer::run() {
  // Beside long queries on a full machine the log must still be emptied, else writers wait. Only a wish: it needs a
  // privilege.
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice));
  std::unique_lock lock(thread_mutex_);
  while (!stop_) {
    wake_.wait_for(lock, kLookEvery, [this] { return stop_ || requested_ > completed_; });
    if (stop_) return;
    if (paused_.load(std::memory_order_relaxed)) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
      continue;
    }
    const bool asked = requested_ > completed_;
    lock.unlock();
    update_throttle();
    const bool run_now = asked || is_due(system_clock().monotonic_ns());
    Status status;
    if (run_now) status = run_cycle();
    update_throttle();
    lock.lock();
    if (!run_now) continue;
    ++completed_;
    last_status_ = status;
    done_.notify_all();
  }
}

void Checkpointer::update_throttle() {
  if (!in_background_.load(std::memory_order_relaxed)) return;
  const wal::LogStatistics log = database_.log->statistics();
  const bool full = log.log_bytes > log.log_bytes_max / 100 * kThrottlePercent;
  if (throttling_.exchange(full, std::memory_order_relaxed) && !full) done_.notify_all();
}

void Checkpointer::wait_for_log() {
  std::unique_lock lock(thread_mutex_);
  requested_ = std::max(requested_, completed_ + 1);
  wake_.notify_all();
  done_.wait_for(lock, kThrottleTime, [this] { return stop_ || !throttling_.load(std::memory_order_relaxed); });
}

Status Checkpointer::relieve() {
  if (!in_background_.load(std::memory_order_relaxed)) return run_cycle();
  std::unique_lock lock(thread_mutex_);
  // The cycle that runs now may have passed by what the caller needs: the one after it counts.
  const std::uint64_t wanted = completed_ + 2;
  requested_ = std::max(requested_, wanted);
  wake_.notify_all();
  const bool in_time = done_.wait_for(lock, kReliefTime, [&] { return stop_ || completed_ >= wanted; });
  if (!in_time || stop_) return Status::overloaded("the checkpoint does not keep up with the writers; try later");
  return last_status_;
}

Status Checkpointer::run_cycle() {
  const std::uint64_t began = system_clock().monotonic_ns();
  Status status;
  {
    const MutexLock lock(cycle_mutex_);
    status = cycle();
    arena_.reset();
    memory_.collect();
    memory_.flush();
  }
  const std::uint64_t ended = system_clock().monotonic_ns();
  last_cycle_ns_.store(ended - began, std::memory_order_relaxed);
  last_end_ns_.store(ended, std::memory_order_relaxed);
  (status.is_ok() ? cycles_ : failures_).fetch_add(1, std::memory_order_relaxed);
  return status;
}

Status Checkpointer::cycle() {
  TuplePages& pages = *database_.tuple_pages;
  // What committed up to here is on the lists of its sessions: an epoch is durable only when all its commit sections
  // were left.
  const wal::Epoch covered = database_.log->durable_epoch();
  const std::uint64_t oldest = database_.clock->oldest_pinned().value;
  const std::vector<TuplePage*> settling = pages.closed_before(oldest);
  pages.close_overflow(*database_.clock);
  NVMDB_TRY(release_retired());
  NVMDB_FAIL_POINT_TRY("checkpoint.begin");

  Status captured = capture_all();
  if (captured.code() == Code::OutOfSpace) {
    // Publishing what fits makes older copies garbage; then there may be room for the rest.
    NVMDB_TRY(publish_and_collect());
    captured = capture_all();
  }
  NVMDB_TRY(captured);
  NVMDB_FAIL_POINT_TRY("checkpoint.captured");
  NVMDB_TRY(publish());
  NVMDB_TRY(advance(covered));
  // Every tuple in these pages that is still the newest one of its row was on a list, and is checkpointed now.
  for (TuplePage* page : settling) page->settled = true;
  evict();
  return collect_garbage();
}

Status Checkpointer::capture_all() {
  std::vector<DirtyList*> lists;
  {
    const MutexLock lock(database_.sessions_mutex);
    for (const auto& session : database_.sessions) lists.push_back(&session->dirty);
  }
  for (const auto& list : database_.recovered_dirty) lists.push_back(list.get());
  const auto key_words_of = [this](TableId table) { return database_.tables.find(table)->spec.key_words; };
  for (DirtyList* list : lists) {
    NVMDB_TRY(list->consume(memory_, key_words_of, [this](TableId table, RecordHead* head, const std::byte* words) -> Status {
      if (database_.tuple_pages->written_bytes() - published_bytes_ >= kPublishBytes) NVMDB_TRY(publish_and_collect());
      return capture(table, head, words);
    }));
  }
  return Status::ok();
}

Status Checkpointer::capture(TableId table, RecordHead* head, const std::byte* key_words) {
  index::Key key;
  key.count = database_.tables.find(table)->spec.key_words;
  std::memcpy(key.words.data(), key_words, key.count * 8);
  wal::Tid seen;
  while (!head->lock(seen)) {
    if (head->tid().value != RecordHead::kDead) continue;
    // Taken out of the index meanwhile; it was left to us.
    memory_.retire_head(head);
    return Status::ok();
  }
  Status status = capture_locked(table, *head, key, seen);
  head->unlock(seen);
  return status;
}

/// Under the record's lock, so that neither its row nor its place changes, and nobody takes it out of the index between
/// the reading of its row and the note of where the copy is.
Status Checkpointer::capture_locked(TableId table, RecordHead& head, const index::Key& key, wal::Tid seen) {
  TuplePages& pages = *database_.tuple_pages;
  const std::byte* old = head.home();
  const std::byte* copy = nullptr;
  if (seen.absent()) {
    // Without a copy in the checkpoint there is nothing that the deletion would have to cover.
    if (old != nullptr) {
      NVMDB_TRY(pages.append_tombstone(seen, table, key, pages.last_sequence()).status());
      tombstones_.fetch_add(1, std::memory_order_relaxed);
    }
    if (head.location().slot() != nullptr) head.set_location(TupleAddress());
  } else if (const std::byte* slot = head.location().slot(); slot != nullptr) {
    if (slot != old) {
      pages.adopt(slot);
      tuples_adopted_.fetch_add(1, std::memory_order_relaxed);
    }
    copy = slot;
  } else {
    const TransactionArena::Mark mark = arena_.mark();
    const ByteSpan row = head.location().tuple()->copy(arena_, 0, ~std::size_t{0});
    if (row.data() == nullptr) return Status::overloaded("checkpoint: no memory for a row");
    NVMDB_ASSIGN(copy, pages.append(seen.order(), table, key, row, memory_.hint_of(&head)));
    arena_.rewind(mark);
    tuples_written_.fetch_add(1, std::memory_order_relaxed);
  }
  NVMDB_FAIL_POINT("checkpoint.record");
  head.set_home(copy);
  if (old != nullptr && old != copy) pages.drop_row(old);
  head.set_dirty(false);
  newest_captured_ = std::max(newest_captured_, seen.order());
  return Status::ok();
}

/// No version gets into the checkpoint that a crash could still take back.
Status Checkpointer::publish() {
  TuplePages& pages = *database_.tuple_pages;
  pages.write_out();
  NVMDB_TRY(database_.log->wait_durable(newest_captured_.epoch()));
  NVMDB_FAIL_POINT_TRY("checkpoint.durable");
  NVMDB_TRY(pages.publish());
  NVMDB_FAIL_POINT("checkpoint.published");
  published_bytes_ = pages.written_bytes();
  return Status::ok();
}

Status Checkpointer::publish_and_collect() {
  update_throttle();
  NVMDB_TRY(publish());
  NVMDB_TRY(collect_garbage());
  published_bytes_ = database_.tuple_pages->written_bytes();
  return Status::ok();
}

Status Checkpointer::advance(wal::Epoch covered) {
  if (covered.value > covered_.load(std::memory_order_relaxed)) {
    storage::Door& root = database_.media.root_words();
    storage::store_root_number(root, storage::kCheckpointEpochWord, covered.value);
    root.flush(storage::kCheckpointEpochWord * 8, 8);
    NVMDB_FAIL_POINT_TRY("checkpoint.epoch");
    NVMDB_TRY(root.fence());
    NVMDB_FAIL_POINT("checkpoint.advanced");
    covered_.store(covered.value, std::memory_order_relaxed);
  }
  return database_.log->release_through(covered).status();
}

CheckpointStatistics Checkpointer::statistics() const {
  const auto read = [](const std::atomic<std::uint64_t>& value) { return value.load(std::memory_order_relaxed); };
  CheckpointStatistics statistics;
  statistics.epoch = read(covered_);
  statistics.cycles = read(cycles_);
  statistics.failures = read(failures_);
  statistics.tuples_written = read(tuples_written_);
  statistics.tuples_adopted = read(tuples_adopted_);
  statistics.tombstones_written = read(tombstones_);
  statistics.tuples_evicted = read(tuples_evicted_);
  statistics.tuples_moved = read(tuples_moved_);
  statistics.pages_collected = read(pages_collected_);
  statistics.retired_pages = read(retired_pages_);
  statistics.last_cycle_ns = read(last_cycle_ns_);
  const TuplePageStatistics pages = database_.tuple_pages->statistics();
  statistics.pages = pages.checkpoint_pages;
  statistics.overflow_pages = pages.overflow_pages;
  statistics.live_bytes = pages.live_bytes + pages.tombstone_bytes;
  statistics.written_bytes = pages.written_bytes;
  return statistics;
}

}  // namespace nvmdb::engine
