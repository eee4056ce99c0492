#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ingest/jobs/worker_process.h"
#include "storage/base/cancellation.h"

namespace nvmdb::ingest {

/// The workers of a server: each serves one job at a time and is replaced after kJobsMax, or when it is
/// suspect. Threads: any number.
class WorkerPool {
 public:
  static constexpr std::uint32_t kJobsMax = 100;

  /// Starts all and waits for their greetings. Errors: see WorkerProcess.
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>> start(const WorkerOptions& options,
                                                                 std::uint32_t count);

  /// A worker for one job. Ends the worker when destroyed without keep().
  class Lease {
   public:
    Lease(WorkerPool& pool, std::unique_ptr<WorkerProcess> worker)
        : pool_(&pool), worker_(std::move(worker)) {}
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    [[nodiscard]] WorkerProcess& worker() { return *worker_; }
    /// The worker may serve others after this one.
    void keep() { keep_ = true; }

   private:
    friend class WorkerPool;
    WorkerPool* pool_;
    std::unique_ptr<WorkerProcess> worker_;
    bool keep_ = false;
  };

  /// Waits for a free worker; with `fresh`, one that has served no job. Errors: Overloaded (too many wait
  /// already), DeadlineExceeded (cancelled), and those of starting a worker.
  [[nodiscard]] Result<Lease> acquire(bool fresh, const Cancellation* cancellation = nullptr);

  /// What protects the workers, in words.
  [[nodiscard]] const std::string& sandbox() const { return sandbox_; }
  [[nodiscard]] std::vector<pid_t> idle_pids() const;

 private:
  explicit WorkerPool(const WorkerOptions& options, std::uint32_t count) : options_(options), count_(count) {}
  std::unique_ptr<WorkerProcess> take_idle(bool fresh);
  void give_back(std::unique_ptr<WorkerProcess> worker, bool keep);

  const WorkerOptions options_;
  const std::uint32_t count_;
  std::string sandbox_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<WorkerProcess>> idle_;  ///< guarded by mutex_
  std::uint32_t leased_ = 0;                          ///< guarded by mutex_
  std::uint32_t waiting_ = 0;                         ///< guarded by mutex_
};

}  // namespace nvmdb::ingest
