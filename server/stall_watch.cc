#include "server/stall_watch.h"

#include <chrono>
#include <mutex>

namespace nvmdb::server {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kLooksPerLimit = 8;

}  // namespace

StallWatch::StallWatch(std::uint64_t seconds_max)
    : stall_ns_max_(seconds_max * kNanosecondsPerSecond), thread_([this] { run(); }) {}

StallWatch::~StallWatch() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void StallWatch::run() {
  const std::chrono::nanoseconds pause(stall_ns_max_ / kLooksPerLimit);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, pause, [this]() NVMDB_REQUIRES(mutex_) { return ending_; })) {
    lock.unlock();
    cancel_stalled();
    lock.lock();
  }
}

void StallWatch::cancel_stalled() {
  const std::uint64_t now = system_clock().monotonic_ns();
  transfers_.for_each([&](Transfer& transfer) {
    const std::uint64_t since = transfer.since_ns_.load(std::memory_order_relaxed);
    if (since != 0 && now > since && now - since > stall_ns_max_) transfer.call_.TryCancel();
  });
}

}  // namespace nvmdb::server
