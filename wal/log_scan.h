#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/result.h"
#include "storage/nvm/media.h"
#include "storage/page/page_allocator.h"
#include "wal/log.h"
#include "wal/log_format.h"

namespace nvmdb::wal {

/// A valid block of the log: what its header says, and where it is.
struct BlockFound {
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  std::uint64_t previous = 0;
  std::uint64_t sequence = 0;
  std::uint64_t streams = 0;
  std::uint64_t offset = 0;  ///< in the region
  std::uint32_t region = 0;
  std::uint32_t stream = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t group_blocks = 0;  ///< 0: not the last block of its part
};

struct LogScan {
  std::vector<LogSegmentFound> segments;
  std::vector<storage::PageId> abandoned;
  std::vector<BlockFound> blocks;
};

/// Reads all pages of kind Log and checks every block in them. Says nothing of groups.
/// `covered`: kCheckpointEpochWord.
/// Errors: Corruption (a page whose header is damaged, but not the blocks of uncovered epochs in it).
[[nodiscard]] Result<LogScan> scan_log(storage::PoolMedia& media, const storage::PageAllocator& pages,
                                       Epoch covered);

}  // namespace nvmdb::wal
