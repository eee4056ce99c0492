#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "storage/base/mutex.h"

namespace nvmdb::server {

/// Threads for requests that take long, so that short ones are never behind them. The queue is bounded.
/// Threads: any number may submit and withdraw.
class WorkPool {
 public:
  /// Number of a job in the queue. Set before the job can run; zero: none.
  using Ticket = std::atomic<std::uint64_t>;

  /// `begin` runs first in each thread, with its number.
  WorkPool(std::size_t threads, std::size_t queue_max, std::function<void(std::size_t)> begin = {});
  /// Runs what was accepted, then ends.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  /// False when the queue is full: `job` will not run.
  [[nodiscard]] bool submit(std::function<void()> job, Ticket* ticket = nullptr);
  /// Takes a job out of the queue: true when it will not run. False when it runs, has run, or there is none.
  [[nodiscard]] bool withdraw(const Ticket& ticket);

 private:
  struct Job {
    std::uint64_t number;
    std::function<void()> run;
  };
  void run(std::size_t thread);

  const std::size_t queue_max_;
  const std::function<void(std::size_t)> begin_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_ NVMDB_GUARDED_BY(mutex_);
  std::uint64_t last_number_ NVMDB_GUARDED_BY(mutex_) = 0;
  bool stopping_ NVMDB_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace nvmdb::server
