#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <thread>

#include "engine/transaction.h"
#include "tpcc/inputs.h"
#include "tpcc/schema.h"

/// Typed access to rows, for the transactions.
namespace nvmdb::tpcc {

[[nodiscard]] inline Status status_of(const Status& status) { return status; }
template <class T>
[[nodiscard]] Status status_of(const Result<T>& result) {
  return result.status();
}

/// For reads outside the mix: runs `read` again while a record is busy, which the checkpoint makes it for a moment, for
/// about a second at most.
template <class Read>
[[nodiscard]] auto read_patiently(const Read& read) -> decltype(read()) {
  constexpr int kAttemptsMax = 1000;
  for (int attempt = 1; attempt < kAttemptsMax; ++attempt) {
    auto result = read();
    if (status_of(result).code() != Code::Conflict) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return read();
}

/// The row of `key`. Errors: Corruption when it is not there: the transactions ask only for rows that must be.
template <class Row>
[[nodiscard]] Result<Row> read_row(engine::Transaction& transaction, Table table, const index::Key& key) {
  const Result<ByteSpan> bytes = transaction.read(table, key);
  if (bytes.status().code() == Code::NotFound) return Status::corruption("TPC-C row missing: " + key.to_string());
  if (!bytes.is_ok()) return bytes.status();
  return row_of<Row>(*bytes);
}

/// As read_row(), and where the row is, to patch it.
template <class Row>
[[nodiscard]] Status find_row(engine::Transaction& transaction, Table table, const index::Key& key,
                              engine::RecordRef& record, Row& row) {
  NVMDB_TRY(transaction.find(table, {&key, 1}, {&record, 1}));
  const Result<ByteSpan> bytes = transaction.read(record);
  if (bytes.status().code() == Code::NotFound) return Status::corruption("TPC-C row missing: " + key.to_string());
  if (!bytes.is_ok()) return bytes.status();
  row = row_of<Row>(*bytes);
  return Status::ok();
}

/// The number of the customer: for a choice by name, of the middle one of that name, by first names (position n / 2
/// rounded up). Source: clauses 2.5.2.2, 2.6.2.2.
[[nodiscard]] Result<std::uint32_t> find_customer(engine::Transaction& transaction, const CustomerChoice& choice);

}  // namespace nvmdb::tpcc
