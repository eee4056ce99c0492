#pragma once

#include "engine/recovery_work.h"
#include "storage/base/result.h"

namespace nvmdb::engine {

/// Reads all checkpoint pages in parallel, verifies every tuple, and builds index and record heads: of several copies of a
/// record the one with the newest Tid stays. Rows stay where they are: the index addresses them. Frees overflow pages,
/// whose tuples were never durable. `durable`: the log's horizon, above which no tuple can be.
///
/// Adds to the database: recovery.checkpoint_tuples, recovery.checkpoint_bytes.
/// Errors: Corruption (page, slot or tuple that does not check: region and offset are named), InvalidArgument (unknown
///         table), OutOfSpace (the DRAM budget is too small for the index).
[[nodiscard]] Status scan_checkpoint(RecoveryWork& work, wal::Epoch durable);

}  // namespace nvmdb::engine
