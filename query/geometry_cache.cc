#include "query/geometry_cache.h"

#include <algorithm>

namespace nvmdb::query {
namespace {

constexpr std::uint64_t kBytesMax = 512ULL << 20U;

}  // namespace

Result<std::shared_ptr<const Geometry>> GeometryCache::get(engine::GridId id) {
  {
    const MutexLock lock(mutex_);
    if (auto known = find(id)) return known;
  }
  NVMDB_ASSIGN(auto grid, catalogue_.grid(id));
  NVMDB_ASSIGN(auto geometry, Geometry::prepare(std::move(grid)));
  const MutexLock lock(mutex_);
  if (auto known = find(id)) return known;
  recent_.push_front({id, geometry});
  bytes_ += geometry->bytes();
  while (bytes_ > kBytesMax && recent_.size() > 1) {
    bytes_ -= recent_.back().geometry->bytes();
    recent_.pop_back();
  }
  return geometry;
}

bool GeometryCache::is_prepared(engine::GridId id) {
  const MutexLock lock(mutex_);
  return find(id) != nullptr;
}

std::shared_ptr<const Geometry> GeometryCache::find(engine::GridId id) {
  const auto found = std::find_if(recent_.begin(), recent_.end(), [&](const Entry& e) { return e.id == id; });
  if (found == recent_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found);
  return found->geometry;
}

}  // namespace nvmdb::query
