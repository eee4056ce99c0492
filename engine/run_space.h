#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/result.h"
#include "storage/page/page_allocator.h"

namespace nvmdb::engine {

/// Fields begin at multiples of it: the media's line.
inline constexpr std::uint64_t kFieldAlignment = 256;

/// Free bytes at the end of what a run has already filled.
struct RunTail {
  storage::PageRange pages;      ///< whole pages from the one that holds `offset` on
  std::uint64_t offset = 0;      ///< in the region: next free byte
  [[nodiscard]] std::uint64_t end() const { return pages.first.offset() + pages.count * storage::kPageBytes; }
};

/// The half-filled pages of one run that no writer holds: the next writer goes on there.
/// Threads: any number.
class RunTails {
 public:
  void give(const RunTail& tail);
  /// The tail with the most room; an empty one when there is none.
  [[nodiscard]] RunTail take();
  /// Nobody may go on in this page any more: it is about to be freed.
  void forget(storage::PageId page);

 private:
  Mutex mutex_;
  std::vector<RunTail> tails_ NVMDB_GUARDED_BY(mutex_);
};

/// Bump allocation for one writer in pages of its run. Fields that are given up while they are the last one leave no
/// hole; pages that hold nothing kept go back when the writer ends.
/// Threads: one.
class RunSpace {
 public:
  RunSpace(storage::PageAllocator& pages, std::uint32_t run, RunTails& tails) : pages_(pages), run_(run), tails_(tails) {}
  RunSpace(const RunSpace&) = delete;
  RunSpace& operator=(const RunSpace&) = delete;
  /// Gives back what was not kept.
  ~RunSpace();

  /// Room for a field. Errors: OutOfSpace.
  [[nodiscard]] Result<storage::Extent> allocate(std::uint64_t bytes);
  /// The bytes belong to a committed field now.
  void keep(const storage::Extent& extent);
  /// The bytes are not needed.
  void discard(const storage::Extent& extent);

 private:
  struct Arena {
    storage::PageRange pages;
    std::uint64_t begin = 0;   ///< first byte this writer may use
    std::uint64_t cursor = 0;  ///< next free byte
    std::uint64_t kept = 0;    ///< bytes of committed fields
    bool inherited = false;    ///< came from a tail: its first page holds bytes of earlier writers
    [[nodiscard]] std::uint64_t end() const { return pages.first.offset() + pages.count * storage::kPageBytes; }
  };
  [[nodiscard]] Arena* arena_of(const storage::Extent& extent);
  [[nodiscard]] Status add_arena(std::uint64_t bytes);
  void close(Arena& arena);

  storage::PageAllocator& pages_;
  std::uint32_t run_;
  RunTails& tails_;
  std::vector<Arena> arenas_;
  std::uint32_t next_pages_ = 1;
};

}  // namespace nvmdb::engine
