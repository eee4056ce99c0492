#include "engine/transaction.h"

#include <utility>

#include "engine/session_state.h"
#include "storage/base/check.h"
#include "storage/base/spin.h"

namespace nvmdb::engine {

// Messages of frequent failures are short enough for std::string to hold them without allocating.

Status Transaction::State::conflict(const char* what) {
  doomed = true;
  return Status::conflict(what);
}

Status Transaction::State::check_key(const Table* table, TableId id, const index::Key& key) const {
  NVMDB_CHECK(open, "a transaction was used after its end");
  if (table == nullptr) return Status::invalid_argument("no table has number " + std::to_string(id));
  if (key.count != table->spec.key_words) {
    return Status::invalid_argument("table " + table->spec.name + " has keys of " +
                                    std::to_string(table->spec.key_words) + " words, not " + std::to_string(key.count));
  }
  return Status::ok();
}

Transaction::State::WriteEntry* Transaction::State::own_write(const RecordHead* head) {
  const std::uint32_t place = write_places.find(head);
  return place == PointerTable::kNone ? nullptr : &writes[place];
}

Status Transaction::State::add_leaf(const index::LeafVersion& leaf) {
  const std::uint32_t place = leaf_places.find(leaf.leaf);
  if (place == PointerTable::kNone) {
    leaf_places.add(leaf.leaf, static_cast<std::uint32_t>(leaves.size()));
    leaves.push_back(leaf);
    return Status::ok();
  }
  return leaves[place].version == leaf.version ? Status::ok() : conflict("range changed");
}

/// One's own insertion changes leaves that were scanned before: go on with the new versions, if nobody else came
/// between.
Status Transaction::State::note_insertion(const index::Insertion& insertion) {
  const std::uint32_t place = leaf_places.find(insertion.before.leaf);
  if (place == PointerTable::kNone) return Status::ok();
  if (leaves[place].version != insertion.before.version) return conflict("range changed");
  leaves[place] = insertion.after;
  return insertion.split.leaf == nullptr ? Status::ok() : add_leaf(insertion.split);
}

Result<ByteSpan> Transaction::State::read_record(const RecordHead& head) {
  const RecordHead::Copy copy = head.read(arena);
  switch (copy.outcome) {
    case RecordHead::Outcome::Busy: return conflict("record is busy");
    case RecordHead::Outcome::NoMemory: return Status::overloaded("a transaction holds too much memory");
    case RecordHead::Outcome::Absent: reads.push_back({&head, copy.tid}); return Status::not_found("no such row");
    case RecordHead::Outcome::Row: break;
  }
  reads.push_back({&head, copy.tid});
  return copy.row;
}

/// Reads only whether the record is there.
Status Transaction::State::observe(const RecordHead& head, bool& absent) {
  for (SpinWait spin; spin.rounds() < 64; spin.wait()) {
    const wal::Tid tid = head.tid();
    if (tid.value == RecordHead::kDead) break;
    if (tid.locked()) continue;
    absent = tid.absent();
    reads.push_back({&head, tid});
    return Status::ok();
  }
  return conflict("record is busy");
}

Status Transaction::State::obtain_head(Table& table, const index::Key& key, RecordHead*& head, bool& created) {
  created = false;
  if (session.spare_head == nullptr) session.spare_head = session.memory.new_head();
  if (session.spare_head == nullptr) return session.memory.out_of_space();
  const index::Insertion insertion =
      table.index->insert(key, reinterpret_cast<std::uintptr_t>(session.spare_head), session.memory);
  switch (insertion.outcome) {
    case index::Insertion::Outcome::NoMemory: return session.memory.out_of_space();
    case index::Insertion::Outcome::Exists: head = reinterpret_cast<RecordHead*>(insertion.value); return Status::ok();
    case index::Insertion::Outcome::Inserted: break;
  }
  head = std::exchange(session.spare_head, nullptr);
  created = true;
  // A miss of this key that was read before is protected by the leaf; note_insertion() takes the leaf on to the version
  // that has the key. From here on the record stands for the miss: another transaction may commit into it first.
  reads.push_back({head, {wal::Tid::kAbsentBit}});
  if (Status status = note_insertion(insertion); !status.is_ok()) {
    session.queue_unlink(&table, head, key);
    return status;
  }
  return Status::ok();
}

Status Transaction::State::set_row(WriteEntry& write, ByteSpan row) {
  std::byte* copy = arena.allocate(row.empty() ? 8 : row.size());
  if (copy == nullptr) return Status::overloaded("a transaction holds too much memory");
  if (!row.empty()) std::memcpy(copy, row.data(), row.size());
  write.action = LogAction::Put;
  write.row = {copy, row.size()};
  return Status::ok();
}

Status Transaction::State::add_write(Table& table, const index::Key& key, RecordHead* head, bool created,
                                     LogAction action, ByteSpan row) {
  WriteEntry write{head, &table, key, action, created, {}, {}, {}};
  if (action == LogAction::Put) {
    if (Status status = set_row(write, row); !status.is_ok()) {
      if (created) session.queue_unlink(&table, head, key);
      return status;
    }
  }
  write_places.add(head, static_cast<std::uint32_t>(writes.size()));
  writes.push_back(write);
  return Status::ok();
}

Transaction::Transaction(Transaction&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Transaction::~Transaction() {
  if (state_ != nullptr && state_->open) state_->finish(false);
}

void Transaction::abort() {
  NVMDB_CHECK(state_ != nullptr && state_->open, "a transaction was ended twice");
  state_->finish(false);
}

Result<ByteSpan> Transaction::read(TableId table_id, const index::Key& key) {
  State& state = *state_;
  const Table* table = state.database.tables.find(table_id);
  NVMDB_TRY(state.check_key(table, table_id, key));
  const index::Lookup found = table->index->find(key);
  if (!found.found) {
    NVMDB_TRY(state.add_leaf(found.leaf));
    return Status::not_found("no such row");
  }
  const auto* head = reinterpret_cast<const RecordHead*>(found.value);
  if (const State::WriteEntry* own = state.own_write(head); own != nullptr) {
    if (own->action == LogAction::Erase) return Status::not_found("no such row");
    return own->row;
  }
  return state.read_record(*head);
}

namespace {
constexpr std::size_t kRowBytesMax = storage::HotPages::kBlockBytesMax - Tuple::kHeaderBytes;

Status check_row(ByteSpan row) {
  if (row.size() <= kRowBytesMax) return Status::ok();
  return Status::invalid_argument("a row of " + std::to_string(row.size()) + " bytes is longer than the limit of " +
                                  std::to_string(kRowBytesMax));
}
}  // namespace

Status Transaction::insert(TableId table_id, const index::Key& key, ByteSpan row) {
  State& state = *state_;
  Table* table = state.database.tables.find(table_id);
  NVMDB_TRY(state.check_key(table, table_id, key));
  NVMDB_TRY(check_row(row));
  RecordHead* head = nullptr;
  bool created = false;
  NVMDB_TRY(state.obtain_head(*table, key, head, created));
  if (State::WriteEntry* own = state.own_write(head); own != nullptr) {
    if (own->action == LogAction::Put) return Status::conflict("exists");
    return state.set_row(*own, row);
  }
  bool absent = true;
  if (!created) NVMDB_TRY(state.observe(*head, absent));
  if (!absent) return Status::conflict("exists");
  return state.add_write(*table, key, head, created, LogAction::Put, row);
}

Status Transaction::put(TableId table_id, const index::Key& key, ByteSpan row) {
  State& state = *state_;
  Table* table = state.database.tables.find(table_id);
  NVMDB_TRY(state.check_key(table, table_id, key));
  NVMDB_TRY(check_row(row));
  RecordHead* head = nullptr;
  bool created = false;
  NVMDB_TRY(state.obtain_head(*table, key, head, created));
  if (State::WriteEntry* own = state.own_write(head); own != nullptr) return state.set_row(*own, row);
  return state.add_write(*table, key, head, created, LogAction::Put, row);
}

Status Transaction::erase(TableId table_id, const index::Key& key) {
  State& state = *state_;
  Table* table = state.database.tables.find(table_id);
  NVMDB_TRY(state.check_key(table, table_id, key));
  const index::Lookup found = table->index->find(key);
  if (!found.found) {
    NVMDB_TRY(state.add_leaf(found.leaf));
    return Status::not_found("no such row");
  }
  auto* head = reinterpret_cast<RecordHead*>(found.value);
  if (State::WriteEntry* own = state.own_write(head); own != nullptr) {
    if (own->action == LogAction::Erase) return Status::not_found("no such row");
    own->action = LogAction::Erase;
    return Status::ok();
  }
  bool absent = false;
  NVMDB_TRY(state.observe(*head, absent));
  if (absent) return Status::not_found("no such row");
  return state.add_write(*table, key, head, false, LogAction::Erase, {});
}

Status Transaction::scan(TableId table_id, const index::Key& low, const index::Key& high,
                         const std::function<bool(const index::Key&, ByteSpan)>& visit, bool reverse) {
  State& state = *state_;
  const Table* table = state.database.tables.find(table_id);
  NVMDB_TRY(state.check_key(table, table_id, low));
  NVMDB_TRY(state.check_key(table, table_id, high));
  if (high < low) return Status::ok();
  index::LeafCopy& leaf = state.scanned;
  table->index->read_leaf(reverse ? high : low, reverse ? index::Seek::Backward : index::Seek::Forward, leaf);
  for (;;) {
    NVMDB_TRY(state.add_leaf(leaf.leaf));
    for (std::uint32_t i = 0; i < leaf.count; ++i) {
      const std::uint32_t entry = reverse ? leaf.count - 1 - i : i;
      const index::Key key = leaf.key(entry);
      if (reverse ? key < low : high < key) return Status::ok();
      const auto* head = reinterpret_cast<const RecordHead*>(leaf.values[entry]);
      if (const State::WriteEntry* own = state.own_write(head); own != nullptr) {
        if (own->action == LogAction::Put && !visit(key, own->row)) return Status::ok();
        continue;
      }
      const TransactionArena::Mark mark = state.arena.mark();
      const Result<ByteSpan> row = state.read_record(*head);
      if (row.is_ok()) {
        const bool more = visit(key, *row);
        state.arena.rewind(mark);
        if (!more) return Status::ok();
      } else if (row.status().code() != Code::NotFound) {
        return row.status();
      }
    }
    if (reverse ? !leaf.has_low || leaf.low <= low : !leaf.has_high || high < leaf.high) return Status::ok();
    const index::Key next = reverse ? leaf.low : leaf.high;
    table->index->read_leaf(next, reverse ? index::Seek::Below : index::Seek::Forward, leaf);
  }
}

Result<CommitReceipt> Transaction::commit() {
  NVMDB_CHECK(state_ != nullptr && state_->open, "a transaction was ended twice");
  State& state = *state_;
  if (state.doomed) {
    state.finish(false);
    return Status::conflict("doomed");
  }
  Result<CommitReceipt> result = state.writes.empty() ? state.commit_reads() : state.commit_writes();
  state.finish(result.is_ok());
  return result;
}

}  // namespace nvmdb::engine
