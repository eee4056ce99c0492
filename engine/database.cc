#include "engine/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "engine/checkpoint_scan.h"
#include "engine/checkpointer.h"
#include "engine/recovery.h"
#include "engine/session_state.h"
#include "storage/base/clock.h"
#include "storage/base/bytes.h"
#include "storage/base/fail_point.h"
#include "storage/base/narrow.h"
#include "storage/base/size_text.h"
#include "storage/base/spin.h"
#include "storage/nvm/posix.h"
#include "storage/nvm/root_words.h"

namespace nvmdb::engine {

namespace {

constexpr std::size_t kSessionsMax = wal::EpochClock::kMaxSlots - 8;
constexpr std::uint32_t kAttemptsMax = 1000;
constexpr std::uint64_t kBackoffMicrosecondsMax = 1000;
constexpr std::chrono::milliseconds kCollectInterval{20};
/// Checkpoints that Database::run waits for when memory, NVM or log space is used up.
constexpr std::uint32_t kReliefsMax = 6;
/// NVM pages that stay free for the log and the checkpoints, so that a full pool can be cleaned.
constexpr std::uint64_t kReservedPagesMin = 4;
constexpr std::uint64_t kReservedShare = 20;

Status mark_closed(storage::PoolMedia& media) {
  storage::Door& root = media.root_words();
  root.store8(storage::kCleanShutdownWord * 8, 1);
  root.flush(storage::kCleanShutdownWord * 8, 8);
  return root.fence();
}

void tell(const DatabaseOptions& options, const char* phase, std::uint64_t done, std::uint64_t total) {
  if (options.progress) options.progress(phase, done, total);
}

/// Waits before the next attempt: a random time, longer each time, so that rivals do not meet again.
void back_off(SeededRandom& random, std::uint32_t attempt) {
  const std::uint64_t limit = std::min(kBackoffMicrosecondsMax, std::uint64_t{1} << std::min(attempt, 16U));
  if (attempt < 3) {
    for (SpinWait spin; spin.rounds() < 4 + random.below(8);) spin.wait();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(limit)));
}

/// Where NVM takes what does not fit, tuples leave room in DRAM for the index of what is in NVM.
std::uint64_t tuple_bytes_max(const DatabaseOptions& options) {
  if (!options.placement.overflow) return options.dram_bytes;
  return options.dram_bytes / 100 * options.placement.tuple_percent / storage::kPageBytes * storage::kPageBytes;
}

/// The nameless file of PlacementOptions::tuple_directory; none when that is empty.
Result<storage::FileDescriptor> open_tuple_file(const DatabaseOptions& options) {
  const std::string directory = options.placement.tuple_directory.string();
  if (directory.empty()) return storage::FileDescriptor();
  storage::FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) return storage::errno_status("make a nameless file in", directory, errno);
  const std::uint64_t bytes = align_up(tuple_bytes_max(options), storage::kPageBytes);
  if (::ftruncate(file.get(), narrow<off_t>(bytes)) != 0) return storage::errno_status("size a file in", directory, errno);
  return file;
}

/// Pages that must be free for a redo of so many bytes of log and the checkpoint after it: at worst every row of the log
/// goes to overflow pages.
std::uint64_t redo_pages(std::uint64_t log_bytes, const storage::PageAllocator& pages) {
  return pages.reserve() + log_bytes / storage::kPageBytes + 2;
}

}  // namespace

Result<TableSet> TableSet::create(const std::vector<TableSpec>& specs, index::NodeMemory& memory) {
  TableSet set;
  for (const TableSpec& spec : specs) {
    if (set.find(spec.id) != nullptr) {
      return Status::invalid_argument("table number " + std::to_string(spec.id) + " is declared twice: " +
                                      set.find(spec.id)->spec.name + " and " + spec.name);
    }
    if (set.by_id_.size() <= spec.id) set.by_id_.resize(std::size_t{spec.id} + 1);
    auto table = std::make_unique<Table>();
    table->spec = spec;
    NVMDB_ASSIGN(table->index, index::OrderedIndex::create(spec.key_words, memory));
    set.by_id_[spec.id] = std::move(table);
  }
  return set;
}

Database::State::State(storage::PoolMedia& pool_media, const DatabaseOptions& database_options, int tuple_file)
    : media(pool_media),
      options(database_options),
      hot_budget(database_options.dram_bytes),
      hot(database_options.dram_bytes, &hot_budget),
      hot_tuples(tuple_bytes_max(database_options), &hot_budget, tuple_file) {}
Database::State::~State() = default;

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Database>> Database::open(storage::PoolMedia& media, std::vector<TableSpec> tables,
                                                 const DatabaseOptions& options) {
  const std::uint64_t started = system_clock().monotonic_ns();
  NVMDB_ASSIGN(const storage::FileDescriptor tuple_file, open_tuple_file(options));
  auto state = std::make_unique<State>(media, options, tuple_file.get());
  RecoveryReport& report = state->recovery;
  report.clean_shutdown = media.root_words().load8(storage::kCleanShutdownWord * 8) == 1;
  // Durable with the number of the log's session, which lies in the same line; nothing is told to anybody before that.
  media.root_words().store8(storage::kCleanShutdownWord * 8, 0);
  NVMDB_ASSIGN(state->pages, storage::PageAllocator::open(media));
  state->pages->set_reserve(std::max(kReservedPagesMin, state->pages->total_pages() / kReservedShare));
  state->tuple_pages = std::make_unique<TuplePages>(media, *state->pages);

  tell(options, "analysis", 0, 1);
  NVMDB_ASSIGN(const std::unique_ptr<wal::LogReader> reader, wal::LogReader::open(media, *state->pages));
  const wal::LogReader::Horizon& horizon = reader->horizon();
  report.log_bytes = horizon.bytes;
  report.discarded_blocks = horizon.discarded_blocks;
  tell(options, "analysis", 1, 1);
  NVMDB_FAIL_POINT_TRY("recovery.analysis");

  // Epochs go on above all that the log ever saw, also above those that are discarded.
  NVMDB_ASSIGN(const std::uint64_t floor, storage::load_root_number(media.root_words(), storage::kEpochFloorWord));
  const wal::Epoch first{std::max({floor, horizon.durable.value + 1, horizon.highest_seen.value + 1})};
  if (first.value >= wal::Tid::kAbsentBit >> (wal::Tid::kSequenceBits + 1)) {
    return Status::corruption("the pool's epoch floor is impossible: " + std::to_string(floor));
  }
  storage::store_root_number(media.root_words(), storage::kEpochFloorWord, first.value);
  state->clock = std::make_unique<wal::EpochClock>(first);

  state->table_memory = std::make_unique<RecordMemory>(state->hot, state->hot_tuples, *state->clock);
  NVMDB_ASSIGN(state->tables, TableSet::create(tables, *state->table_memory));
  RecoveryWork work(*state);
  NVMDB_TRY(scan_checkpoint(work, horizon.durable));
  state->checkpointer = std::make_unique<Checkpointer>(*state);
  NVMDB_TRY(state->checkpointer->make_room(redo_pages(horizon.bytes, *state->pages)));
  NVMDB_FAIL_POINT_TRY("recovery.redo");
  NVMDB_TRY(redo(work, *reader));
  NVMDB_FAIL_POINT_TRY("recovery.log");
  tell(options, "redo", horizon.bytes, horizon.bytes);
  // What lies past the horizon was not visited, and the new session of the log names the horizon as its predecessor:
  // it is dead for good. Nothing of it has touched a table, so there is nothing else to undo.
  tell(options, "undo", horizon.discarded_blocks, horizon.discarded_blocks);
  NVMDB_ASSIGN(state->log, wal::Log::start(media, *state->pages, *state->clock, options.log, reader.get()));
  NVMDB_TRY(work.finish());
  NVMDB_FAIL_POINT_TRY("recovery.done");
  report.nanoseconds = system_clock().monotonic_ns() - started;

  State* raw = state.get();
  std::unique_ptr<Database> database(new Database(std::move(state)));
  if (options.log.writer_threads && options.checkpoint.background) raw->checkpointer->start();
  if (options.log.writer_threads) raw->collector = std::thread([raw] { raw->run_collector(); });
  return database;
}

Database::~Database() {
  State& state = *state_;
  if (state.collector.joinable()) {
    {
      const std::lock_guard lock(state.collector_mutex);
      state.collector_stop = true;
    }
    state.collector_wake.notify_all();
    state.collector.join();
  }
  state.checkpointer->stop();
  Status durable = state.log->wait_durable(state.clock->current());
  const CheckpointOptions& checkpoint = state.options.checkpoint;
  // A failed one costs the next start some redo, no more.
  if (durable.is_ok() && state.options.log.writer_threads && checkpoint.background && checkpoint.at_close) {
    static_cast<void>(state.checkpointer->run_cycle());
  }
  {
    const MutexLock lock(state.sessions_mutex);
    NVMDB_CHECK(state.idle.size() == state.sessions.size(), "a database was closed while sessions were in use");
  }
  NVMDB_FAIL_POINT("close.retired");
  state.run_retired_calls(~0ULL);
  state.checkpointer.reset();
  {
    const MutexLock lock(state.sessions_mutex);
    state.idle.clear();
    state.sessions.clear();
  }
  state.log.reset();
  NVMDB_FAIL_POINT("close.mark");
  // Not clean when the log failed: the next start then says that it recovered.
  if (durable.is_ok()) static_cast<void>(mark_closed(state.media));
}

Session::State* Database::State::take_idle() {
  const MutexLock lock(sessions_mutex);
  if (idle.empty()) return nullptr;
  Session::State* session = idle.back();
  idle.pop_back();
  return session;
}

void Database::State::put_idle(Session::State* session) {
  const MutexLock lock(sessions_mutex);
  idle.push_back(session);
}

Result<Session::State*> Database::State::take_session() {
  if (Session::State* session = take_idle(); session != nullptr) return session;
  const MutexLock lock(sessions_mutex);
  wal::EpochClock::Slot* slot = sessions.size() < kSessionsMax ? clock->acquire_slot() : nullptr;
  if (slot == nullptr) return Status::overloaded("all " + std::to_string(sessions.size()) + " sessions are in use");
  sessions.push_back(std::make_unique<Session::State>(*this, *slot, sessions.size() + 1));
  return sessions.back().get();
}

Result<Session> Database::session() {
  NVMDB_ASSIGN(Session::State* session, state_->take_session());
  return Session(state_.get(), session);
}

Status Database::make_room() {
  NVMDB_TRY(state_->checkpointer->relieve());
  reclaim();
  return Status::ok();
}

Status Database::verify_checkpoint_page(storage::PageId& next, storage::PageId& page, std::uint64_t& bytes) {
  return state_->checkpointer->verify_page(next, page, bytes);
}
Status Database::checkpoint() { return state_->checkpointer->run_cycle(); }

Result<CommitReceipt> Database::run(const std::function<Status(Transaction&)>& body) {
  NVMDB_ASSIGN(Session session, this->session());
  std::uint32_t reliefs = 0;
  for (std::uint32_t attempt = 0;; ++attempt) {
    Transaction transaction = session.begin();
    Status status = body(transaction);
    const bool conflict = session.state_->transaction.doomed;
    if (status.is_ok()) {
      Result<CommitReceipt> receipt = transaction.commit();
      if (receipt.is_ok()) return receipt;
      status = receipt.status();
    } else if (conflict || status.code() == Code::OutOfSpace || status.code() == Code::Overloaded) {
      transaction.abort();
    } else {
      // The body says no because of what it read: that must be true, and durable like any other answer.
      const Result<CommitReceipt> seen = transaction.abort_checked();
      if (seen.is_ok()) {
        NVMDB_TRY(wait_durable(*seen));
        return status;
      }
      status = seen.status();
    }
    if (status.code() == Code::OutOfSpace && ++reliefs <= kReliefsMax) {
      const Status relief = make_room();
      if (relief.is_ok()) continue;
      return relief.code() == Code::OutOfSpace ? status : relief;
    }
    const bool again = status.code() == Code::Conflict && (conflict || session.state_->transaction.doomed);
    if (!again) return status;
    if (attempt + 1 == kAttemptsMax) return Status::conflict("gave up after " + std::to_string(kAttemptsMax) + " attempts");
    back_off(session.state_->random, attempt);
  }
}

Status Database::run_durable(const std::function<Status(Transaction&)>& body) {
  NVMDB_ASSIGN(const CommitReceipt receipt, run(body));
  return wait_durable(receipt);
}

Status Database::wait_durable(const CommitReceipt& receipt) {
  if (state_->log->durable_epoch() >= receipt.epoch) return Status::ok();
  return state_->log->wait_durable(receipt.epoch);
}

void Database::retire(std::function<void()> free) { state_->retire(std::move(free)); }

void Database::State::retire(std::function<void()> free) {
  const std::uint64_t epoch = clock->retirement_epoch().value;
  const MutexLock lock(retired_mutex);
  retired.push({epoch, std::move(free)});
}

void Database::State::run_retired_calls(std::uint64_t oldest_pinned) {
  for (;;) {
    std::function<void()> free;
    {
      const MutexLock lock(retired_mutex);
      if (retired.empty() || retired.front().epoch >= oldest_pinned) return;
      free = std::move(retired.front().free);
      retired.pop();
    }
    free();
  }
}

bool Database::State::collect_idle_sessions() {
  bool left = false;
  for (std::size_t i = 0;; ++i) {
    Session::State* session = nullptr;
    {
      const MutexLock lock(sessions_mutex);
      while (i < idle.size() && !idle[i]->has_garbage()) ++i;
      if (i >= idle.size()) return left;
      session = std::exchange(idle[i], idle.back());
      idle.pop_back();
    }
    session->collect();
    left = left || session->has_garbage();
    const MutexLock lock(sessions_mutex);
    idle.insert(idle.begin() + static_cast<std::ptrdiff_t>(std::min(i, idle.size())), session);
  }
}

void Database::reclaim() {
  State& state = *state_;
  bool left = state.collect_idle_sessions();
  state.run_retired_calls(state.clock->oldest_pinned().value);
  {
    const MutexLock lock(state.retired_mutex);
    left = left || !state.retired.empty();
  }
  if (!left) return;
  // Epochs advance only with commits; nobody may come for a long time. A failed log is told to those who commit.
  if (!state.log->wait_durable(state.clock->current()).is_ok()) return;
  static_cast<void>(state.collect_idle_sessions());
  state.run_retired_calls(state.clock->oldest_pinned().value);
}

void Database::State::run_collector() {
  std::unique_lock lock(collector_mutex);
  while (!collector_stop) {
    collector_wake.wait_for(lock, kCollectInterval);
    if (collector_stop) return;
    lock.unlock();
    static_cast<void>(collect_idle_sessions());
    run_retired_calls(clock->oldest_pinned().value);
    lock.lock();
  }
}

storage::HotBudget& Database::hot_budget() { return state_->hot_budget; }
wal::Epoch Database::durable_epoch() const { return state_->log->durable_epoch(); }
storage::PageAllocator& Database::pages() { return *state_->pages; }
storage::PoolMedia& Database::media() { return state_->media; }
const RecoveryReport& Database::recovery() const { return state_->recovery; }

DatabaseStatistics Database::statistics() const {
  const State& state = *state_;
  DatabaseStatistics statistics;
  std::int64_t rows = static_cast<std::int64_t>(state.recovered_rows);
  {
    const MutexLock lock(state.sessions_mutex);
    for (const auto& session : state.sessions) {
      statistics.commits += session->counters.commits.load(std::memory_order_relaxed);
      statistics.aborts += session->counters.aborts.load(std::memory_order_relaxed);
      rows += session->counters.rows.load(std::memory_order_relaxed);
    }
  }
  statistics.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
  statistics.dram_bytes = state.hot_budget.bytes_used();
  statistics.dram_bytes_max = state.hot_budget.bytes_max();
  statistics.dram_index_bytes = state.hot.bytes_used();
  statistics.dram_tuple_bytes = state.hot_tuples.bytes_used();
  statistics.dram_tuples_in_use = state.hot_tuples.bytes_allocated();
  statistics.checkpoint = state.checkpointer->statistics();
  statistics.log = state.log->statistics();
  return statistics;
}

}  // namespace nvmdb::engine
