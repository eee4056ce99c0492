#pragma once

#include "engine/recovery_work.h"
#include "storage/base/result.h"
#include "wal/log.h"

namespace nvmdb::engine {

/// Redo: brings the tables from the checkpoint to the durable horizon of the log. Streams are read in parallel, in any
/// order. Applying a record twice changes nothing.
///
/// Adds to the database: recovery.records_applied.
/// Errors: InvalidArgument (a logged table is not declared, or with keys of another width), Corruption (a record that
///         makes no sense), OutOfSpace (the DRAM budget is too small for the index).
[[nodiscard]] Status redo(RecoveryWork& work, const wal::LogReader& log);

}  // namespace nvmdb::engine
