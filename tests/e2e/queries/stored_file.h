#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/database.h"
#include "engine/field_store.h"
#include "ingest/ingestor.h"
#include "query/query_engine.h"
#include "storage/nvm/pool.h"

namespace nvmdb::e2e {

/// Where the given files and what reference tools say of them are: NVMDB_SHARED_DATA, else `shared/data`
/// beside the sources or their parents. Empty when they are not there.
[[nodiscard]] std::optional<std::filesystem::path> shared_data();

/// One file ingested into a new pool of its own, in memory where the system has such a directory.
class StoredFile {
 public:
  explicit StoredFile(const std::filesystem::path& file);
  ~StoredFile();
  StoredFile(const StoredFile&) = delete;
  StoredFile& operator=(const StoredFile&) = delete;

  /// Ok when the file was taken, in part or whole.
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] const ingest::IngestReport& report() const { return report_; }
  [[nodiscard]] query::QueryEngine& queries() { return *queries_; }
  /// What is stored, of all runs.
  struct Row {
    met::UnixSeconds run = 0;
    engine::InventoryRow row;
    std::string short_name;
    std::string level_type;
  };
  [[nodiscard]] const std::vector<Row>& inventory() const { return inventory_; }

 private:
  [[nodiscard]] Status store(const std::filesystem::path& file);
  [[nodiscard]] Status list();

  std::filesystem::path directory_;
  std::unique_ptr<storage::Pool> pool_;
  std::unique_ptr<engine::Database> database_;
  std::unique_ptr<engine::Catalogue> catalogue_;
  std::unique_ptr<engine::FieldStore> fields_;
  std::unique_ptr<ingest::Ingestor> ingestor_;
  std::unique_ptr<query::QueryEngine> queries_;
  ingest::IngestReport report_;
  std::vector<Row> inventory_;
  Status status_;
};

}  // namespace nvmdb::e2e
