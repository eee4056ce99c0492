#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "storage/base/result.h"
#include "storage/nvm/media.h"
#include "storage/page/page_allocator.h"
#include "wal/epoch.h"
#include "wal/epoch_clock.h"

namespace nvmdb::wal {

/// Bugs that crash tests plant to prove that they would be found. Never set elsewhere.
enum class PlantedBug : unsigned char {
  None,
  CopyWithoutFlush,        ///< blocks are stored through the cache and not flushed
  MissingFence,            ///< a group's blocks are not fenced
  AcknowledgeBeforeFence,  ///< the durable epoch advances before the group is written
};

struct LogOptions {
  std::uint32_t streams = 2;                    ///< log writers and NVM streams (1 to 64)
  std::uint64_t log_bytes_max = 256ULL << 20U;  ///< NVM that all segments together may take
  std::uint64_t block_bytes_max = 64ULL << 10U;
  /// DRAM of one appender's buffer, rounded up to a power of two. A record may take half of it.
  std::uint64_t ring_bytes = 1ULL << 20U;
  std::uint64_t epoch_interval_us = 1000;  ///< an epoch with records is closed at the latest after this time
  /// Runs first in the thread of each log writer: where its placement is set.
  std::function<void(std::uint32_t writer)> on_writer_start{};
  /// No log: records are thrown away, nothing is durable before the next checkpoint. For comparisons only.
  bool off = false;
  bool writer_threads = true;  ///< false: everything runs in the calling threads (deterministic tests)
  PlantedBug planted_bug = PlantedBug::None;
};

/// Takes the number of writers and the block size that the device likes, as far as the log's budget goes: each
/// stream needs two segments to be worth its while.
void fit_to_device(LogOptions& options, const storage::DeviceProfile& device);

struct LogStatistics {
  std::uint64_t records = 0;
  std::uint64_t payload_bytes = 0;  ///< of records
  std::uint64_t media_bytes = 0;    ///< written to NVM, with headers and padding
  std::uint64_t blocks = 0;
  std::uint64_t fences = 0;
  std::uint64_t epochs_closed = 0;
  std::uint64_t segments = 0;   ///< in use now
  std::uint64_t log_bytes = 0;  ///< NVM in use now
  std::uint64_t log_bytes_max = 0;
};

class LogReader;

/// The write-ahead log: per-thread DRAM rings -> one staging buffer per stream -> N log writers -> N NVM
/// streams.
///
/// Group commit: a record appended in a commit section of epoch e is durable when durable_epoch() >= e.
/// wait_durable() makes a lone caller the leader who closes the epoch and writes all streams itself, without
/// waiting for company; callers that come while a leader works are taken by the next one. Large groups are
/// handed to the writer threads. Threads: any number; one Appender per thread.
class Log {
 public:
  /// Per-thread handle. Bound to one stream for its life.
  class Appender;

  /// Starts a new session of the log after recovery. `recovered` is a reader opened on the same media since
  /// the last session ended; without one, start() opens its own. The first group of the session names the
  /// reader's horizon as the group before it, so what lies past the horizon is dead for good from then on.
  /// Segments of earlier sessions stay (they hold the only copy until release_through()) and count as used;
  /// the last one of a stream is continued behind its last block. Destroying the log writes nothing more:
  /// wait_durable() first. Appenders must be gone before it. Errors: InvalidArgument (options out of range;
  /// clock.current() not above the reader's highest_seen), Corruption
  ///         (as LogReader::open), IoError.
  [[nodiscard]] static Result<std::unique_ptr<Log>> start(storage::PoolMedia& media,
                                                          storage::PageAllocator& pages, EpochClock& clock,
                                                          const LogOptions& options,
                                                          const LogReader* recovered = nullptr);
  virtual ~Log() = default;

  /// Errors: Overloaded (too many threads).
  [[nodiscard]] virtual Result<std::unique_ptr<Appender>> new_appender() = 0;

  [[nodiscard]] virtual Epoch durable_epoch() const = 0;
  /// Returns when every record of an epoch <= `epoch` is durable. Must not be called inside a commit section.
  /// Errors: IoError: nothing of `epoch` is acknowledged, and the log takes no more records (sticky).
  ///         InvalidArgument (`epoch` is above the current one).
  [[nodiscard]] virtual Status wait_durable(Epoch epoch) = 0;

  /// Frees the segments all of whose groups have epochs <= `epoch`; returns how many. The checkpointer calls
  /// it after it has made kCheckpointEpochWord >= `epoch` durable. Spans of a LogReader into these segments
  /// are dead then. Errors: InvalidArgument (`epoch` is above kCheckpointEpochWord), IoError.
  [[nodiscard]] virtual Result<std::uint64_t> release_through(Epoch epoch) = 0;

  [[nodiscard]] virtual LogStatistics statistics() const = 0;
};

class Log::Appender {
 public:
  virtual ~Appender() = default;
  /// Makes room for one record of `payload_bytes`, in the ring and in the log space. May wait for the writers
  /// (back-pressure). Call before taking any lock.
  /// Errors: OutOfSpace (log full: budget and use are named), InvalidArgument (longer than a ring), IoError
  /// (sticky).
  [[nodiscard]] virtual Status reserve(std::size_t payload_bytes) = 0;
  /// Space for the payload just reserved; the caller fills all of it inside its commit section, then calls
  /// publish().
  [[nodiscard]] virtual std::byte* payload() = 0;
  /// Hands the filled record over. `tid`'s epoch is that of the commit section the caller is in. Cannot fail.
  virtual void publish(Tid tid) = 0;
  /// Gives the reservation back (the transaction aborted).
  virtual void cancel() = 0;
};

/// One record found in the log.
struct LogRecord {
  Tid tid;
  ByteSpan payload;
};

/// A segment found in the log: one NVM page.
struct LogSegmentFound {
  storage::PageId page;
  std::uint32_t stream = 0;
  std::uint32_t unit_bytes = 0;   ///< blocks are aligned to it
  std::uint64_t incarnation = 0;  ///< of the page; never repeats in a pool
  std::uint64_t sequence = 0;     ///< in the stream
  std::uint64_t used_bytes = 0;   ///< up to the end of its last valid block
  Epoch highest;                  ///< of its valid blocks
};

/// Reads the log of a pool that was not closed cleanly, or cleanly: same way.
class LogReader {
 public:
  struct Horizon {
    Epoch durable;       ///< last epoch of which all records, and those of all earlier epochs, are there
    Epoch highest_seen;  ///< highest epoch in any valid block; a new log starts above it
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t discarded_blocks = 0;  ///< valid blocks past the horizon
  };

  /// Analysis: reads all segments, checks every block, finds the durable horizon. Groups at or below
  /// kCheckpointEpochWord are taken as covered: they are not visited, and their blocks may be gone.
  /// Errors: Corruption (a damaged block with valid later blocks behind it in the same stream and below the
  /// horizon:
  ///         region and offset are named; a torn tail is no error).
  [[nodiscard]] static Result<std::unique_ptr<LogReader>> open(storage::PoolMedia& media,
                                                               const storage::PageAllocator& pages);
  virtual ~LogReader() = default;

  [[nodiscard]] virtual const Horizon& horizon() const = 0;
  [[nodiscard]] virtual std::uint32_t stream_count() const = 0;
  [[nodiscard]] virtual const std::vector<LogSegmentFound>& segments() const = 0;
  /// Pages of kind Log that never became a segment (the power failed in between); Log::start() frees them.
  [[nodiscard]] virtual const std::vector<storage::PageId>& abandoned_pages() const = 0;
  /// Visits each record of one stream with epoch <= horizon().durable, in stream order. Streams may be read
  /// in parallel. `visit` returns a failed Status to stop.
  [[nodiscard]] virtual Status for_each(std::uint32_t stream,
                                        const std::function<Status(const LogRecord&)>& visit) const = 0;
};

}  // namespace nvmdb::wal
