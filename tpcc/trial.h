#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/database.h"
#include "storage/base/result.h"
#include "storage/device/modelled_media.h"
#include "storage/nvm/pool.h"
#include "tpcc/configuration.h"
#include "tpcc/consistency.h"
#include "tpcc/driver.h"

namespace nvmdb::tpcc {

/// A benchmark on a pool: what to make of it, and what to run.
struct TrialOptions {
  Configuration configuration = Configuration::Nvmdb;
  std::string device_model;  ///< a preset whose delays the pool's memory gets; empty: none
  bool log_off = false;      ///< nothing is durable before the next checkpoint: what durability costs
  std::filesystem::path pool;
  std::uint32_t warehouses = 1;  ///< of a pool that is not loaded yet
  std::uint64_t nvm_bytes = 4ULL << 30U;
  std::uint64_t dram_bytes = 4ULL << 30U;
  std::uint64_t log_bytes = 512ULL << 20U;
  bool check = false;
  RunOptions run;
  /// Told what begins, in words.
  std::function<void(const char* what)> told;
};

struct TrialResult {
  std::uint32_t warehouses = 0;
  double load_seconds = 0;  ///< 0: it was loaded before
  std::string device;       ///< what the pool is on, in words; says when a model is used
  engine::DatabaseStatistics loaded;  ///< before the run
  RunResult run;
  std::optional<CheckResult> check;
};

/// A pool with the engine on it and TPC-C's tables known.
class TrialDatabase {
 public:
  /// Errors: InvalidArgument (device model), those of Pool::open() and Database::open().
  [[nodiscard]] static Result<std::unique_ptr<TrialDatabase>> open(const TrialOptions& options);
  [[nodiscard]] engine::Database& database() { return *database_; }
  [[nodiscard]] const storage::DeviceProfile& device() const;

 private:
  [[nodiscard]] Result<storage::PoolMedia*> open_media(const TrialOptions& options);

  std::unique_ptr<storage::Pool> pool_;
  std::unique_ptr<SyncedMedia> synced_;
  std::unique_ptr<storage::ModelledMedia> modelled_;
  std::unique_ptr<engine::Database> database_;
};

/// Opens or creates the pool, loads it when it is empty, runs the mix, and checks when asked.
/// Errors: Conflict (loaded with another number of warehouses), those of the engine.
[[nodiscard]] Result<TrialResult> run_trial(const TrialOptions& options);

/// What a loop of kills saw.
struct KillReport {
  std::uint32_t kills = 0;
  std::uint64_t acknowledged = 0;   ///< journal entries, all of them found again
};

/// Runs the benchmark in a child process and kills it at a random moment, `kills` times; after each kill recovers and
/// checks all conditions and the journal. Must be called before the process has other threads.
/// Errors: Corruption (a condition is violated; named), IoError (no child), those of the child (named).
[[nodiscard]] Result<KillReport> run_kill_loop(const TrialOptions& options, std::uint32_t kills);

}  // namespace nvmdb::tpcc
