#pragma once

#include <cstdint>

#include "engine/database_state.h"
#include "storage/base/result.h"
#include "wal/log.h"

namespace nvmdb::engine {

/// Redo: brings the tables to the durable horizon of the log. Streams are read in parallel, in any order: of several
/// versions of a record the one with the newest Tid stays, deletions included. Tables must be empty or come from an
/// earlier redo of the same log: applying a record twice changes nothing.
///
/// Adds to `database`: rows, recovered_rows, recovery.records_applied.
/// Errors: InvalidArgument (a logged table is not declared, or with keys of another width), Corruption (a record that
///         makes no sense), OutOfSpace (the DRAM budget is too small for the tables).
[[nodiscard]] Status redo(Database::State& database, const wal::LogReader& log);

}  // namespace nvmdb::engine
