#pragma once

#include <cstdint>

namespace nvmdb::storage {

/// Nanoseconds, and waiting for them, behind a seam so that tests can count instead of wait.
/// Threads: any number.
class TickClock {
 public:
  virtual ~TickClock() = default;
  [[nodiscard]] virtual std::uint64_t now_ns() const = 0;
  /// Returns at or after `deadline_ns`, at once when it has passed.
  virtual void wait_until(std::uint64_t deadline_ns) const = 0;
};

/// The processor's time-stamp counter, scaled once against the system's monotonic clock. Waits of up to a
/// microsecond spin; longer ones give the processor away between looks. Lives for the whole process.
[[nodiscard]] const TickClock& tsc_clock();

}  // namespace nvmdb::storage
