#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/result.h"
#include "wal/log_scan.h"

namespace nvmdb::wal {

/// What one group commit wrote: a stretch of LogScan::blocks after sort_blocks().
struct GroupFound {
  std::size_t first = 0;
  std::size_t count = 0;
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  std::uint64_t previous = 0;
  bool complete = false;  ///< all blocks of all its streams are there
};

struct LogChain {
  std::vector<GroupFound> groups;  ///< durable ones that no checkpoint covers, oldest first
  Epoch durable;
  Epoch highest_seen;
  std::uint64_t discarded_blocks = 0;
};

/// Orders blocks by session, epoch, stream, sequence.
void sort_blocks(std::vector<BlockFound>& blocks);

/// Follows the groups from the checkpoint on: each names the one before it. Where several sessions go on from
/// the same group, the last of them decides, because it had seen that the others' groups were not complete.
/// The chain ends where no complete group goes on. Groups with epochs <= `covered` are not looked at.
/// Errors: Corruption (a group that a later one builds on is damaged; region and offset are named).
[[nodiscard]] Result<LogChain> follow_chain(const std::vector<BlockFound>& sorted, Epoch covered);

}  // namespace nvmdb::wal
