#include "engine/damage_list.h"

#include <algorithm>
#include <utility>

namespace nvmdb::engine {
namespace {

auto at(const storage::Extent& extent) {
  return [&extent](const DamagedPlace& place) {
    return place.extent.region == extent.region && place.extent.offset == extent.offset;
  };
}

}  // namespace

bool DamageList::add(DamagedPlace place) {
  const MutexLock lock(mutex_);
  if (std::any_of(places_.begin(), places_.end(), at(place.extent))) return false;
  generation_.fetch_add(1, std::memory_order_release);
  if (places_.size() >= kPlacesMax) return false;
  places_.push_back(std::move(place));
  return true;
}

void DamageList::forget(const storage::Extent& extent) {
  const MutexLock lock(mutex_);
  std::erase_if(places_, at(extent));
}

void DamageList::forget_pages(const std::vector<storage::PageId>& pages) {
  const MutexLock lock(mutex_);
  std::erase_if(places_, [&](const DamagedPlace& place) {
    const storage::PageId page{place.extent.region,
                               static_cast<std::uint32_t>(place.extent.offset / storage::kPageBytes)};
    return std::find(pages.begin(), pages.end(), page) != pages.end();
  });
}

std::string DamageList::find(const storage::Extent& extent) const {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(places_.begin(), places_.end(), at(extent));
  return found == places_.end() ? std::string() : found->words;
}

std::vector<DamagedPlace> DamageList::places() const {
  const MutexLock lock(mutex_);
  return places_;
}

}  // namespace nvmdb::engine
