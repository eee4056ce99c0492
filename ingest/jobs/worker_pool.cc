#include "ingest/jobs/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace nvmdb::ingest {
namespace {

constexpr std::uint32_t kWaitingMax = 256;
/// How soon one that waits notices that it was cancelled.
constexpr std::chrono::milliseconds kPoll{25};

}  // namespace

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(const WorkerOptions& options, std::uint32_t count) {
  if (count == 0) return Status::invalid_argument("ingest needs at least one worker");
  auto pool = std::unique_ptr<WorkerPool>(new WorkerPool(options, count));
  for (std::uint32_t i = 0; i < count; ++i) {
    NVMDB_ASSIGN(std::unique_ptr<WorkerProcess> worker, WorkerProcess::spawn(options));
    pool->idle_.push_back(std::move(worker));
  }
  for (const std::unique_ptr<WorkerProcess>& worker : pool->idle_) NVMDB_TRY(worker->await_greeting());
  pool->sandbox_ = pool->idle_.front()->sandbox();
  return pool;
}

Result<WorkerPool::Lease> WorkerPool::acquire(bool fresh, const Cancellation* cancellation) {
  std::unique_ptr<WorkerProcess> worker;
  {
    std::unique_lock lock(mutex_);
    if (waiting_ >= kWaitingMax) {
      return Status::overloaded(std::to_string(waiting_) +
                                " files wait for an ingest worker; try again later");
    }
    ++waiting_;
    Status wanted = still_wanted(cancellation);
    while (leased_ >= count_ && wanted.is_ok()) {
      if (cancellation == nullptr) {
        freed_.wait(lock);
      } else {
        freed_.wait_for(lock, kPoll);
      }
      wanted = still_wanted(cancellation);
    }
    --waiting_;
    if (!wanted.is_ok()) {
      // The call that woke this one may have been meant for another.
      freed_.notify_one();
      return wanted;
    }
    ++leased_;
    worker = take_idle(fresh);
  }
  // From here on the lease gives the place back, also when no worker comes to fill it.
  Lease lease(*this, std::move(worker));
  if (lease.worker_ == nullptr || lease.worker_->has_ended()) {
    NVMDB_ASSIGN(lease.worker_, WorkerProcess::spawn(options_));
  }
  NVMDB_TRY(lease.worker_->await_greeting());
  return lease;
}

std::unique_ptr<WorkerProcess> WorkerPool::take_idle(bool fresh) {
  if (idle_.empty()) return nullptr;
  auto chosen = idle_.end() - 1;
  if (fresh) {
    const auto unused =
        std::find_if(idle_.begin(), idle_.end(), [](const auto& worker) { return worker->jobs() == 0; });
    if (unused != idle_.end()) chosen = unused;
  }
  std::unique_ptr<WorkerProcess> worker = std::move(*chosen);
  idle_.erase(chosen);
  if (fresh && worker->jobs() > 0) worker.reset();
  return worker;
}

void WorkerPool::give_back(std::unique_ptr<WorkerProcess> worker, bool keep) {
  if (worker == nullptr || !keep || worker->jobs() >= kJobsMax) {
    worker.reset();
    // The next one warms up while nobody waits for it; a failure shows when a job needs it.
    if (Result<std::unique_ptr<WorkerProcess>> next = WorkerProcess::spawn(options_); next.is_ok()) {
      worker = std::move(*next);
    }
  }
  const std::lock_guard lock(mutex_);
  if (worker != nullptr) idle_.push_back(std::move(worker));
  --leased_;
  freed_.notify_one();
}

std::vector<pid_t> WorkerPool::idle_pids() const {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> pids;
  for (const std::unique_ptr<WorkerProcess>& worker : idle_) pids.push_back(worker->pid());
  return pids;
}

WorkerPool::Lease::Lease(Lease&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), worker_(std::move(other.worker_)), keep_(other.keep_) {}

WorkerPool::Lease::~Lease() {
  if (pool_ != nullptr) pool_->give_back(std::move(worker_), keep_);
}

}  // namespace nvmdb::ingest
