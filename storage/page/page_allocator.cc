#include "storage/page/page_allocator.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/crc32c.h"
#include "storage/base/fail_point.h"
#include "storage/base/narrow.h"
#include "storage/nvm/root_words.h"

namespace nvmdb::storage {
namespace {

std::string page_name(PageId page) {
  return "region " + std::to_string(page.region) + " page " + std::to_string(page.index);
}

/// A directory word as it lies in the root: the entry, and 24 bits of CRC32C over it and its place, in the bits that
/// an entry leaves. A free page is 0. One word still, so that it changes at once; a flipped bit in it is found, where it would
/// otherwise free a page that is in use.
std::uint64_t checked_word(PageEntry entry, std::uint64_t place) {
  if (entry.kind == PageKind::Free) return 0;
  constexpr unsigned kCheckShift = 32;
  constexpr std::uint64_t kCheckMask = 0xffffff;
  const std::array<std::uint64_t, 2> content{entry.encode(), place};
  return entry.encode() | (crc32c(std::as_bytes(std::span(content))) & kCheckMask) << kCheckShift;
}

/// A run of free pages of one region, from `from` on.
struct FreeRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// The first run of free pages at or behind `from`, cut off at `most` pages. Count 0: there is none.
FreeRun next_free_run(const std::vector<PageEntry>& entries, std::uint32_t from, std::uint32_t most) {
  const auto size = narrow<std::uint32_t>(entries.size());
  std::uint32_t first = from;
  while (first < size && entries[first].kind != PageKind::Free) ++first;
  std::uint32_t end = first;
  while (end < size && end - first < most && entries[end].kind == PageKind::Free) ++end;
  return {first, end - first};
}

std::size_t kind_index(PageKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

Result<std::unique_ptr<PageAllocator>> PageAllocator::open(PoolMedia& media) {
  std::unique_ptr<PageAllocator> allocator(new PageAllocator(media));
  const MutexLock lock(allocator->mutex_);
  Door& root = media.root_words();
  std::uint64_t word = kPageDirectoryWord;
  for (std::uint32_t region = 0; region < media.region_count(); ++region) {
    const std::uint64_t pages = media.region(region).size() / kPageBytes;
    if (pages > root.size() / 8 || word + pages > root.size() / 8) {
      return Status::corruption("page directory: root has " + std::to_string(root.size() / 8) +
                                " words, region " + std::to_string(region) + " needs words up to " +
                                std::to_string(word + pages));
    }
    allocator->region_first_word_.push_back(word);
    auto& entries = allocator->entries_.emplace_back();
    entries.reserve(pages);
    for (std::uint32_t index = 0; index < pages; ++index, ++word) {
      const std::uint64_t raw = root.load8(word * 8);
      const PageEntry entry = PageEntry::decode(raw);
      if (kind_index(entry.kind) >= kPageKindCount || checked_word(entry, word) != raw) {
        return Status::corruption("page directory: " + page_name({region, index}) + ": the entry " +
                                  std::to_string(raw) + " (kind " + std::to_string(raw >> 56U) +
                                  ") is unknown, or does not match its check bits");
      }
      entries.push_back(entry);
      ++allocator->counts_[kind_index(entry.kind)];
    }
    allocator->first_free_.push_back(0);
  }
  return allocator;
}

Result<PageRange> PageAllocator::allocate(std::uint32_t count, PageKind kind, std::uint32_t owner) {
  return allocate_up_to(count, count, kind, owner);
}

Result<PageRange> PageAllocator::allocate_up_to(std::uint32_t least, std::uint32_t most, PageKind kind,
                                                std::uint32_t owner) {
  if (least == 0 || most < least) {
    return Status::invalid_argument("page allocation: " + std::to_string(least) + " to " +
                                    std::to_string(most) + " pages asked for");
  }
  NVMDB_CHECK(kind != PageKind::Free && kind_index(kind) < kPageKindCount, "a page needs a kind");
  const MutexLock lock(mutex_);
  const std::uint64_t free = counts_[kind_index(PageKind::Free)];
  const std::uint64_t reserved = reserve_for(kind);
  if (free < least + reserved) {
    return Status::out_of_space("pool is full: " + std::to_string(least) + " pages of 2 MiB wanted, " +
                                std::to_string(free) + " free, of which " + std::to_string(reserved) +
                                " are reserved; drop a run or make a larger pool");
  }
  return find_and_take(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(most, free - reserved)), {kind, owner});
}

Result<PageRange> PageAllocator::allocate_reserved(PageKind kind, std::uint32_t owner) {
  const MutexLock lock(mutex_);
  return find_and_take(1, 1, {kind, owner});
}

Result<PageRange> PageAllocator::find_and_take(std::uint32_t least, std::uint32_t most, PageEntry entry) {
  PageRange longest;
  for (std::uint32_t region = 0; region < entries_.size(); ++region) {
    const auto& entries = entries_[region];
    std::uint32_t at = first_free_[region];
    for (FreeRun run = next_free_run(entries, at, most); run.count > 0;
         run = next_free_run(entries, at, most)) {
      if (at == first_free_[region]) first_free_[region] = run.first;
      if (run.count == most) return take({{region, run.first}, most}, entry);
      if (run.count > longest.count) longest = {{region, run.first}, run.count};
      at = run.first + run.count;
    }
  }
  if (longest.count >= least) return take(longest, entry);
  return Status::out_of_space(
      "pool: " + std::to_string(least) + " neighbouring pages of 2 MiB wanted, longest free run " +
      std::to_string(longest.count) + ", free in all " + std::to_string(counts_[kind_index(PageKind::Free)]) +
      "; drop a run or make a larger pool");
}

std::uint64_t PageAllocator::reserve_for(PageKind kind) const {
  switch (kind) {
    case PageKind::Log: return reserve_ / 2;
    default: return reserve_;
  }
}

void PageAllocator::set_reserve(std::uint64_t pages) {
  const MutexLock lock(mutex_);
  reserve_ = pages;
}

std::uint64_t PageAllocator::reserve() const {
  const MutexLock lock(mutex_);
  return reserve_;
}

Status PageAllocator::change(PageId page, PageEntry entry) {
  const MutexLock lock(mutex_);
  PageEntry& now = entries_[page.region][page.index];
  NVMDB_CHECK(now.kind != PageKind::Free && entry.kind != PageKind::Free, "a free page cannot change: " + page_name(page));
  NVMDB_TRY(set_entries({page, 1}, entry));
  --counts_[kind_index(now.kind)];
  ++counts_[kind_index(entry.kind)];
  now = entry;
  return Status::ok();
}

Result<PageRange> PageAllocator::take(PageRange pages, PageEntry entry) {
  auto& entries = entries_[pages.first.region];
  // Taken in memory first: should the fence fail, nobody knows what the media holds, so nobody gets the
  // pages.
  std::fill_n(entries.begin() + pages.first.index, pages.count, entry);
  counts_[kind_index(PageKind::Free)] -= pages.count;
  counts_[kind_index(entry.kind)] += pages.count;
  std::uint32_t& first_free = first_free_[pages.first.region];
  if (first_free == pages.first.index) first_free += pages.count;
  NVMDB_FAIL_POINT_TRY("page.allocate");
  NVMDB_TRY(set_entries(pages, entry));
  NVMDB_FAIL_POINT("page.allocated");
  return pages;
}

Status PageAllocator::release(PageRange pages) {
  const MutexLock lock(mutex_);
  NVMDB_CHECK(pages.first.region < entries_.size(), "release of a page of an unknown region");
  auto& entries = entries_[pages.first.region];
  NVMDB_CHECK(pages.first.index <= entries.size() && pages.count <= entries.size() - pages.first.index,
              "release of pages outside the region");
  for (std::uint32_t i = 0; i < pages.count; ++i) {
    NVMDB_CHECK(entries[pages.first.index + i].kind != PageKind::Free,
                "release of a free page: " + page_name({pages.first.region, pages.first.index + i}));
  }
  NVMDB_FAIL_POINT_TRY("page.release");
  NVMDB_TRY(set_entries(pages, {}));
  NVMDB_FAIL_POINT("page.released");
  for (std::uint32_t i = 0; i < pages.count; ++i) {
    PageEntry& entry = entries[pages.first.index + i];
    --counts_[kind_index(entry.kind)];
    entry = {};
  }
  counts_[kind_index(PageKind::Free)] += pages.count;
  std::uint32_t& first_free = first_free_[pages.first.region];
  first_free = std::min(first_free, pages.first.index);
  for (std::uint32_t i = 0; i < pages.count && !quarantine_.empty(); ++i) {
    const PageId page{pages.first.region, pages.first.index + i};
    if (quarantine_.contains(page)) withhold(page);
  }
  return Status::ok();
}

void PageAllocator::quarantine(PageRange pages) {
  const MutexLock lock(mutex_);
  for (std::uint32_t i = 0; i < pages.count; ++i) {
    const PageId page{pages.first.region, pages.first.index + i};
    NVMDB_CHECK(page.region < entries_.size() && page.index < entries_[page.region].size(), "quarantine of an unknown page");
    quarantine_.insert(page);
    if (entries_[page.region][page.index].kind == PageKind::Free) withhold(page);
  }
}

void PageAllocator::withhold(PageId page) {
  // Nobody asks for overflow pages by their owner, and none has this one.
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  entries_[page.region][page.index] = {PageKind::Overflow, kNobody};
  --counts_[kind_index(PageKind::Free)];
  ++counts_[kind_index(PageKind::Overflow)];
  withheld_.insert(page);
}

bool PageAllocator::is_quarantined(PageId page) const {
  const MutexLock lock(mutex_);
  return quarantine_.contains(page);
}

std::uint64_t PageAllocator::quarantined_pages() const {
  const MutexLock lock(mutex_);
  return quarantine_.size();
}

Status PageAllocator::set_entries(PageRange pages, PageEntry entry) {
  if (pages.count == 0) return Status::ok();
  Door& root = media_.root_words();
  const std::uint64_t first = region_first_word_[pages.first.region] + pages.first.index;
  for (std::uint64_t word = first; word < first + pages.count; ++word) root.store8(word * 8, checked_word(entry, word));
  root.flush(first * 8, std::uint64_t{pages.count} * 8);
  return root.fence();
}

void PageAllocator::for_each(const std::function<void(PageId, PageEntry)>& visit) const {
  // Copied first, so that `visit` may allocate and release.
  std::vector<std::pair<PageId, PageEntry>> used;
  {
    const MutexLock lock(mutex_);
    for (std::uint32_t region = 0; region < entries_.size(); ++region) {
      for (std::uint32_t index = 0; index < entries_[region].size(); ++index) {
        const PageEntry entry = entries_[region][index];
        if (entry.kind != PageKind::Free && !withheld_.contains({region, index})) used.push_back({{region, index}, entry});
      }
    }
  }
  for (const auto& [page, entry] : used) visit(page, entry);
}

std::uint64_t PageAllocator::total_pages() const {
  std::uint64_t total = 0;
  const MutexLock lock(mutex_);
  for (const std::uint64_t count : counts_) total += count;
  return total;
}

std::uint64_t PageAllocator::free_pages() const {
  return pages_of(PageKind::Free);
}

std::uint64_t PageAllocator::pages_of(PageKind kind) const {
  NVMDB_CHECK(kind_index(kind) < kPageKindCount, "unknown page kind");
  const MutexLock lock(mutex_);
  return counts_[kind_index(kind)];
}

}  // namespace nvmdb::storage
