#pragma once

#include <cstdint>

namespace nvmdb {

/// Time, behind a seam so that tests can jump it. Ordering and time-outs use monotonic_ns(); wall_seconds() is for people.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::uint64_t monotonic_ns() const = 0;
  /// Seconds since 1970-01-01T00:00:00Z.
  [[nodiscard]] virtual std::int64_t wall_seconds() const = 0;
};

/// The machine's clocks. Lives for the whole process; threads may share it.
[[nodiscard]] const Clock& system_clock();

}  // namespace nvmdb
