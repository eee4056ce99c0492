#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/catalogue.h"
#include "engine/database.h"
#include "engine/field_store.h"
#include "engine/scrubber.h"
#include "ingest/ingestor.h"
#include "query/query_engine.h"
#include "storage/base/result.h"
#include "storage/device/modelled_media.h"
#include "storage/device/placement.h"
#include "storage/nvm/pool.h"

namespace nvmdb::server {

struct InstanceOptions {
  std::filesystem::path pool;
  bool create = false;
  std::uint64_t nvm_bytes = 4ULL << 30U;  ///< of a new pool
  std::uint64_t dram_bytes = 512ULL << 20U;
  std::string device_model{};  ///< name of a preset whose delays are added; empty: none
  std::uint64_t scrub_bytes_per_second = 0;  ///< of the background check of what is stored; 0: none
  storage::PlacementPolicy placement = storage::PlacementPolicy::None;
  std::size_t query_threads = 2;   ///< for slabs, listings and long series
  std::size_t ingest_threads = 4;  ///< files at once; more wait
  ingest::IngestorOptions ingest;
  query::QueryLimits limits;
  /// Told of recovery's progress: phase, done, total.
  std::function<void(const char* phase, std::uint64_t done, std::uint64_t total)> progress;
};

/// A pool opened with everything that works on it: the one assembly behind the server and the embedded
/// client. Threads: any number.
class Instance {
 public:
  /// Opens (or creates) the pool and recovers it. Errors: those of storage::Pool::open,
  /// engine::Database::open and engine::FieldStore::recover.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> open(const InstanceOptions& options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] storage::Pool& pool() const;
  /// What the engine works on: the pool, or the pool with a device model's delays.
  [[nodiscard]] storage::PoolMedia& media() const;
  /// The device model in use, or nullptr.
  [[nodiscard]] const storage::DeviceModel* device_model() const;
  [[nodiscard]] const storage::Placement& placement() const;
  [[nodiscard]] const InstanceOptions& options() const;
  [[nodiscard]] engine::Database& database() const;
  [[nodiscard]] engine::Catalogue& catalogue() const;
  [[nodiscard]] engine::FieldStore& fields() const;
  [[nodiscard]] const engine::Scrubber& scrubber() const;
  [[nodiscard]] query::QueryEngine& query() const;
  /// Starts the ingest workers with the first call; a failure to start is tried again with the next.
  [[nodiscard]] Result<ingest::Ingestor*> ingestor();

 private:
  struct State;
  explicit Instance(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::server
