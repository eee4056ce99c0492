#pragma once

#include <sched.h>

#include <cstdint>

namespace nvmdb {

/// Back-off of a short wait for another thread: a few pauses, then the processor is given away, because on a full
/// machine the thread that is waited for may not be running.
/// Threads: one.
class SpinWait {
 public:
  void wait() {
    if (rounds_ < kPauseRounds) {
      for (std::uint32_t i = 0; i <= rounds_; ++i) __builtin_ia32_pause();
    } else {
      sched_yield();
    }
    ++rounds_;
  }
  [[nodiscard]] std::uint32_t rounds() const { return rounds_; }

 private:
  static constexpr std::uint32_t kPauseRounds = 16;
  std::uint32_t rounds_ = 0;
};

}  // namespace nvmdb
