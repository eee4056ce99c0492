#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/base/result.h"
#include "tpcc/plot.h"
#include "tpcc/trial.h"

namespace nvmdb::tpcc {

/// All configurations side by side: each point on a new pool, one after another in changing order, several rounds.
struct ComparisonOptions {
  TrialOptions trial;              ///< its pool is the directory for the pools on NVM; configuration and threads are not used
  std::filesystem::path ssd;       ///< directory for the pool of mmdb-ssd
  std::vector<std::uint32_t> threads{1, 2};
  std::uint32_t rounds = 3;
  bool one_warehouse_per_thread = false;  ///< instead of trial.warehouses
};

/// Medians over the rounds.
struct ComparisonPoint {
  Configuration configuration = Configuration::Nvmdb;
  std::uint32_t threads = 1;
  double tps = 0;
  double tps_min = 0;
  double tps_max = 0;
  double per_worker_cpu_second = 0;
  double per_cpu_second = 0;
  double latency_us_p50 = 0;
  double latency_us_p99 = 0;
  double log_bytes_per_transaction = 0;
  double checkpoint_bytes_per_transaction = 0;
  double stalled_seconds = 0;  ///< of all rounds: the machine's
};

struct Comparison {
  std::vector<ComparisonPoint> points;  ///< by threads, then configurations
  std::string device;
  std::string ssd_device;
  std::string model;  ///< of the NVM; empty: none
  std::uint32_t warehouses = 1;
  std::uint32_t rounds = 1;

  [[nodiscard]] const ComparisonPoint* find(Configuration configuration, std::uint32_t threads) const;
};

/// Errors: Corruption (a check failed; named), those of run_trial().
[[nodiscard]] Result<Comparison> compare(const ComparisonOptions& options);

[[nodiscard]] std::string comparison_text(const Comparison& comparison);
[[nodiscard]] std::string comparison_json(const Comparison& comparison);
/// Throughput over threads, and percent of nvmdb over each other configuration.
[[nodiscard]] std::vector<PlotPanel> comparison_panels(const Comparison& comparison);

}  // namespace nvmdb::tpcc
