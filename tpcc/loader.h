#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/database.h"
#include "storage/base/result.h"
#include "tpcc/schema.h"

namespace nvmdb::tpcc {

struct LoadOptions {
  std::uint32_t warehouses = 1;
  std::uint32_t threads = 2;
  std::uint64_t seed = 1;  ///< the same seed gives the same rows, but for dates, whatever the number of threads
  /// Told of progress from any of the threads: tasks done, tasks in total.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// How the database was loaded; nothing when it was not, or not to the end. Errors: Corruption (unknown version).
[[nodiscard]] Result<std::optional<StateRow>> loaded_state(engine::Database& database);

/// Populates an empty database; durable when it returns. The state row is written last.
/// Errors: InvalidArgument (no warehouse, too many), Conflict (something is loaded), OutOfSpace.
/// Source: clause 4.3.3.1.
[[nodiscard]] Status load(engine::Database& database, const LoadOptions& options);

/// DRAM that `warehouses` take when loaded, roughly: for a budget.
[[nodiscard]] std::uint64_t estimated_dram_bytes(std::uint32_t warehouses);
/// Bytes of the rows of `warehouses` at load, keys and texts at their full sizes: what a file of them would take.
[[nodiscard]] std::uint64_t raw_bytes(std::uint32_t warehouses);
/// The same of an order with its lines that is not delivered.
[[nodiscard]] std::uint64_t raw_order_bytes(std::uint32_t lines);

}  // namespace nvmdb::tpcc
