#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalogue.h"
#include "engine/database.h"
#include "engine/field_store.h"
#include "ingest/ingestor.h"
#include "storage/nvm/pool.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::ingest {

/// A pool in a directory of its own, with the engine and workers that decode for it. Any failure to start
/// stops the test program.
class IngestPool {
 public:
  enum class Worker { Product, Crash };
  explicit IngestPool(Worker worker = Worker::Product, std::uint64_t nvm_bytes = 256ULL << 20U,
                      IngestorOptions options = {});

  [[nodiscard]] Ingestor& ingestor() { return *ingestor_; }
  [[nodiscard]] engine::FieldStore& store() { return *store_; }
  [[nodiscard]] Result<IngestReport> ingest(const std::filesystem::path& file,
                                            const IngestOptions& options = {}) {
    return ingestor_->ingest_file(file, options);
  }

  /// Fields that can be seen, in all runs. Checks the CRC of each; a failure is a test failure.
  [[nodiscard]] std::uint64_t verified_fields();
  /// Steps that can be seen, in all runs.
  [[nodiscard]] std::uint64_t visible_steps();
  [[nodiscard]] std::uint64_t run_count();
  [[nodiscard]] std::uint64_t free_pages() const { return database_->pages().free_pages(); }
  void drop_all();
  /// One value of a field of the only run with `model`; empty when there is no such field.
  [[nodiscard]] std::optional<float> value(const std::string& model, const std::string& short_name,
                                           std::int64_t step_end_seconds, std::uint64_t point);

 private:
  [[nodiscard]] std::vector<engine::ColumnKey> columns(const engine::Run& run);

  test::ScratchDirectory directory_;
  std::unique_ptr<storage::Pool> pool_;
  std::unique_ptr<engine::Database> database_;
  std::unique_ptr<engine::Catalogue> catalogue_;
  std::unique_ptr<engine::FieldStore> store_;
  std::unique_ptr<Ingestor> ingestor_;
};

}  // namespace nvmdb::ingest
