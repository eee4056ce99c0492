#include "engine/transaction.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/session_state.h"
#include "storage/base/check.h"
#include "storage/base/spin.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {

namespace {
constexpr std::size_t kRowBytesMax = storage::HotPages::kBlockBytesMax - Tuple::kHeaderBytes;
/// Keys of one find() that are looked up side by side.
constexpr std::size_t kKeysAbreast = 16;
}  // namespace

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

Result<ByteSpan> Transaction::State::read_record(const RecordHead& head, std::size_t offset, std::size_t bytes) {
  const RecordHead::Copy copy = head.read(arena, offset, bytes);
  switch (copy.outcome) {
    case RecordHead::Outcome::Busy: return conflict("record is busy");
    case RecordHead::Outcome::NoMemory: return Status::overloaded("a transaction holds too much memory");
    case RecordHead::Outcome::Damaged: return storage::media_fault_status("a row");
    case RecordHead::Outcome::Absent: reads.push_back({&head, copy.tid}); return Status::not_found("no such row");
    case RecordHead::Outcome::Row: break;
  }
  reads.push_back({&head, copy.tid});
  return copy.row;
}

namespace {
/// Copies into `to`, which stands for the bytes from `to_offset` on, what it has in common with `from`.
void overlay(std::byte* to, std::size_t to_offset, std::size_t to_bytes, ByteSpan from, std::size_t from_offset) {
  const std::size_t begin = std::max(to_offset, from_offset);
  const std::size_t end = std::min(to_offset + to_bytes, from_offset + from.size());
  if (begin < end) std::memcpy(to + (begin - to_offset), from.data() + (begin - from_offset), end - begin);
}
}  // namespace

Result<ByteSpan> Transaction::State::read_part(const RecordHead& head, std::size_t offset, std::size_t bytes) {
  const WriteEntry* own = own_write(&head);
  if (own == nullptr) return read_record(head, offset, bytes);
  if (own->action == LogAction::Erase) return Status::not_found("no such row");
  if (own->action == LogAction::Put) {
    const std::size_t begin = std::min(offset, own->row.size());
    return own->row.subspan(begin, std::min(bytes, own->row.size() - begin));
  }
  NVMDB_ASSIGN(const ByteSpan row, read_record(head, offset, bytes));
  // The copy is in the arena and nobody else's.
  overlay(const_cast<std::byte*>(row.data()), offset, row.size(), own->row, own->offset);
  return row;
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

Status Transaction::State::set_bytes(WriteEntry& write, ByteSpan bytes) {
  std::byte* copy = arena.allocate(bytes.empty() ? 8 : bytes.size());
  if (copy == nullptr) return Status::overloaded("a transaction holds too much memory");
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  write.row = {copy, bytes.size()};
  return Status::ok();
}

Status Transaction::State::set_row(WriteEntry& write, ByteSpan row) {
  write.action = LogAction::Put;
  return set_bytes(write, row);
}

Status Transaction::State::patch(Table& table, const index::Key& key, RecordHead& head, std::size_t offset,
                                 ByteSpan bytes) {
  if (WriteEntry* own = own_write(&head); own != nullptr) return patch_again(*own, offset, bytes);
  if (bytes.empty() || offset > kRowBytesMax || bytes.size() > kRowBytesMax - offset) {
    return Status::invalid_argument("a patch of no bytes, or behind the longest row");
  }
  return add_write(table, key, &head, false, LogAction::Patch, bytes, static_cast<std::uint32_t>(offset));
}

/// The transaction has written the record before: one write remains, of all bytes from the first to the last.
Status Transaction::State::patch_again(WriteEntry& write, std::size_t offset, ByteSpan bytes) {
  if (write.action == LogAction::Erase) return Status::not_found("no such row");
  const std::size_t old_offset = write.action == LogAction::Put ? 0 : write.offset;
  const std::size_t old_end = old_offset + write.row.size();
  if (offset >= old_offset && offset + bytes.size() <= old_end) {
    overlay(const_cast<std::byte*>(write.row.data()), old_offset, write.row.size(), bytes, offset);
    return Status::ok();
  }
  if (write.action == LogAction::Put) return Status::invalid_argument("a patch behind the end of the row");
  const std::size_t begin = std::min(offset, old_offset);
  const std::size_t end = std::max(offset + bytes.size(), old_end);
  NVMDB_ASSIGN(const ByteSpan base, read_record(*write.head, begin, end - begin));
  if (base.size() != end - begin) return Status::invalid_argument("a patch behind the end of the row");
  auto* merged = const_cast<std::byte*>(base.data());
  overlay(merged, begin, base.size(), write.row, old_offset);
  overlay(merged, begin, base.size(), bytes, offset);
  write.row = base;
  write.offset = static_cast<std::uint32_t>(begin);
  return Status::ok();
}

Status Transaction::State::add_write(Table& table, const index::Key& key, RecordHead* head, bool created,
                                     LogAction action, ByteSpan row, std::uint32_t offset) {
  WriteEntry write{head, &table, key, action, created, {}, offset, {}, {}};
  if (action != LogAction::Erase) {
    if (Status status = set_bytes(write, row); !status.is_ok()) {
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

Result<CommitReceipt> Transaction::abort_checked() {
  NVMDB_CHECK(state_ != nullptr && state_->open, "a transaction was ended twice");
  Result<CommitReceipt> seen = state_->doomed ? state_->conflict("met a conflict") : state_->check_reads();
  state_->finish(false);
  return seen;
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
  return state.read_part(*head, 0, ~std::size_t{0});
}

Status Transaction::find(TableId table_id, std::span<const index::Key> keys, std::span<RecordRef> refs) {
  State& state = *state_;
  const Table* table = state.database.tables.find(table_id);
  NVMDB_CHECK(refs.size() == keys.size(), "as many records as keys");
  std::array<index::Lookup, kKeysAbreast> lookups;
  for (std::size_t first = 0; first < keys.size(); first += kKeysAbreast) {
    const std::size_t count = std::min(kKeysAbreast, keys.size() - first);
    const std::span<const index::Key> some = keys.subspan(first, count);
    for (const index::Key& key : some) NVMDB_TRY(state.check_key(table, table_id, key));
    table->index->find_all(some, {lookups.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      const index::Lookup& found = lookups[i];
      RecordRef& ref = refs[first + i];
      ref.head_ = found.found ? found.value : 0;
      ref.table_ = table_id;
      ref.key_ = some[i];
      if (found.found) {
        __builtin_prefetch(reinterpret_cast<const RecordHead*>(found.value));
      } else {
        NVMDB_TRY(state.add_leaf(found.leaf));
      }
    }
    if (count > 1) prefetch_rows(refs.subspan(first, count));
  }
  return Status::ok();
}

void Transaction::prefetch_rows(std::span<const RecordRef> refs) {
  for (const RecordRef& ref : refs) {
    if (!ref.found()) continue;
    const Tuple* tuple = reinterpret_cast<const RecordHead*>(ref.head_)->location().tuple();
    if (tuple != nullptr) tuple->prefetch();
  }
}

Result<ByteSpan> Transaction::read(const RecordRef& record, std::size_t offset, std::size_t bytes) {
  NVMDB_CHECK(state_->open, "a transaction was used after its end");
  if (!record.found()) return Status::not_found("no such row");
  return state_->read_part(*reinterpret_cast<RecordHead*>(record.head_), offset, bytes);
}

Status Transaction::patch(const RecordRef& record, std::size_t offset, ByteSpan bytes) {
  NVMDB_CHECK(state_->open, "a transaction was used after its end");
  if (!record.found()) return Status::not_found("no such row");
  return state_->patch(*state_->database.tables.find(record.table_), record.key_,
                       *reinterpret_cast<RecordHead*>(record.head_), offset, bytes);
}

namespace {
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
    if (own->action != LogAction::Erase) return Status::already_exists("a row with this key is there");
    return state.set_row(*own, row);
  }
  bool absent = true;
  if (!created) NVMDB_TRY(state.observe(*head, absent));
  if (!absent) return Status::already_exists("a row with this key is there");
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
      const TransactionArena::Mark mark = state.arena.mark();
      const Result<ByteSpan> row = state.read_part(*head, 0, ~std::size_t{0});
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
