#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/result.h"
#include "storage/nvm/media.h"
#include "storage/page/page_allocator.h"
#include "wal/log.h"
#include "wal/log_counters.h"

namespace nvmdb::wal {

/// A segment that blocks are written to.
struct LogSegment {
  storage::PageId page;
  std::uint32_t stream = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t at = 0;  ///< next free byte in the page
  Epoch highest;         ///< label of the last group in it
};

/// The NVM of the log: segments, the budget, and the promise that what was accepted can be written.
///
/// Promise: an appender takes credit before it accepts a record, and segments for all credit are allocated
/// and prepared when it is taken. A record costs record_charge(); the first record of an appender in an epoch
/// costs group_charge() on top. Together they bound the blocks of any group, however records and groups fall:
/// per stream, `credit given out + free + (segments not full) * header <= bytes left in segments`.
/// Threads: any number. Lock order: grow_mutex_, mutex_.
class LogSpace {
 public:
  struct Shape {
    std::uint32_t streams = 1;
    std::uint32_t unit_bytes = 256;
    std::uint64_t block_bytes = 0;  ///< multiple of unit_bytes, at least two units
    std::uint64_t log_bytes_max = 0;
    std::uint64_t session = 0;
  };

  LogSpace(storage::PoolMedia& media, storage::PageAllocator& pages, LogCounters& counters,
           const Shape& shape);

  /// Takes over the segments of earlier sessions: continues the last one of each stream, keeps the others.
  /// What a process crash left in caches only is made durable: the groups that recovery counts on.
  /// Errors: IoError.
  [[nodiscard]] Status adopt(const LogReader& recovered);

  [[nodiscard]] std::uint64_t record_charge(std::uint64_t payload_bytes) const;
  [[nodiscard]] std::uint64_t group_charge() const;

  /// Takes at least `least` and at most `wanted` bytes of credit of `stream`. Allocates segments as needed.
  /// Errors: OutOfSpace (budget and use, or the pool's pages), IoError.
  [[nodiscard]] Result<std::uint64_t> take(std::uint32_t stream, std::uint64_t least, std::uint64_t wanted);
  void give_back(std::uint32_t stream, std::uint64_t bytes);

  /// A prepared segment of `stream` for its writer; there is one as long as the writer writes paid records.
  [[nodiscard]] LogSegment next_segment(std::uint32_t stream);
  /// The writer filled the segment.
  void seal(const LogSegment& segment);
  /// After a group: records had paid `charged`, their blocks took `used` and filled `sealed` segments.
  void settle(std::uint32_t stream, std::uint64_t charged, std::uint64_t used, std::uint64_t sealed);

  /// Frees sealed segments with no group above `epoch`. Errors: IoError.
  [[nodiscard]] Result<std::uint64_t> release_through(Epoch epoch);
  [[nodiscard]] std::uint64_t segment_count() const;

 private:
  struct Stream {
    std::uint64_t free = 0;  ///< bytes in segments that nobody took as credit
    std::uint64_t next_sequence = 0;
    std::deque<LogSegment> ready;
  };

  [[nodiscard]] bool try_take(std::uint32_t stream, std::uint64_t least, std::uint64_t& wanted);
  [[nodiscard]] Status add_segment(std::uint32_t stream) NVMDB_REQUIRES(grow_mutex_);
  [[nodiscard]] Status continue_segment(const LogSegmentFound& found);
  [[nodiscard]] Status write_header(storage::PageId page, std::uint32_t stream, std::uint64_t incarnation,
                                    std::uint64_t sequence);
  void add_ready(const LogSegment& segment) NVMDB_REQUIRES(mutex_);

  storage::PoolMedia& media_;
  storage::PageAllocator& pages_;
  LogCounters& counters_;
  const Shape shape_;
  const std::uint32_t checksum_seed_;

  Mutex grow_mutex_;
  std::uint64_t segments_prepared_ NVMDB_GUARDED_BY(grow_mutex_) = 0;  ///< in this session

  mutable Mutex mutex_;
  std::vector<Stream> streams_ NVMDB_GUARDED_BY(mutex_);
  std::vector<LogSegment> sealed_ NVMDB_GUARDED_BY(mutex_);
  std::uint64_t segment_count_ NVMDB_GUARDED_BY(mutex_) = 0;
};

}  // namespace nvmdb::wal
