#include "server/work_pool.h"

#include <utility>

namespace nvmdb::server {

WorkPool::WorkPool(std::size_t threads, std::size_t queue_max, std::function<void(std::size_t)> begin)
    : queue_max_(queue_max), begin_(std::move(begin)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

WorkPool::~WorkPool() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::submit(std::function<void()> job) {
  {
    const MutexLock lock(mutex_);
    if (stopping_ || jobs_.size() >= queue_max_) return false;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void WorkPool::run(std::size_t number) {
  if (begin_) begin_(number);
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace nvmdb::server
