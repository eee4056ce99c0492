#pragma once

#include <list>
#include <memory>

#include "engine/catalogue.h"
#include "query/geometry/geometry.h"
#include "storage/base/mutex.h"

namespace nvmdb::query {

/// Prepared grids, the latest used ones within a bound of DRAM. A grid's number is never reused, so nothing
/// here gets stale. Threads: any number.
class GeometryCache {
 public:
  explicit GeometryCache(engine::Catalogue& catalogue) : catalogue_(catalogue) {}
  /// Errors: those of Catalogue::grid() and Geometry::prepare().
  [[nodiscard]] Result<std::shared_ptr<const Geometry>> get(engine::GridId id);
  /// Whether get() has nothing to compute.
  [[nodiscard]] bool is_prepared(engine::GridId id);

 private:
  struct Entry {
    engine::GridId id;
    std::shared_ptr<const Geometry> geometry;
  };

  /// The entry, which becomes the latest used; nullptr when there is none.
  std::shared_ptr<const Geometry> find(engine::GridId id) NVMDB_REQUIRES(mutex_);

  engine::Catalogue& catalogue_;
  Mutex mutex_;
  std::list<Entry> recent_ NVMDB_GUARDED_BY(mutex_);  // newest use first
  std::uint64_t bytes_ NVMDB_GUARDED_BY(mutex_) = 0;
};

}  // namespace nvmdb::query
