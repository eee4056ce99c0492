#pragma once

#include <cstddef>
#include <span>

#include "engine/transaction.h"
#include "tpcc/inputs.h"
#include "tpcc/schema.h"

/// Typed access to rows, for the transactions.
namespace nvmdb::tpcc {

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
