#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <thread>

#include "storage/base/mutex.h"

namespace nvmdb::wal {

/// The background thread that closes an epoch when nobody waits for it: at the latest one interval after the
/// first pending record. While records come it looks once per interval; after an interval in which nothing
/// happened it sleeps until announce(). So a record costs a wake-up only when it is the first after a quiet
/// time.
///
/// Pairing: the flusher stores asleep_ and then looks for records, a producer stores its record and then
/// looks at asleep_, all seq_cst: one of the two sees the other.
class Flusher {
 public:
  struct Hooks {
    std::function<bool()> pending;            ///< is there any record not yet written?
    std::function<std::uint64_t()> activity;  ///< changes whenever a group was written
    std::function<bool()> flush;              ///< closes an epoch; false: the log has failed, end
  };

  Flusher(std::uint64_t interval_us, Hooks hooks);
  ~Flusher();
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  /// A record was just published (with seq_cst).
  void announce() {
    if (asleep_.load(std::memory_order_seq_cst) != 0) wake();
  }

 private:
  void wake();
  void run();
  void sleep_until_announced();
  /// False: stop.
  [[nodiscard]] bool sleep_one_interval();

  const std::uint64_t interval_us_;
  const Hooks hooks_;
  alignas(128) std::atomic<std::uint32_t> asleep_{0};
  Mutex mutex_;
  std::condition_variable stopping_;
  std::atomic<bool> stop_{false};  ///< stored under mutex_
  std::thread thread_;
};

}  // namespace nvmdb::wal
