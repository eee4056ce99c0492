#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/table.h"
#include "index/key.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"
#include "wal/epoch.h"

namespace nvmdb::engine {

class Session;

/// What a commit gives back: wait for `epoch` to become durable before telling anyone.
struct CommitReceipt {
  wal::Tid tid;
  wal::Epoch epoch;
};

/// A record that a transaction has found: spares further look-ups of its key. Valid until the transaction ends.
class RecordRef {
 public:
  RecordRef() = default;
  /// False: there is no such record (as far as the index knows; the row may also have been deleted).
  [[nodiscard]] bool found() const { return head_ != 0; }

 private:
  friend class Transaction;
  std::uintptr_t head_ = 0;
  TableId table_ = 0;
  index::Key key_;
};

/// A serializable transaction: optimistic, of the Silo family (read set, node set, write locks in a global order at
/// commit). Aborts when destroyed without commit(). Sees its own writes.
/// Threads: one. Scope: must end before its Session does; one at a time per Session.
/// Errors of commit(): Conflict (validation failed: run it again), OutOfSpace, Overloaded, IoError. Any method may
///         return Conflict early when it meets a record that another transaction holds.
class Transaction {
 public:
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// The row; the bytes are the transaction's own copy, valid until it ends. Errors: NotFound.
  [[nodiscard]] Result<ByteSpan> read(TableId table, const index::Key& key);
  /// Looks keys of one table up, all at the price of few: misses of the caches overlap. Keys that are not there are
  /// protected against phantoms.
  /// Shape:  refs[i] belongs to keys[i]; as many as keys.
  [[nodiscard]] Status find(TableId table, std::span<const index::Key> keys, std::span<RecordRef> refs);
  /// `bytes` bytes of the row from `offset` on, fewer when the row ends before. As read(table, key).
  [[nodiscard]] Result<ByteSpan> read(const RecordRef& record, std::size_t offset = 0, std::size_t bytes = ~0ULL);
  /// Replaces bytes of a row, and logs only these. The row must be at least offset + bytes.size() long, else commit()
  /// gives Conflict, as it does when the row is gone. Errors: NotFound (not found, or deleted in this transaction).
  [[nodiscard]] Status patch(const RecordRef& record, std::size_t offset, ByteSpan bytes);
  /// Errors: AlreadyExists.
  [[nodiscard]] Status insert(TableId table, const index::Key& key, ByteSpan row);
  /// Inserts or replaces.
  [[nodiscard]] Status put(TableId table, const index::Key& key, ByteSpan row);
  /// Errors: NotFound.
  [[nodiscard]] Status erase(TableId table, const index::Key& key);
  /// Visits rows with low <= key <= high in key order (`reverse`: from high to low) until `visit` returns false.
  /// Protected against phantoms up to where it stopped. `visit` must not use the transaction.
  [[nodiscard]] Status scan(TableId table, const index::Key& low, const index::Key& high,
                            const std::function<bool(const index::Key&, ByteSpan)>& visit, bool reverse = false);

  /// Makes all writes visible at once, or none. Visible is not durable: see Database::wait_durable().
  [[nodiscard]] Result<CommitReceipt> commit();
  void abort();
  /// abort(), after what was read has been checked as commit() checks it: for who has decided on its reads that it can
  /// only say no. The answer may be given when the receipt is durable. Errors: Conflict (run it again).
  [[nodiscard]] Result<CommitReceipt> abort_checked();

  struct State;

 private:
  friend class Session;
  /// Fetches the first lines of rows whose heads are on the way.
  static void prefetch_rows(std::span<const RecordRef> refs);
  explicit Transaction(State* state) : state_(state) {}
  State* state_;
};

}  // namespace nvmdb::engine
