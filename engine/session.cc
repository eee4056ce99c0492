#include <utility>

#include "engine/session_state.h"
#include "storage/base/check.h"

namespace nvmdb::engine {

namespace {
/// So that one transaction does not pay for all that others left.
constexpr std::size_t kUnlinksPerCollect = 512;
/// Records that wait for the log or the checkpointer; those behind them were deleted later.
constexpr std::size_t kEarlyUnlinksMax = 16;
}  // namespace

Session::State::State(Database::State& database_state, wal::EpochClock::Slot& epoch_slot, std::uint64_t seed)
    : database(database_state),
      slot(epoch_slot),
      memory(database_state.hot, database_state.hot_tuples, *database_state.clock),
      transaction(database_state, *this),
      random(seed) {}

Session::State::~State() {
  if (spare_head != nullptr) memory.free_head(spare_head);
  database.clock->release_slot(slot);
}

void Session::State::pin() {
  NVMDB_CHECK(!pinned, "a session was pinned twice");
  database.clock->pin(slot);
  pinned = true;
}

void Session::State::unpin() {
  database.clock->unpin(slot);
  pinned = false;
}

Status Session::State::ensure_appender() {
  if (appender != nullptr) return Status::ok();
  NVMDB_ASSIGN(appender, database.log->new_appender());
  return Status::ok();
}

void Session::State::queue_unlink(Table* table, RecordHead* head, const index::Key& key) {
  if (head->claim_unlink()) unlinks.push({table, head, key});
}

bool Session::State::unlink(const UnlinkEntry& entry, wal::Epoch durable) {
  wal::Tid seen;
  if (!entry.head->lock(seen)) return false;
  if (!seen.absent()) {
    // Inserted again: the next deletion queues it again.
    entry.head->release_unlink();
    entry.head->unlock(seen);
    return true;
  }
  // A deletion that is not durable must stay to be seen: who misses the record waits for nothing. And the Tid of a
  // later insertion must be above that of the deletion.
  if (seen.epoch() > durable) {
    entry.head->unlock(seen);
    return false;
  }
  // The checkpoint holds a row of this record: its deletion must be there first.
  if (entry.head->home() != nullptr) {
    entry.head->unlock(seen);
    return false;
  }
  // Who is on a list of the checkpointer is freed by it.
  const bool listed = entry.head->dirty();
  Tuple* tuple = entry.head->location().tuple();
  entry.head->unlock({RecordHead::kDead});
  NVMDB_CHECK(entry.table->index->erase(entry.key, memory), "a record to unlink is not in its index");
  if (tuple != nullptr) memory.retire_tuple(tuple);
  if (!listed) memory.retire_head(entry.head);
  return true;
}

void Session::State::collect() {
  since_collect = 0;
  const wal::Epoch durable = database.log->durable_epoch();
  const bool pin_here = !pinned;
  if (pin_here) pin();
  const std::size_t count = std::min(unlinks.size(), kUnlinksPerCollect);
  std::size_t early = 0;
  for (std::size_t i = 0; i < count && early < kEarlyUnlinksMax; ++i) {
    const UnlinkEntry entry = unlinks.front();
    unlinks.pop();
    if (unlink(entry, durable)) continue;
    unlinks.push(entry);
    ++early;
  }
  if (pin_here) unpin();
  memory.collect();
}

Session::Session(Session&& other) noexcept
    : database_(other.database_), state_(std::exchange(other.state_, nullptr)) {}

Session::~Session() {
  if (state_ == nullptr) return;
  NVMDB_CHECK(!state_->transaction.open && !state_->pinned, "a session ended before its transaction or pin");
  database_->put_idle(state_);
}

Transaction Session::begin() {
  Transaction::State& transaction = state_->transaction;
  NVMDB_CHECK(!transaction.open, "a session has one transaction at a time");
  transaction.open = true;
  transaction.doomed = false;
  transaction.pinned_here = !state_->pinned;
  if (transaction.pinned_here) state_->pin();
  return Transaction(&transaction);
}

Session::Pin Session::pin() {
  NVMDB_CHECK(!state_->transaction.open, "a pin was taken inside a transaction");
  state_->pin();
  return Pin(this);
}

Session::Pin::~Pin() {
  if (session_ == nullptr) return;
  NVMDB_CHECK(!session_->state_->transaction.open, "a pin ended before the transaction inside it");
  session_->state_->unpin();
}

}  // namespace nvmdb::engine
