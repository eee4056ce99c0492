#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/catalogue.h"
#include "storage/base/mutex.h"
#include "storage/base/result.h"

namespace nvmdb::query {

/// What a run holds, with names. Immutable.
struct RunIndex {
  struct Row {
    engine::InventoryRow row;
    std::shared_ptr<const met::Parameter> parameter;
    std::string level_type;
  };
  engine::Run run;
  std::vector<Row> rows;
};

/// Indexes of the runs asked lately, each read from the catalogue once per version of its run.
/// Threads: any number.
class RunIndexCache {
 public:
  explicit RunIndexCache(engine::Catalogue& catalogue) : catalogue_(catalogue) {}
  /// Errors: as Catalogue::inventory().
  [[nodiscard]] Result<std::shared_ptr<const RunIndex>> get(const engine::Run& run);

 private:
  [[nodiscard]] Result<std::shared_ptr<const RunIndex>> read(const engine::Run& run) const;

  engine::Catalogue& catalogue_;
  Mutex mutex_;
  std::list<std::shared_ptr<const RunIndex>> recent_ NVMDB_GUARDED_BY(mutex_);  // newest use first
};

}  // namespace nvmdb::query
