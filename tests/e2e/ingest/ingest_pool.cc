#include "tests/e2e/ingest/ingest_pool.h"

#include <gtest/gtest.h>

namespace nvmdb::ingest {
namespace {

template <class T>
T must(Result<T> result) {
  NVMDB_CHECK(result.is_ok(), result.status().to_string());
  return std::move(result).value();
}

}  // namespace

IngestPool::IngestPool(Worker worker, std::uint64_t nvm_bytes, IngestorOptions options) {
  pool_ = must(storage::Pool::open(directory_.path() / "pool",
                                   {.create = true, .nvm_bytes = nvm_bytes, .regions = 1}));
  engine::DatabaseOptions database_options;
  database_options.dram_bytes = 128ULL << 20U;
  database_options.log.log_bytes_max = nvm_bytes / 4;
  database_ = must(engine::Database::open(*pool_, engine::Catalogue::tables(), database_options));
  catalogue_ = std::make_unique<engine::Catalogue>(*database_);
  store_ = std::make_unique<engine::FieldStore>(*database_, *catalogue_);
  const Status recovered = store_->recover();
  NVMDB_CHECK(recovered.is_ok(), recovered.to_string());
  options.worker_binary = worker == Worker::Product ? NVMDB_BINARY_DIR "/nvmdb-ingest-worker"
                                                    : NVMDB_BINARY_DIR "/tests/ingest_crash_worker";
  ingestor_ = must(Ingestor::start(*store_, options));
}

std::vector<engine::ColumnKey> IngestPool::columns(const engine::Run& run) {
  std::vector<engine::ColumnKey> keys;
  for (const engine::InventoryRow& row : must(catalogue_->inventory(run.id))) {
    keys.push_back({run.id, row.member, row.parameter, row.level_type, row.level, row.bottom});
  }
  return keys;
}

std::uint64_t IngestPool::verified_fields() {
  const engine::ReadView view = must(store_->view());
  std::uint64_t count = 0;
  for (const engine::Run& run : must(catalogue_->runs())) {
    for (const engine::ColumnKey& key : columns(run)) {
      for (const engine::FieldRef& field : must(store_->column(view, key))->fields) {
        const Status status = store_->verify(view, field);
        EXPECT_TRUE(status.is_ok()) << status.to_string();
        ++count;
      }
    }
  }
  return count;
}

std::uint64_t IngestPool::run_count() {
  return must(catalogue_->runs()).size();
}

std::uint64_t IngestPool::visible_steps() {
  std::uint64_t count = 0;
  for (const engine::Run& run : must(catalogue_->runs())) count += must(catalogue_->steps(run.id)).size();
  return count;
}

void IngestPool::drop_all() {
  for (const engine::Run& run : must(catalogue_->runs())) {
    const Status status = store_->drop(run.id);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
}

std::optional<float> IngestPool::value(const std::string& model, const std::string& short_name,
                                       std::int64_t step_end_seconds, std::uint64_t point) {
  const engine::ReadView view = must(store_->view());
  for (const engine::Run& run : must(catalogue_->runs())) {
    if (run.key.model != model) continue;
    for (const engine::ColumnKey& key : columns(run)) {
      if (must(catalogue_->parameter(key.parameter)).short_name != short_name) continue;
      for (const engine::FieldRef& field : must(store_->column(view, key))->fields) {
        if (field.field.key.step.end_seconds == step_end_seconds) return field.decoder().at(point);
      }
    }
  }
  return std::nullopt;
}

}  // namespace nvmdb::ingest
