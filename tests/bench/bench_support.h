#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/field_store.h"
#include "storage/base/result.h"
#include "storage/nvm/pool.h"

namespace nvmdb::bench {

inline constexpr int kRounds = 5;

/// Seconds that one call takes.
[[nodiscard]] double seconds_of(const std::function<void()>& call);
[[nodiscard]] double median(std::vector<double> values);
[[nodiscard]] double percentile(std::vector<double> values, double p);

/// One number in printf format.
[[nodiscard]] std::string text(const char* format, double value);
/// Prints the machine, the build and what identifies the configuration of the run.
void print_machine(const std::string& configuration);
/// One row of a result: what, measured, limit it stands beside, ratio, goal, reached or missed.
void print_row(const std::string& what, const std::string& measured, const std::string& beside,
               const std::string& goal, bool reached);

/// Bytes per second that this machine copies memory at, from and to buffers larger than its caches.
[[nodiscard]] double memcpy_bandwidth();
/// Touches memory and gives it back to the kernel. A virtual machine may get memory that it never used from its host at
/// a quarter of a GB/s only; that would be measured as the program's, while memcpy_bandwidth() is that of touched buffers.
void touch_free_memory();

/// A pool that is removed again, with the engine on it.
class BenchPool {
 public:
  /// `parent`: "/dev/shm" or a folder on a disk. Stops the process when the pool cannot be made.
  BenchPool(const std::filesystem::path& parent, std::uint64_t nvm_bytes);
  ~BenchPool();
  BenchPool(const BenchPool&) = delete;
  BenchPool& operator=(const BenchPool&) = delete;

  [[nodiscard]] engine::FieldStore& store() { return *store_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  std::unique_ptr<storage::Pool> pool_;
  std::unique_ptr<engine::Database> database_;
  std::unique_ptr<engine::Catalogue> catalogue_;
  std::unique_ptr<engine::FieldStore> store_;
};

/// A pool in /dev/shm that is removed again, for one table of rows with keys of one word.
class EnginePool {
 public:
  static constexpr engine::TableId kTable = 1;

  /// `name`: another one for each pool that is there at the same time.
  explicit EnginePool(std::uint64_t nvm_bytes, const std::string& name = "rows");
  ~EnginePool();
  EnginePool(const EnginePool&) = delete;
  EnginePool& operator=(const EnginePool&) = delete;
  /// Opens the database on it, which must be closed before the pool goes.
  [[nodiscard]] std::unique_ptr<engine::Database> open(const engine::DatabaseOptions& options);

 private:
  std::filesystem::path directory_;
  std::unique_ptr<storage::Pool> pool_;
};

/// Takes a value, or stops the process with the reason.
template <class T>
[[nodiscard]] T must(Result<T> result) {
  NVMDB_CHECK(result.is_ok(), result.status().to_string());
  return std::move(result).value();
}
void must(const Status& status);

/// Stores `steps` float32 fields of parameter `name`, one an hour, on a global grid of `cells` points a degree.
void store_global_run(engine::FieldStore& store, const std::string& name, int steps, std::uint32_t cells = 4);

}  // namespace nvmdb::bench
