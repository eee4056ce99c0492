#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <thread>

#include "server/roster.h"
#include "storage/base/clock.h"
#include "storage/base/mutex.h"

namespace nvmdb::server {

/// Cancels calls whose client neither takes nor sends anything for too long: what they hold (answers, temporary files,
/// room in budgets) would be held for ever. Threads: any number.
class StallWatch {
 public:
  explicit StallWatch(std::uint64_t seconds_max);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  /// One direction of one call. Destroyed when the call is done.
  class Transfer {
   public:
    Transfer(StallWatch& watch, grpc::CallbackServerContext& call) : watch_(watch), call_(call) {
      // With more calls than the roster takes some are not watched; gRPC refuses so many before that.
      static_cast<void>(watch_.transfers_.add(this));
    }
    ~Transfer() { watch_.transfers_.remove(this); }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    /// A read or write was started: it is the client's turn.
    void waits() { since_ns_.store(system_clock().monotonic_ns(), std::memory_order_relaxed); }
    /// It ended.
    void moved() { since_ns_.store(0, std::memory_order_relaxed); }

   private:
    friend class StallWatch;
    StallWatch& watch_;
    grpc::CallbackServerContext& call_;
    std::atomic<std::uint64_t> since_ns_{0};  ///< relaxed: orders nothing; 0: it is the server's turn
  };

 private:
  void run();
  void cancel_stalled();

  static constexpr std::size_t kTransfersMax = 100'000;
  const std::uint64_t stall_ns_max_;
  Roster<Transfer> transfers_{kTransfersMax};
  Mutex mutex_;
  std::condition_variable_any ended_;
  bool ending_ NVMDB_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace nvmdb::server
