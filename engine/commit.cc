#include <algorithm>
#include <thread>

#include "engine/checkpointer.h"
#include "engine/session_state.h"
#include "storage/base/check.h"
#include "storage/base/fail_point.h"

namespace nvmdb::engine {

namespace {
constexpr std::uint32_t kCollectEvery = 64;
}  // namespace

wal::Tid Transaction::State::newest_seen() const {
  wal::Tid newest;
  for (const ReadEntry& read : reads) newest = std::max(newest, read.seen.order());
  return newest;
}

/// A transaction that wrote nothing takes place at the moment of this check. What it read must be durable before
/// anybody is told of it: its epoch is that of the newest version it read. (Records are only taken out of the index
/// when their deletion is durable, so a key that was missed asks for nothing.)
Result<CommitReceipt> Transaction::State::commit_reads() { return check_reads(); }

Result<CommitReceipt> Transaction::State::check_reads() {
  const bool same = std::all_of(reads.begin(), reads.end(),
                                [](const ReadEntry& read) { return read.head->tid().value == read.seen.value; });
  if ((!same && !database.planted_faults.skip_read_validation) || !leaves_unchanged()) return conflict("data changed");
  const wal::Tid newest = newest_seen();
  return CommitReceipt{newest, newest.epoch()};
}

Result<CommitReceipt> Transaction::State::commit_writes() {
  NVMDB_TRY(prepare());
  if (!lock_writes()) {
    session.appender->cancel();
    return conflict("record is busy");
  }
  Result<CommitReceipt> result = commit_locked();
  if (!result.is_ok()) {
    unlock_writes(writes.size());
    session.appender->cancel();
    if (result.status().code() == Code::Overloaded) {
      // The Tids of this epoch are used up: only a new epoch helps.
      NVMDB_TRY(database.log->wait_durable(database.clock->current()));
      return conflict("epoch is full");
    }
  }
  return result;
}

/// The commit section. The epoch is read after all locks are held and before the reads are checked: that is the point
/// of the serial order, and epochs follow it.
Result<CommitReceipt> Transaction::State::commit_locked() {
  if (database.planted_faults.store_before_validation) store_too_early();
  NVMDB_FAIL_POINT("commit.locked");
  const wal::Epoch epoch = database.clock->enter_commit(session.slot);
  if (!reads_unchanged() || !leaves_unchanged()) {
    database.clock->leave_commit(session.slot);
    return conflict("data changed");
  }
  wal::Tid tid = std::max(session.last_tid, newest_seen());
  for (const WriteEntry& write : writes) tid = std::max(tid, write.seen.order());
  NVMDB_CHECK(tid.epoch() <= epoch, "a record is newer than the current epoch");
  tid = tid.epoch() < epoch ? wal::Tid::make(epoch, 0) : wal::Tid{tid.value + 1};
  if (tid.epoch() != epoch) {
    database.clock->leave_commit(session.slot);
    return Status::overloaded("epoch is full");
  }
  write_log(tid);
  NVMDB_FAIL_POINT("commit.logged");
  apply(tid);
  NVMDB_FAIL_POINT("commit.applied");
  database.clock->leave_commit(session.slot);
  session.last_tid = tid;
  return CommitReceipt{tid, epoch};
}

Status Transaction::State::prepare() {
  NVMDB_TRY(session.ensure_appender());
  NVMDB_TRY(prepare_tuples());
  std::size_t entries = 0;
  for (const WriteEntry& write : writes) entries += DirtyList::entry_bytes(write.key.count);
  if (!session.dirty.reserve(session.memory, entries)) return session.memory.out_of_space();
  return session.appender->reserve(log_bytes());
}

/// Gets room, before any lock, for rows that do not fit where their record is.
Status Transaction::State::prepare_tuples() {
  for (WriteEntry& write : writes) {
    if (write.action == LogAction::Erase || write.fresh.kind() != TupleAddress::Kind::None) continue;
    const Tuple* tuple = write.head->location().tuple();
    if (write.action == LogAction::Patch) {
      if (tuple != nullptr) continue;
      NVMDB_TRY(complete_row(write));
    }
    if (tuple != nullptr && tuple->capacity() >= write.row.size()) continue;
    NVMDB_TRY(prepare_tuple(write));
  }
  return Status::ok();
}

/// A hot page while there is room, else an NVM page without flush or fence.
Status Transaction::State::prepare_tuple(WriteEntry& write) {
  if (Tuple* tuple = session.memory.new_tuple(write.row.size()); tuple != nullptr) {
    write.fresh = TupleAddress(tuple);
    return Status::ok();
  }
  if (!database.options.placement.overflow) return session.memory.out_of_space();
  NVMDB_ASSIGN(const std::byte* slot, database.tuple_pages->reserve_overflow(write.key.count, write.row.size()));
  write.fresh = TupleAddress::in_nvm(slot);
  return Status::ok();
}

Status Transaction::State::complete_row(WriteEntry& write) {
  const Result<ByteSpan> found = read_part(*write.head, 0, ~std::size_t{0});
  if (found.status().code() == Code::NotFound) return conflict("the row is gone");  // it was there when it was patched
  NVMDB_ASSIGN(const ByteSpan row, found);
  if (row.size() < write.offset + write.row.size()) return conflict("row is too short");
  write.row = row;
  write.action = LogAction::Put;
  return Status::ok();
}

bool Transaction::State::fits(const WriteEntry& write) {
  if (write.action == LogAction::Erase) return true;
  const Tuple* tuple = write.head->location().tuple();
  if (write.action == LogAction::Put) {
    return write.fresh.kind() != TupleAddress::Kind::None || (tuple != nullptr && tuple->capacity() >= write.row.size());
  }
  return tuple != nullptr && !write.seen.absent() && write.offset + write.row.size() <= tuple->row_bytes();
}

std::size_t Transaction::State::log_bytes() const {
  std::size_t bytes = 0;
  for (const WriteEntry& write : writes) bytes += encoded_bytes(write.action, write.key, write.row.size(), write.offset);
  return bytes;
}

/// Locks all records written, in the order of their addresses. False, with nothing locked, when one cannot be had.
bool Transaction::State::lock_writes() {
  lock_order.clear();
  for (std::uint32_t i = 0; i < writes.size(); ++i) lock_order.push_back({writes[i].head, i});
  std::sort(lock_order.begin(), lock_order.end(),
            [](const LockEntry& a, const LockEntry& b) { return std::less<>{}(a.head, b.head); });
  for (std::size_t i = 0; i < lock_order.size(); ++i) {
    WriteEntry& write = writes[lock_order[i].write];
    if (!write.head->lock(write.seen)) {
      unlock_writes(i);
      return false;
    }
    // The record was given less room since prepare_tuples() looked, or its row is gone; the next attempt will see that.
    if (!fits(write)) {
      unlock_writes(i + 1);
      return false;
    }
  }
  return true;
}

void Transaction::State::unlock_writes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const WriteEntry& write = writes[lock_order[i].write];
    write.head->unlock(write.seen);
  }
}

bool Transaction::State::reads_unchanged() {
  if (database.planted_faults.skip_read_validation) return true;
  for (const ReadEntry& read : reads) {
    const wal::Tid now = read.head->tid();
    if (now.value == read.seen.value) continue;
    const WriteEntry* own = own_write(read.head);
    if (own == nullptr || own->seen.value != read.seen.value) return false;
  }
  return true;
}

bool Transaction::State::leaves_unchanged() const {
  if (database.planted_faults.skip_leaf_validation) return true;
  return std::all_of(leaves.begin(), leaves.end(), index::OrderedIndex::unchanged);
}

void Transaction::State::store_too_early() {
  for (const WriteEntry& write : writes) {
    Tuple* tuple = write.head->location().tuple();
    const bool in_place = write.action == LogAction::Put && write.fresh.kind() == TupleAddress::Kind::None;
    if (in_place && tuple != nullptr && !write.seen.absent()) tuple->store(write.row);
  }
}

void Transaction::State::write_log(wal::Tid tid) {
  std::byte* to = session.appender->payload();
  for (const WriteEntry& write : writes) {
    to = encode_operation(to, write.action, write.table->spec.id, write.key, write.row, write.offset);
  }
  session.appender->publish(tid);
}

/// Stores the rows and unlocks with the new Tid, record by record: readers of several records see a mixture only until
/// they validate.
void Transaction::State::apply(wal::Tid tid) {
  std::int64_t rows = 0;
  for (WriteEntry& write : writes) {
    RecordHead& head = *write.head;
    if (!head.dirty()) {
      head.set_dirty(true);
      session.dirty.push(write.table->spec.id, &head, write.key);
    }
    if (write.action == LogAction::Erase) {
      rows -= write.seen.absent() ? 0 : 1;
      session.queue_unlink(write.table, &head, write.key);
      head.unlock({tid.value | wal::Tid::kAbsentBit});
      continue;
    }
    rows += write.seen.absent() ? 1 : 0;
    Tuple* tuple = head.location().tuple();
    if (write.action == LogAction::Patch) {
      tuple->store_part(write.offset, write.row);
    } else if (write.fresh.kind() == TupleAddress::Kind::None) {
      if (database.planted_faults.unlock_before_store) {
        head.unlock(tid);
        std::this_thread::yield();
        tuple->store(write.row);
        continue;
      }
      tuple->store(write.row);
    } else {
      if (Tuple* fresh = write.fresh.tuple(); fresh != nullptr) {
        fresh->store(write.row);
      } else {
        database.tuple_pages->fill_overflow(write.fresh.slot(), tid, write.table->spec.id, write.key, write.row,
                                           session.memory.hint_of(&head));
      }
      head.set_location(write.fresh);
      write.fresh = {};
      if (tuple != nullptr) session.memory.retire_tuple(tuple);
    }
    head.unlock(tid);
  }
  SessionCounters::add(session.counters.rows, rows);
}

void Transaction::State::finish(bool committed) {
  for (const WriteEntry& write : writes) {
    // A slot in an NVM page is garbage of its page.
    if (Tuple* tuple = write.fresh.tuple(); tuple != nullptr) session.memory.free_tuple(tuple);
    if (!committed && write.created) session.queue_unlink(write.table, write.head, write.key);
  }
  reads.clear();
  leaves.clear();
  leaf_places.clear();
  write_places.clear();
  arena.reset();
  const bool wrote = committed && !writes.empty();
  writes.clear();
  open = false;
  const bool unpinned = pinned_here;
  if (pinned_here) session.unpin();
  pinned_here = false;
  SessionCounters::add(committed ? session.counters.commits : session.counters.aborts, std::uint64_t{1});
  if (session.has_garbage() && ++session.since_collect >= kCollectEvery) session.collect();
  if (wrote && unpinned) database.checkpointer->pace_writer();
}

}  // namespace nvmdb::engine
