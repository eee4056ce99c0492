#include "engine/run_space.h"

#include <algorithm>

#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::engine {
namespace {

constexpr std::uint32_t kArenaPagesMax = 32;
constexpr std::uint64_t kTailBytesMin = 16ULL << 10U;  ///< smaller rests are not worth keeping

}  // namespace

void RunTails::give(const RunTail& tail) {
  if (tail.end() - tail.offset < kTailBytesMin) return;
  const MutexLock lock(mutex_);
  tails_.push_back(tail);
}

RunTail RunTails::take() {
  const MutexLock lock(mutex_);
  if (tails_.empty()) return {};
  const auto largest = std::max_element(tails_.begin(), tails_.end(), [](const RunTail& a, const RunTail& b) {
    return a.end() - a.offset < b.end() - b.offset;
  });
  const RunTail tail = *largest;
  tails_.erase(largest);
  return tail;
}

void RunTails::forget(storage::PageId page) {
  const MutexLock lock(mutex_);
  std::erase_if(tails_, [&](const RunTail& tail) {
    const storage::PageId first = tail.pages.first;
    return first.region == page.region && page.index >= first.index && page.index - first.index < tail.pages.count;
  });
}

RunSpace::~RunSpace() {
  for (Arena& arena : arenas_) close(arena);
}

Status RunSpace::add_arena(std::uint64_t bytes) {
  if (const RunTail tail = tails_.take(); tail.pages.count > 0) {
    arenas_.push_back({tail.pages, tail.offset, tail.offset, 0, true});
    if (tail.end() - tail.offset >= bytes) return Status::ok();
  }
  const auto needed = narrow<std::uint32_t>((bytes + storage::kPageBytes - 1) / storage::kPageBytes);
  NVMDB_ASSIGN(const storage::PageRange pages,
               pages_.allocate_up_to(needed, std::max(needed, next_pages_), storage::PageKind::Field, run_));
  next_pages_ = std::min(next_pages_ * 2, kArenaPagesMax);
  const std::uint64_t begin = pages.first.offset();
  // Neighbours of the arena in use: grow it, so that a field may lie across the seam.
  if (!arenas_.empty() && arenas_.back().pages.first.region == pages.first.region && arenas_.back().end() == begin) {
    arenas_.back().pages.count += pages.count;
    return Status::ok();
  }
  arenas_.push_back({pages, begin, begin, 0, false});
  return Status::ok();
}

Result<storage::Extent> RunSpace::allocate(std::uint64_t bytes) {
  const std::uint64_t room = align_up(bytes, kFieldAlignment);
  if (arenas_.empty() || arenas_.back().end() - arenas_.back().cursor < room) NVMDB_TRY(add_arena(room));
  Arena& arena = arenas_.back();
  const storage::Extent extent{arena.pages.first.region, arena.cursor, bytes};
  arena.cursor += room;
  return extent;
}

RunSpace::Arena* RunSpace::arena_of(const storage::Extent& extent) {
  for (auto it = arenas_.rbegin(); it != arenas_.rend(); ++it) {
    if (it->pages.first.region == extent.region && extent.offset >= it->begin && extent.offset < it->end()) return &*it;
  }
  return nullptr;
}

void RunSpace::keep(const storage::Extent& extent) {
  Arena* arena = arena_of(extent);
  NVMDB_CHECK(arena != nullptr, "extent of another writer");
  arena->kept = std::max(arena->kept, extent.offset + align_up(extent.bytes, kFieldAlignment));
}

void RunSpace::discard(const storage::Extent& extent) {
  Arena* arena = arena_of(extent);
  NVMDB_CHECK(arena != nullptr, "extent of another writer");
  if (extent.offset + align_up(extent.bytes, kFieldAlignment) == arena->cursor) arena->cursor = extent.offset;
}

void RunSpace::close(Arena& arena) {
  // `kept` is the end of the last committed field: what lies behind it was never seen by anyone.
  const std::uint64_t used = std::max(arena.kept, arena.begin);
  const bool first_page_shared = arena.inherited || arena.kept > 0;
  std::uint64_t pages_used = (used - arena.pages.first.offset() + storage::kPageBytes - 1) / storage::kPageBytes;
  if (first_page_shared) pages_used = std::max<std::uint64_t>(pages_used, 1);
  if (pages_used < arena.pages.count) {
    const auto keep_count = narrow<std::uint32_t>(pages_used);
    const storage::PageRange rest{{arena.pages.first.region, arena.pages.first.index + keep_count},
                                  arena.pages.count - keep_count};
    // A failure leaves the pages to the sweep of the next start.
    (void)pages_.release(rest);
    arena.pages.count = keep_count;
  }
  if (arena.pages.count > 0 && used < arena.end()) {
    const auto skipped = narrow<std::uint32_t>((used - arena.pages.first.offset()) / storage::kPageBytes);
    tails_.give({{{arena.pages.first.region, arena.pages.first.index + skipped}, arena.pages.count - skipped}, used});
  }
}

}  // namespace nvmdb::engine
