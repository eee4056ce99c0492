#include "server/instance.h"

#include <algorithm>
#include <utility>

#include "storage/base/fail_point.h"
#include "storage/base/mutex.h"
#include "storage/page/page.h"

namespace nvmdb::server {

// Declared in order of dependence: destroyed from the last to the first.
struct Instance::State {
  InstanceOptions options;
  std::unique_ptr<storage::Pool> pool;
  std::unique_ptr<storage::ModelledMedia> modelled;
  storage::Placement placement;
  std::unique_ptr<engine::Database> database;
  std::unique_ptr<engine::Catalogue> catalogue;
  std::unique_ptr<engine::FieldStore> fields;
  std::unique_ptr<engine::Scrubber> scrubber;
  std::unique_ptr<query::QueryEngine> query;
  Mutex mutex;
  std::unique_ptr<ingest::Ingestor> ingestor NVMDB_GUARDED_BY(mutex);

  [[nodiscard]] storage::PoolMedia& media() const {
    if (modelled != nullptr) return *modelled;
    return *pool;
  }
};

namespace {

engine::DatabaseOptions database_options(const InstanceOptions& options, storage::PoolMedia& media) {
  std::uint64_t nvm_bytes = 0;
  for (std::uint32_t i = 0; i < media.region_count(); ++i) nvm_bytes += media.region(i).size();
  engine::DatabaseOptions out;
  out.dram_bytes = options.dram_bytes;
  out.progress = options.progress;
  // One record holds the rows of a whole step, and takes half a ring at most: 29,000 fields.
  out.log.ring_bytes = 8ULL << 20U;
  // Fields are what a small pool is for: the log may take a quarter of it at most.
  out.log.log_bytes_max = std::min(out.log.log_bytes_max, nvm_bytes / 4);
  wal::fit_to_device(out.log, media.device());
  return out;
}

/// Log writers go near the node that holds the first region, where the log begins.
Result<storage::Placement> place_threads(const InstanceOptions& options, std::size_t log_writers,
                                         const storage::Door& region) {
  NVMDB_ASSIGN(const auto topology, storage::Topology::machine());
  return storage::Placement::plan(topology, options.placement, topology->node_of(region.data(), storage::kPageBytes),
                                  {log_writers, options.query_threads, options.ingest_threads});
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
  if (!options.device_model.empty()) {
    NVMDB_ASSIGN(const storage::DevicePreset preset, storage::find_preset(options.device_model));
    NVMDB_ASSIGN(state->modelled, storage::ModelledMedia::start(*state->pool, preset));
  }
  storage::PoolMedia& media = state->media();
  engine::DatabaseOptions database = database_options(options, media);
  NVMDB_ASSIGN(state->placement, place_threads(options, database.log.streams, media.region(0)));
  database.log.on_writer_start = [&placement = state->placement](std::uint32_t writer) {
    // Where it cannot be bound a writer works as well, only perhaps farther away; `info` shows the plan.
    (void)placement.bind_this_thread(storage::ThreadRole::LogWriter, writer);
  };
  NVMDB_ASSIGN(state->database, engine::Database::open(media, engine::Catalogue::tables(), database));
  state->catalogue = std::make_unique<engine::Catalogue>(*state->database);
  state->fields = std::make_unique<engine::FieldStore>(*state->database, *state->catalogue);
  NVMDB_FAIL_POINT_TRY("server.recover");
  NVMDB_TRY(state->fields->recover());
  state->scrubber = std::make_unique<engine::Scrubber>(*state->fields, options.scrub_bytes_per_second);
  state->scrubber->start();
  state->query = std::make_unique<query::QueryEngine>(*state->fields, options.limits);
  return std::unique_ptr<Instance>(new Instance(std::move(state)));
}

storage::Pool& Instance::pool() const {
  return *state_->pool;
}
storage::PoolMedia& Instance::media() const {
  return state_->media();
}
const storage::DeviceModel* Instance::device_model() const {
  return state_->modelled == nullptr ? nullptr : &state_->modelled->model();
}
const storage::Placement& Instance::placement() const {
  return state_->placement;
}
const InstanceOptions& Instance::options() const {
  return state_->options;
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
const engine::Scrubber& Instance::scrubber() const {
  return *state_->scrubber;
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
