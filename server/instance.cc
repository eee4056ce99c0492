#include "server/instance.h"

#include <algorithm>
#include <utility>

#include "storage/base/mutex.h"

namespace nvmdb::server {

// Declared in order of dependence: destroyed from the last to the first.
struct Instance::State {
  InstanceOptions options;
  std::unique_ptr<storage::Pool> pool;
  std::unique_ptr<engine::Database> database;
  std::unique_ptr<engine::Catalogue> catalogue;
  std::unique_ptr<engine::FieldStore> fields;
  std::unique_ptr<query::QueryEngine> query;
  Mutex mutex;
  std::unique_ptr<ingest::Ingestor> ingestor NVMDB_GUARDED_BY(mutex);
};

namespace {

engine::DatabaseOptions database_options(const InstanceOptions& options, storage::Pool& pool) {
  std::uint64_t nvm_bytes = 0;
  for (std::uint32_t i = 0; i < pool.region_count(); ++i) nvm_bytes += pool.region(i).size();
  engine::DatabaseOptions out;
  out.dram_bytes = options.dram_bytes;
  out.progress = options.progress;
  out.log.streams = std::max(1U, pool.device().best_log_writers);
  // One record holds the rows of a whole step, and takes half a ring at most: 29,000 fields.
  out.log.ring_bytes = 8ULL << 20U;
  // Fields are what a small pool is for: the log may take a quarter of it at most.
  out.log.log_bytes_max = std::min(out.log.log_bytes_max, nvm_bytes / 4);
  return out;
}

}  // namespace

Instance::Instance(std::unique_ptr<State> state) : state_(std::move(state)) {}
Instance::~Instance() = default;

Result<std::unique_ptr<Instance>> Instance::open(const InstanceOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  storage::PoolOptions pool_options;
  pool_options.create = options.create;
  pool_options.nvm_bytes = options.nvm_bytes;
  NVMDB_ASSIGN(state->pool, storage::Pool::open(options.pool, pool_options));
  NVMDB_ASSIGN(state->database, engine::Database::open(*state->pool, engine::Catalogue::tables(),
                                                       database_options(options, *state->pool)));
  state->catalogue = std::make_unique<engine::Catalogue>(*state->database);
  state->fields = std::make_unique<engine::FieldStore>(*state->database, *state->catalogue);
  NVMDB_TRY(state->fields->recover());
  state->query = std::make_unique<query::QueryEngine>(*state->fields, options.limits);
  return std::unique_ptr<Instance>(new Instance(std::move(state)));
}

storage::Pool& Instance::pool() const {
  return *state_->pool;
}
engine::Database& Instance::database() const {
  return *state_->database;
}
engine::Catalogue& Instance::catalogue() const {
  return *state_->catalogue;
}
engine::FieldStore& Instance::fields() const {
  return *state_->fields;
}
query::QueryEngine& Instance::query() const {
  return *state_->query;
}

Result<ingest::Ingestor*> Instance::ingestor() {
  const MutexLock lock(state_->mutex);
  if (state_->ingestor == nullptr) {
    NVMDB_ASSIGN(state_->ingestor, ingest::Ingestor::start(*state_->fields, state_->options.ingest));
  }
  return state_->ingestor.get();
}

}  // namespace nvmdb::server
