#pragma once

#include <atomic>
#include <cstdint>

namespace nvmdb::wal {

/// Running totals of a log. Raised once per group or segment, never per record.
struct LogCounters {
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> payload_bytes{0};
  std::atomic<std::uint64_t> media_bytes{0};
  std::atomic<std::uint64_t> blocks{0};
  std::atomic<std::uint64_t> fences{0};
  std::atomic<std::uint64_t> epochs_closed{0};

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t count) {
    counter.fetch_add(count, std::memory_order_relaxed);
  }
  [[nodiscard]] static std::uint64_t read(const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  }
};

}  // namespace nvmdb::wal
