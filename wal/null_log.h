#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "storage/base/mutex.h"
#include "wal/flusher.h"
#include "wal/log.h"

namespace nvmdb::wal {

/// The log that is off: records are thrown away, and an epoch that was closed counts as durable, though it is
/// not. Epochs go on as with a log. Threads: as Log.
class NullLog final : public Log {
 public:
  NullLog(EpochClock& clock, const LogOptions& options);

  [[nodiscard]] Result<std::unique_ptr<Appender>> new_appender() override;
  [[nodiscard]] Epoch durable_epoch() const override { return {durable_.load(std::memory_order_acquire)}; }
  [[nodiscard]] Status wait_durable(Epoch epoch) override;
  [[nodiscard]] Result<std::uint64_t> release_through(Epoch /*epoch*/) override { return std::uint64_t{0}; }
  [[nodiscard]] LogStatistics statistics() const override;

  void announce() {
    fresh_.store(true, std::memory_order_seq_cst);
    if (flusher_) flusher_->announce();
  }

 private:
  EpochClock& clock_;
  const std::uint64_t ring_bytes_;
  Mutex mutex_;
  /// A record came since the last epoch was closed. seq_cst, as the flusher's pairing wants.
  std::atomic<bool> fresh_{false};
  std::atomic<std::uint64_t> epochs_closed_{0};  ///< relaxed: a count
  std::atomic<std::uint64_t> durable_;  ///< last epoch closed: stored with release, loaded with acquire
  std::unique_ptr<Flusher> flusher_;
};

}  // namespace nvmdb::wal
