#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace nvmdb {

/// Whether an answer is still wanted: until somebody cancels it, or its deadline passes. Long work asks between
/// pieces. Threads: any number.
class Cancellation {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  /// `deadline_ns`: of Clock::monotonic_ns().
  explicit Cancellation(std::uint64_t deadline_ns = kNever) : deadline_ns_(deadline_ns) {}
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// Errors: DeadlineExceeded.
  [[nodiscard]] Status check() const {
    if (cancelled_.load(std::memory_order_relaxed))
      return Status::deadline_exceeded("stopped: nobody waits for the answer any more");
    if (deadline_ns_ != kNever && system_clock().monotonic_ns() >= deadline_ns_)
      return Status::deadline_exceeded("stopped: the time allowed is over");
    return Status::ok();
  }
  [[nodiscard]] std::uint64_t deadline_ns() const { return deadline_ns_; }

 private:
  const std::uint64_t deadline_ns_;
  std::atomic<bool> cancelled_{false};  ///< relaxed: it orders nothing
};

/// Of work that nobody cancels (`cancellation` is nullptr): ok.
[[nodiscard]] inline Status still_wanted(const Cancellation* cancellation) {
  return cancellation == nullptr ? Status::ok() : cancellation->check();
}

}  // namespace nvmdb
