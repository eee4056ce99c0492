#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "storage/base/mutex.h"

namespace nvmdb::server {

/// Threads for requests that take long, so that short ones are never behind them. The queue is bounded.
/// Threads: any number may submit.
class WorkPool {
 public:
  /// `begin` runs first in each thread, with its number.
  WorkPool(std::size_t threads, std::size_t queue_max, std::function<void(std::size_t)> begin = {});
  /// Runs what was accepted, then ends.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// False when the queue is full: `job` will not run.
  [[nodiscard]] bool submit(std::function<void()> job);

 private:
  void run(std::size_t number);

  const std::size_t queue_max_;
  const std::function<void(std::size_t)> begin_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> jobs_ NVMDB_GUARDED_BY(mutex_);
  bool stopping_ NVMDB_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace nvmdb::server
