#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/base/mutex.h"
#include "wal/flusher.h"
#include "wal/log.h"
#include "wal/log_counters.h"
#include "wal/log_space.h"
#include "wal/record_ring.h"
#include "wal/stream_writer.h"
#include "wal/writer_pool.h"

namespace nvmdb::wal {

/// The log at run time. Lock order: leader_, Stream::mutex; grow and space mutexes of LogSpace inside either.
class LogImpl final : public Log {
 public:
  /// What a session continues from.
  struct Origin {
    Epoch horizon;        ///< the group before this session's first one
    Epoch first_current;  ///< nothing of this session has an epoch below it
  };

  LogImpl(storage::PoolMedia& media, EpochClock& clock, const LogOptions& options,
          const LogSpace::Shape& shape, std::unique_ptr<LogCounters> counters,
          std::unique_ptr<LogSpace> space, const Origin& origin);
  ~LogImpl() override;

  [[nodiscard]] Result<std::unique_ptr<Appender>> new_appender() override;
  [[nodiscard]] Epoch durable_epoch() const override { return {durable_.load(std::memory_order_acquire)}; }
  [[nodiscard]] Status wait_durable(Epoch epoch) override;
  [[nodiscard]] Result<std::uint64_t> release_through(Epoch epoch) override;
  [[nodiscard]] LogStatistics statistics() const override;

  // For appenders.
  struct RingSlot {
    explicit RingSlot(std::uint64_t bytes) : ring(bytes) {}
    RecordRing ring;
    bool used = true;  ///< guarded by Stream::mutex
  };
  [[nodiscard]] LogSpace& space() { return *space_; }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] Status failure() const;
  /// Makes the log refuse everything from now on; the first failure is kept.
  void fail(const Status& status);
  /// Reserves in `ring`; while it is full, writes groups or waits for who does.
  [[nodiscard]] Status reserve_in(RecordRing& ring, std::uint64_t payload_bytes);
  void announce() {
    if (flusher_) flusher_->announce();
  }
  void return_slot(std::uint32_t stream, RingSlot& slot);

 private:
  struct Stream {
    Stream(storage::PoolMedia& media, LogSpace& space, LogCounters& counters, const LogSpace::Shape& shape,
           std::uint32_t index, PlantedBug bug)
        : writer(media, space, counters, shape, index, bug) {}
    mutable Mutex mutex;
    std::vector<std::unique_ptr<RingSlot>> slots NVMDB_GUARDED_BY(mutex);  ///< only grows
    std::vector<RecordRing*> rings;  ///< copy of slots; the leader's, as all below
    StreamWriter writer;
  };

  /// Until `done` (asked again after every group): leads a group commit, or waits for the one who leads.
  template <class Done>
  [[nodiscard]] Status drive(const Done& done);
  /// Closes the current epoch and makes all its records durable. The caller holds leader_.
  [[nodiscard]] Status close_group() NVMDB_REQUIRES(leader_);
  /// The streams with records of epochs <= `epoch`, as bits.
  [[nodiscard]] std::uint64_t find_streams(Epoch epoch);
  [[nodiscard]] Status write_group(const GroupLabel& label);
  void write_part(std::uint32_t stream, const GroupLabel& label);
  [[nodiscard]] std::uint64_t pending_bytes(std::uint32_t stream) const;
  [[nodiscard]] bool any_pending() const;
  void start_threads();

  EpochClock& clock_;
  storage::PoolMedia& media_;
  const LogOptions options_;
  const std::unique_ptr<LogCounters> counters_;
  const std::unique_ptr<LogSpace> space_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::atomic<std::uint32_t> appenders_made_{0};  ///< next stream, round robin

  Mutex leader_;
  Epoch previous_ NVMDB_GUARDED_BY(leader_);

  /// Stored with release after all fences of a group, loaded with acquire by who acknowledges.
  alignas(128) std::atomic<std::uint64_t> durable_;
  /// Raised after each group; who waits for a leader waits for it to change.
  std::atomic<std::uint32_t> generation_{0};

  alignas(128) std::atomic<bool> failed_{false};
  mutable Mutex failure_mutex_;
  Status failure_ NVMDB_GUARDED_BY(failure_mutex_);

  std::unique_ptr<WriterPool> writers_;
  std::unique_ptr<Flusher> flusher_;
};

}  // namespace nvmdb::wal
