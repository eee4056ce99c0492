#include "wal/null_log.h"

#include <string>

#include "storage/base/bytes.h"

namespace nvmdb::wal {
namespace {

/// Payloads go to a buffer that the next one overwrites, so that building a record costs what it costs.
class NullAppender final : public Log::Appender {
 public:
  NullAppender(NullLog& log, std::uint64_t longest) : log_(log), longest_(longest) {}

  [[nodiscard]] Status reserve(std::size_t payload_bytes) override {
    if (payload_bytes > longest_) {
      return Status::invalid_argument("log record of " + std::to_string(payload_bytes) + " bytes, at most " +
                                      std::to_string(longest_) + " fit");
    }
    if (buffer_.size() < payload_bytes) buffer_.resize(payload_bytes);
    return Status::ok();
  }
  [[nodiscard]] std::byte* payload() override { return buffer_.data(); }
  void publish(Tid /*tid*/) override { log_.announce(); }
  void cancel() override {}

 private:
  NullLog& log_;
  const std::uint64_t longest_;
  Bytes buffer_ = Bytes(4096);
};

}  // namespace

NullLog::NullLog(EpochClock& clock, const LogOptions& options) 
    : clock_(clock), ring_bytes_(options.ring_bytes), durable_(clock.current().value - 1) {
  if (!options.writer_threads) return;
  flusher_ = std::make_unique<Flusher>(
      options.epoch_interval_us,
      Flusher::Hooks{.pending = [this] { return fresh_.load(std::memory_order_seq_cst); },
                     .activity = [this] { return epochs_closed_.load(std::memory_order_relaxed); },
                     .flush = [this] { return wait_durable(clock_.current()).is_ok(); }});
}

Result<std::unique_ptr<Log::Appender>> NullLog::new_appender() {
  return std::unique_ptr<Appender>(std::make_unique<NullAppender>(*this, ring_bytes_ / 2));
}

Status NullLog::wait_durable(Epoch epoch) {
  const MutexLock lock(mutex_);
  if (epoch > clock_.current()) {
    return Status::invalid_argument("wait for epoch " + std::to_string(epoch.value) + ", but the current one is " +
                                    std::to_string(clock_.current().value));
  }
  if (epoch < clock_.current()) return Status::ok();
  fresh_.store(false, std::memory_order_seq_cst);
  durable_.store(clock_.close_current().value, std::memory_order_release);
  epochs_closed_.fetch_add(1, std::memory_order_relaxed);
  return Status::ok();
}

LogStatistics NullLog::statistics() const {
  return {.epochs_closed = epochs_closed_.load(std::memory_order_relaxed)};
}

}  // namespace nvmdb::wal
