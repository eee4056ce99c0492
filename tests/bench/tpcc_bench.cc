// TPC-C: throughput for each second of processor time of the workers, what durability costs, latency, log, memory. Each
// round has every case once, on a new pool in /dev/shm.
//
// Usage: tpcc_bench [rounds, default 5] [seconds of each run, default 2]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "storage/page/page.h"
#include "tests/bench/bench_support.h"
#include "tpcc/loader.h"
#include "tpcc/trial.h"

namespace nvmdb::bench {
namespace {

struct Case {
  const char* name;
  std::uint32_t threads;
  std::uint32_t warehouses;
  tpcc::Configuration configuration = tpcc::Configuration::Nvmdb;
  bool log_off = false;
  double goal = 0;  ///< transactions for each second of a worker; 0: none
  std::vector<double> per_worker{}, per_cpu{}, p50{}, p99{}, log_bytes{}, dram_ratio{}, nvm_ratio{};
};

void run_case(Case& one, double seconds) {
  const std::filesystem::path pool = "/dev/shm/nvmdb-tpcc-bench-" + std::to_string(::getpid());
  tpcc::TrialOptions options;
  options.pool = pool;
  options.configuration = one.configuration;
  options.log_off = one.log_off;
  options.warehouses = one.warehouses;
  options.nvm_bytes = 1ULL << 30U;
  options.log_bytes = 256ULL << 20U;
  options.check = true;
  options.run.threads = one.threads;
  options.run.seconds = seconds;
  options.run.warmup_seconds = 0.5;
  const tpcc::TrialResult result = must(tpcc::run_trial(options));
  std::filesystem::remove_all(pool);
  NVMDB_CHECK(result.check->passed(), result.check->first_violation());
  const tpcc::RunResult& run = result.run;
  one.per_worker.push_back(run.per_worker_cpu_second());
  one.per_cpu.push_back(run.per_cpu_second());
  one.p50.push_back(static_cast<double>(run.latency.quantile_ns(0.5)) / 1000);
  one.p99.push_back(static_cast<double>(run.latency.quantile_ns(0.99)) / 1000);
  one.log_bytes.push_back(static_cast<double>(run.log_bytes) / static_cast<double>(run.committed()));
  const auto raw = static_cast<double>(tpcc::raw_bytes(one.warehouses) + run.grown_bytes);
  const auto nvm = (run.database.checkpoint.pages + run.database.checkpoint.overflow_pages) * storage::kPageBytes;
  one.dram_ratio.push_back(static_cast<double>(run.database.dram_bytes) / raw);
  one.nvm_ratio.push_back(static_cast<double>(nvm) / raw);
}

void print_case(const Case& one) {
  const double rate = median(one.per_worker);
  print_row(std::string(one.name) + ", per worker CPU second", text("%.0f", rate),
            text("%.0f with log and checkpoints", median(one.per_cpu)), one.goal > 0 ? text("%.0f", one.goal) : "-",
            rate >= one.goal);
  if (one.log_off) return;
  print_row(std::string(one.name) + ", commit latency p50 us", text("%.1f", median(one.p50)), "-", "200", median(one.p50) <= 200);
  print_row(std::string(one.name) + ", commit latency p99 us", text("%.1f", median(one.p99)), "-", "2000",
            median(one.p99) <= 2000);
}

/// Pairs of one round, so that what the machine does meanwhile falls out.
double median_ratio(const Case& a, const Case& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.per_cpu.size(); ++i) ratios.push_back(a.per_cpu[i] / b.per_cpu[i]);
  return median(ratios);
}

int run(int rounds, double seconds) {
  std::vector<Case> cases;
  cases.push_back({.name = "1 thread, 1 warehouse", .threads = 1, .warehouses = 1, .goal = 90'000});
  cases.push_back({.name = "2 threads, 2 warehouses", .threads = 2, .warehouses = 2, .goal = 85'000});
  cases.push_back({.name = "2 threads, 4 warehouses", .threads = 2, .warehouses = 4, .goal = 85'000});
  cases.push_back({.name = "1 thread, 1 warehouse, log off", .threads = 1, .warehouses = 1, .log_off = true});
  cases.push_back({.name = "1 thread, 1 warehouse, dram-only",
                   .threads = 1,
                   .warehouses = 1,
                   .configuration = tpcc::Configuration::DramOnly});
  print_machine("tpcc_bench: " + std::to_string(rounds) + " rounds of " + text("%.1f s", seconds));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      run_case(cases[(i + static_cast<std::size_t>(round)) % cases.size()], seconds);
    }
  }
  for (const Case& one : cases) print_case(one);
  const double durable = median_ratio(cases[0], cases[3]);
  print_row("durable over log off, all CPU", text("%.3f", durable), "-", "0.88", durable >= 0.88);
  const double placed = median_ratio(cases[0], cases[4]);
  print_row("nvmdb over dram-only, all CPU", text("%.3f", placed), "-", "0.90", placed >= 0.90);
  for (std::size_t i = 0; i < 3; ++i) {
    const Case& one = cases[i];
    print_row(std::string(one.name) + ", log bytes a transaction", text("%.0f", median(one.log_bytes)), "-", "650",
              median(one.log_bytes) <= 650);
    print_row(std::string(one.name) + ", DRAM over raw rows", text("%.2f", median(one.dram_ratio)), "-", "2",
              median(one.dram_ratio) <= 2);
    print_row(std::string(one.name) + ", NVM over raw rows", text("%.2f", median(one.nvm_ratio)), "-", "2",
              median(one.nvm_ratio) <= 2);
  }
  return 0;
}

}  // namespace
}  // namespace nvmdb::bench

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : nvmdb::bench::kRounds;
  const double seconds = count > 2 ? std::atof(arguments[2]) : 2;
  if (rounds < 1 || seconds <= 0) {
    std::fprintf(stderr, "usage: tpcc_bench [rounds] [seconds]\n");
    return 2;
  }
  return nvmdb::bench::run(rounds, seconds);
}
