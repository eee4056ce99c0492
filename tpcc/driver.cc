#include "tpcc/driver.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "tpcc/loader.h"
#include "tpcc/worker.h"

namespace nvmdb::tpcc {

namespace {

/// A worker's number is eight bits of the keys of HISTORY; the loader has the last one.
constexpr std::uint32_t kThreadsMax = 128;

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Sleeps, but not on after a worker has failed. Returns how long the machine stood still meanwhile: a thread that
/// only sleeps is not kept waiting by the database.
double sleep_seconds(double seconds, const std::atomic<bool>& failed) {
  constexpr std::uint64_t kSliceNs = 100'000'000;
  const std::uint64_t until = system_clock().monotonic_ns() + static_cast<std::uint64_t>(seconds * 1e9);
  std::uint64_t stalled = 0;
  for (std::uint64_t now = system_clock().monotonic_ns(); now < until && !failed.load(std::memory_order_relaxed);) {
    const std::uint64_t slice = std::min(until - now, kSliceNs);
    std::this_thread::sleep_for(std::chrono::nanoseconds(slice));
    const std::uint64_t woken = system_clock().monotonic_ns();
    if (woken - now > slice + kSliceNs) stalled += woken - now - slice;
    now = woken;
  }
  return static_cast<double>(stalled) * 1e-9;
}

Status check(const RunOptions& options) {
  if (options.threads == 0 || options.threads > kThreadsMax) {
    return Status::invalid_argument("TPC-C runs with 1 to " + std::to_string(kThreadsMax) + " threads, not " +
                                    std::to_string(options.threads));
  }
  const std::uint32_t sum = std::accumulate(options.weights.begin(), options.weights.end(), 0U);
  if (sum != 100) return Status::invalid_argument("the weights of the mix add up to " + std::to_string(sum) + ", not 100");
  return Status::ok();
}

}  // namespace

const char* kind_name(Kind kind) {
  static constexpr std::array<const char*, kKinds> kNames{"New-Order", "Payment", "Order-Status", "Delivery",
                                                          "Stock-Level"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::uint64_t RunResult::committed() const {
  std::uint64_t sum = 0;
  for (const KindResult& kind : kinds) sum += kind.committed;
  return sum;
}

double RunResult::worker_cpu() const {
  return std::accumulate(worker_cpu_seconds.begin(), worker_cpu_seconds.end(), 0.0);
}

Result<RunResult> run(engine::Database& database, const RunOptions& options) {
  NVMDB_TRY(check(options));
  NVMDB_ASSIGN(const std::optional<StateRow> state, loaded_state(database));
  if (!state) return Status::not_found("no TPC-C tables are loaded");
  SeededRandom random(options.seed);
  Worker::Shared shared{database, options, state->warehouses, NonUniformConstants::for_run(random, state->c_last)};
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < options.threads; ++i) workers.push_back(std::make_unique<Worker>(shared, i));
  std::vector<Status> statuses(options.threads);
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      statuses[i] = workers[i]->run();
      if (!statuses[i].is_ok()) failed.store(true, std::memory_order_relaxed);
    });
  }
  static_cast<void>(sleep_seconds(options.warmup_seconds, failed));
  const wal::LogStatistics log_before = database.statistics().log;
  const double cpu_before = process_cpu_seconds();
  const std::uint64_t begun = system_clock().monotonic_ns();
  shared.phase.store(Phase::Measure, std::memory_order_relaxed);
  RunResult result;
  result.stalled_seconds = sleep_seconds(options.seconds, failed);
  shared.phase.store(Phase::Stop, std::memory_order_relaxed);
  result.seconds = static_cast<double>(system_clock().monotonic_ns() - begun) * 1e-9;
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) NVMDB_TRY(status);
  result.process_cpu_seconds = process_cpu_seconds() - cpu_before;
  result.database = database.statistics();
  result.log_bytes = result.database.log.media_bytes - log_before.media_bytes;
  result.log_payload_bytes = result.database.log.payload_bytes - log_before.payload_bytes;
  result.fences = result.database.log.fences - log_before.fences;
  for (const auto& worker : workers) {
    for (std::size_t i = 0; i < kKinds; ++i) {
      const KindResult& from = worker->result().kinds[i];
      KindResult& to = result.kinds[i];
      to.committed += from.committed;
      to.rolled_back += from.rolled_back;
      to.conflicts += from.conflicts;
      to.skipped += from.skipped;
      to.latency.merge(from.latency);
    }
    result.latency.merge(worker->result().latency);
    result.grown_bytes += worker->grown_bytes();
    result.worker_cpu_seconds.push_back(worker->result().cpu_seconds);
  }
  return result;
}

}  // namespace nvmdb::tpcc
