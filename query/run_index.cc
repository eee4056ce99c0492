#include "query/run_index.h"

#include <algorithm>

namespace nvmdb::query {
namespace {

constexpr std::size_t kRunsKept = 64;

}  // namespace

Result<std::shared_ptr<const RunIndex>> RunIndexCache::get(const engine::Run& run) {
  {
    const MutexLock lock(mutex_);
    const auto found =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& i) { return i->run.id == run.id; });
    if (found != recent_.end() && (*found)->run.version == run.version && (*found)->run.state == run.state) {
      recent_.splice(recent_.begin(), recent_, found);
      return *found;
    }
  }
  NVMDB_ASSIGN(auto index, read(run));
  const MutexLock lock(mutex_);
  recent_.remove_if([&](const auto& i) { return i->run.id == run.id; });
  recent_.push_front(index);
  if (recent_.size() > kRunsKept) recent_.pop_back();
  return index;
}

Result<std::shared_ptr<const RunIndex>> RunIndexCache::read(const engine::Run& run) const {
  auto index = std::make_shared<RunIndex>();
  index->run = run;
  NVMDB_ASSIGN(auto inventory, catalogue_.inventory(run.id));
  std::unordered_map<engine::ParameterId, std::shared_ptr<const met::Parameter>> parameters;
  index->rows.reserve(inventory.size());
  for (engine::InventoryRow& row : inventory) {
    auto& parameter = parameters[row.parameter];
    if (parameter == nullptr) {
      NVMDB_ASSIGN(met::Parameter read, catalogue_.parameter(row.parameter));
      parameter = std::make_shared<const met::Parameter>(std::move(read));
    }
    NVMDB_ASSIGN(std::string level_type, catalogue_.level_type(row.level_type));
    index->rows.push_back({std::move(row), parameter, std::move(level_type)});
  }
  return std::shared_ptr<const RunIndex>(std::move(index));
}

}  // namespace nvmdb::query
