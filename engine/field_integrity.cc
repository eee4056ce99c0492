#include "engine/field_integrity.h"

#include <array>
#include <cstdio>
#include <string>

#include "engine/damage_list.h"
#include "engine/field_store.h"
#include "engine/field_store_state.h"
#include "storage/base/clock.h"
#include "storage/base/crc32c.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {
namespace {

constexpr std::uint64_t kPlacesPerPage = storage::kPageBytes / kFieldAlignment;

std::uint64_t place_of(const storage::Extent& extent) {
  return extent.offset % storage::kPageBytes / kFieldAlignment;
}

std::string hexadecimal(std::uint32_t value) {
  std::array<char, 12> text{};
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

}  // namespace

struct CheckedFields::PageBits {
  std::array<std::atomic<std::uint64_t>, kPlacesPerPage / 64> words{};
};

CheckedFields::CheckedFields(storage::PoolMedia& media) {
  for (std::uint32_t i = 0; i < media.region_count(); ++i) {
    regions_.emplace_back(media.region(i).size() / storage::kPageBytes);
  }
}

CheckedFields::~CheckedFields() {
  for (auto& region : regions_) {
    for (std::atomic<PageBits*>& page : region) delete page.load(std::memory_order_relaxed);
  }
}

std::atomic<CheckedFields::PageBits*>& CheckedFields::page_of(const storage::Extent& extent) const {
  return regions_[extent.region][extent.offset / storage::kPageBytes];
}

bool CheckedFields::contains(const storage::Extent& extent) const {
  const PageBits* bits = page_of(extent).load(std::memory_order_acquire);
  const std::uint64_t place = place_of(extent);
  return bits != nullptr &&
         (bits->words[place / 64].load(std::memory_order_acquire) >> (place % 64) & 1U) != 0;
}

void CheckedFields::add(const storage::Extent& extent) {
  std::atomic<PageBits*>& page = page_of(extent);
  PageBits* bits = page.load(std::memory_order_acquire);
  if (bits == nullptr) {
    auto fresh = std::make_unique<PageBits>();
    if (page.compare_exchange_strong(bits, fresh.get(), std::memory_order_acq_rel)) bits = fresh.release();
  }
  const std::uint64_t place = place_of(extent);
  bits->words[place / 64].fetch_or(1ULL << (place % 64), std::memory_order_release);
}

void CheckedFields::remove(const storage::Extent& extent) {
  PageBits* bits = page_of(extent).load(std::memory_order_acquire);
  const std::uint64_t place = place_of(extent);
  if (bits != nullptr) bits->words[place / 64].fetch_and(~(1ULL << (place % 64)), std::memory_order_release);
}

/// For people: names where the catalogue still has them, numbers else.
std::string FieldStore::describe(const Field& field) const {
  const FieldKey& key = field.key;
  const Result<met::Parameter> parameter = catalogue_.parameter(key.parameter);
  const Result<std::string> level_type = catalogue_.level_type(key.level_type);
  const Result<Run> run = catalogue_.run(key.run);
  std::string words = "field ";
  words += parameter.is_ok() ? parameter->short_name : "of parameter " + std::to_string(key.parameter);
  words += ", " + (level_type.is_ok() ? *level_type : "level type " + std::to_string(key.level_type));
  words += " " + met::format_level(key.level, key.bottom) + ", step " + met::format_step(key.step);
  if (key.member != 0) words += ", member " + std::to_string(key.member);
  words += ", run " + (run.is_ok() ? format_run(run->key) : std::to_string(key.run));
  return words + " (region " + std::to_string(field.extent.region) + " offset " +
         std::to_string(field.extent.offset) + ", " + std::to_string(field.extent.bytes) + " bytes)";
}

Status FieldStore::report_damage(const Field& field, const std::string& what) const {
  state_->checked.remove(field.extent);
  const std::uint64_t first = field.extent.offset / storage::kPageBytes;
  const std::uint64_t last = (field.extent.offset + field.extent.bytes - 1) / storage::kPageBytes;
  const storage::PageRange pages{{field.extent.region, static_cast<std::uint32_t>(first)},
                                 static_cast<std::uint32_t>(last - first + 1)};
  database_.pages().quarantine(pages);
  // The next writer of the run does not go on in these pages; one that does so already ends there.
  const std::shared_ptr<RunShared> run = state_->run(field.key.run);
  for (std::uint32_t i = 0; i < pages.count; ++i) {
    run->tails.forget({pages.first.region, pages.first.index + i});
  }
  DamagedPlace place{field.extent, describe(field) + " " + what + "; ingest its file again, or drop the run",
                     system_clock().wall_seconds()};
  const Status status = Status::corruption(place.words);
  state_->damage.add(std::move(place));
  return status;
}

Status FieldStore::verify(const ReadView&, const FieldRef& ref) const {
  return compare(ref);
}

Status FieldStore::compare(const FieldRef& ref) const {
  if (ref.extent.empty()) return Status::ok();
  ref.charge_read(0, ref.field.points);
  std::uint32_t found = 0;
  if (!storage::read_guarded([&] { found = crc32c(ref.extent); })) {
    return report_damage(ref.field, "cannot be read from its medium: " + storage::last_media_fault());
  }
  if (found != ref.field.crc) {
    return report_damage(ref.field, "does not match its checksum: expected " + hexadecimal(ref.field.crc) +
                                        ", found " + hexadecimal(found));
  }
  state_->checked.add(ref.field.extent);
  state_->fields_checked.fetch_add(1, std::memory_order_relaxed);
  return Status::ok();
}

Status FieldStore::check(const FieldRef& ref, CheckBudget* budget) const {
  if (ref.extent.empty() || state_->checked.contains(ref.field.extent)) return Status::ok();
  // Damage stays until the field is replaced: who asks again is told at once.
  if (std::string known = state_->damage.find(ref.field.extent); !known.empty())
    return Status::corruption(known);
  if (budget != nullptr) {
    if (ref.extent.size() > budget->bytes_left)
      return Status::overloaded("fields must be checked before they are read");
    budget->bytes_left -= ref.extent.size();
  }
  return compare(ref);
}

Result<std::uint64_t> FieldStore::verify_grid(GridId grid) {
  storage::Extent positions;
  const Status status = catalogue_.verify_positions(grid, positions);
  // Dropped since somebody listed it.
  if (status.is_ok() || status.code() == Code::NotFound) return positions.bytes;
  if (status.code() != Code::Corruption) return status;
  state_->damage.add({positions, status.message() + "; drop the runs that use the grid and ingest them again",
                      system_clock().wall_seconds()});
  return positions.bytes;
}

Result<std::uint64_t> FieldStore::verify_checkpoint_page(storage::PageId& next) {
  storage::PageId page;
  std::uint64_t bytes = 0;
  const Status status = database_.verify_checkpoint_page(next, page, bytes);
  if (status.is_ok()) return bytes;
  if (status.code() != Code::Corruption) return status;
  database_.pages().quarantine({page, 1});
  state_->damage.add({{page.region, page.offset(), storage::kPageBytes},
                      status.message() + "; rows in it may be wrong: run `nvmdb check`, and ingest what it names again",
                      system_clock().wall_seconds()});
  return bytes;
}

Status FieldStore::unreadable(std::span<const FieldRef> read) const {
  const std::byte* const address = storage::last_media_fault_address();
  for (const FieldRef& ref : read) {
    if (address < ref.extent.data() || address >= ref.extent.data() + ref.extent.size()) continue;
    return report_damage(ref.field, "cannot be read from its medium: " + storage::last_media_fault());
  }
  return storage::media_fault_status("a field");
}

std::uint64_t FieldStore::damage_generation() const {
  return state_->damage.generation();
}

IntegrityStatistics FieldStore::integrity() const {
  return {.fields_checked = state_->fields_checked.load(std::memory_order_relaxed),
          .damage_found = state_->damage.found(),
          .damaged = state_->damage.places(),
          .pages_quarantined = database_.pages().quarantined_pages(),
          .media_faults = storage::media_fault_count()};
}

}  // namespace nvmdb::engine
