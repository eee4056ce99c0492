#include "tests/e2e/queries/stored_file.h"

#include <unistd.h>

#include <cstdlib>

namespace nvmdb::e2e {
namespace {

std::filesystem::path scratch_directory() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code error;
  const std::filesystem::path base =
      std::filesystem::is_directory(memory, error) ? memory : std::filesystem::temp_directory_path();
  std::string pattern = (base / "nvmdb-queries-XXXXXX").string();
  return mkdtemp(pattern.data()) != nullptr ? std::filesystem::path(pattern) : std::filesystem::path();
}

}  // namespace

std::optional<std::filesystem::path> shared_data() {
  if (const char* named = std::getenv("NVMDB_SHARED_DATA"); named != nullptr)
    return std::filesystem::path(named);
  for (std::filesystem::path at = NVMDB_SOURCE_DIR; at.has_relative_path(); at = at.parent_path()) {
    const std::filesystem::path candidate = at.parent_path() / "shared" / "data";
    std::error_code error;
    if (std::filesystem::is_directory(candidate, error)) return candidate;
  }
  return std::nullopt;
}

StoredFile::StoredFile(const std::filesystem::path& file) : directory_(scratch_directory()) {
  status_ = store(file);
}

StoredFile::~StoredFile() {
  queries_.reset();
  ingestor_.reset();
  fields_.reset();
  catalogue_.reset();
  database_.reset();
  pool_.reset();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

Status StoredFile::store(const std::filesystem::path& file) {
  setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 1);
  storage::PoolOptions options;
  options.create = true;
  options.nvm_bytes = 256ULL << 20U;
  NVMDB_ASSIGN(pool_, storage::Pool::open(directory_, options));
  engine::DatabaseOptions database_options;
  database_options.dram_bytes = 128ULL << 20U;
  NVMDB_ASSIGN(database_, engine::Database::open(*pool_, engine::Catalogue::tables(), database_options));
  catalogue_ = std::make_unique<engine::Catalogue>(*database_);
  fields_ = std::make_unique<engine::FieldStore>(*database_, *catalogue_);
  NVMDB_TRY(fields_->recover());
  ingest::IngestorOptions ingestor_options;
  ingestor_options.worker_binary = std::filesystem::path(NVMDB_BINARY_DIR) / "nvmdb-ingest-worker";
  // All files with several frames are shared out to the workers.
  ingestor_options.part_bytes_min = 1;
  ingestor_options.workers = 1;
  ingestor_options.allow_without_sandbox = true;
  NVMDB_ASSIGN(ingestor_, ingest::Ingestor::start(*fields_, ingestor_options));
  queries_ = std::make_unique<query::QueryEngine>(*fields_, query::QueryLimits{});
  NVMDB_ASSIGN(report_, ingestor_->ingest_file(file, {}));
  return list();
}

Status StoredFile::list() {
  NVMDB_ASSIGN(const auto runs, catalogue_->runs());
  for (const engine::Run& run : runs) {
    NVMDB_ASSIGN(const auto rows, catalogue_->inventory(run.id));
    for (const engine::InventoryRow& row : rows) {
      NVMDB_ASSIGN(const met::Parameter parameter, catalogue_->parameter(row.parameter));
      NVMDB_ASSIGN(std::string level_type, catalogue_->level_type(row.level_type));
      inventory_.push_back({run.key.reference_time, row, parameter.short_name, std::move(level_type)});
    }
  }
  return Status::ok();
}

}  // namespace nvmdb::e2e
