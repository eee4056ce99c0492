#include "server/work_pool.h"

#include <algorithm>
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

bool WorkPool::submit(std::function<void()> job, Ticket* ticket) {
  {
    const MutexLock lock(mutex_);
    if (stopping_ || jobs_.size() >= queue_max_) return false;
    ++last_number_;
    // Under the lock: once the job has run, the ticket may be gone.
    if (ticket != nullptr) ticket->store(last_number_, std::memory_order_relaxed);
    jobs_.push_back({last_number_, std::move(job)});
  }
  wake_.notify_one();
  return true;
}

bool WorkPool::withdraw(const Ticket& ticket) {
  std::function<void()> withdrawn;
  const MutexLock lock(mutex_);
  const std::uint64_t number = ticket.load(std::memory_order_relaxed);
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.number == number; });
  if (number == 0 || found == jobs_.end()) return false;
  withdrawn = std::move(found->run);
  jobs_.erase(found);
  return true;
}

void WorkPool::run(std::size_t thread) {
  if (begin_) begin_(thread);
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front().run);
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace nvmdb::server
