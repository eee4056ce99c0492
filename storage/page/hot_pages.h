#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "storage/base/mutex.h"
#include "storage/page/page.h"

namespace nvmdb::storage {

/// DRAM that several HotPages share.
/// Threads: any number.
class HotBudget {
 public:
  explicit HotBudget(std::uint64_t bytes_max) : pages_max_((bytes_max + kPageBytes - 1) / kPageBytes) {}
  [[nodiscard]] std::uint64_t bytes_max() const { return pages_max_ * kPageBytes; }
  [[nodiscard]] std::uint64_t bytes_used() const { return pages_used_.load(std::memory_order_relaxed) * kPageBytes; }
  /// False when there are not so many pages left, and nobody gives any up.
  [[nodiscard]] bool take_pages(std::uint64_t count);
  void give_pages(std::uint64_t count) { pages_used_.fetch_sub(count, std::memory_order_relaxed); }

  /// `reclaim` gives up memory that is not needed, and returns false when it has none. Called from any thread that finds
  /// no page; it must not take any. An empty one ends it; no call is running afterwards.
  void set_reclaimer(std::function<bool()> reclaim);

 private:
  [[nodiscard]] bool try_take(std::uint64_t count);

  const std::uint64_t pages_max_;
  std::atomic<std::uint64_t> pages_used_{0};
  Mutex reclaimer_mutex_;
  std::function<bool()> reclaim_ NVMDB_GUARDED_BY(reclaimer_mutex_);
};

/// Hot pages: DRAM in 2 MiB pages (huge pages where the system grants them), cut into blocks of fixed size classes,
/// bounded by a budget. Holds index nodes, record heads and tuples. A block never crosses a page.
///
/// Blocks of a class are reused for that class only. All memory goes back to the system when the object dies.
/// Threads: any number, each through its own Cache.
class HotPages {
 public:
  static constexpr std::size_t kBlockBytesMax = 1ULL << 20U;
  static constexpr unsigned kClassCount = 31;

  /// `bytes_max` is rounded up to whole pages; 0: every allocation fails. Address space is reserved at once, memory is taken when touched.
  /// Pages also count against `budget`, when there is one; it outlives this object.
  /// `backing_fd`: a file of at least `bytes_max` whose mapping is used as the memory; -1: DRAM. It may be closed after.
  explicit HotPages(std::uint64_t bytes_max, HotBudget* budget = nullptr, int backing_fd = -1);
  ~HotPages();
  HotPages(const HotPages&) = delete;
  HotPages& operator=(const HotPages&) = delete;

  [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }
  /// Whole pages taken so far.
  [[nodiscard]] std::uint64_t bytes_used() const {
    return pages_used_.load(std::memory_order_relaxed) * kPageBytes;
  }

  /// Where the pages begin; all blocks are above it.
  [[nodiscard]] std::byte* base() const { return first_page_; }
  /// Bytes of blocks handed to caches and not given back.
  [[nodiscard]] std::uint64_t bytes_allocated() const { return allocated_.load(std::memory_order_relaxed); }

  /// The size class that serves `bytes`; classes are 32, 48, 64, 96, 128, ... 1 MiB.
  [[nodiscard]] static unsigned class_of(std::size_t bytes);
  [[nodiscard]] static std::size_t class_bytes(unsigned size_class);

  class Cache;

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  struct alignas(64) SizeClass {
    Mutex mutex;
    FreeBlock* free NVMDB_GUARDED_BY(mutex) = nullptr;
    std::byte* span NVMDB_GUARDED_BY(mutex) = nullptr;
    std::byte* span_end NVMDB_GUARDED_BY(mutex) = nullptr;
  };
  /// Up to `count` blocks as a list; sets `count` to how many there are.
  [[nodiscard]] FreeBlock* take(unsigned size_class, std::uint32_t& count);
  void give_back(unsigned size_class, FreeBlock* first, FreeBlock* last, std::uint32_t count);
  [[nodiscard]] std::byte* take_span(std::size_t bytes);

  std::uint64_t bytes_max_;
  HotBudget* budget_;
  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* first_page_ = nullptr;
  std::atomic<std::uint64_t> pages_used_{0};
  std::atomic<std::uint64_t> allocated_{0};
  Mutex page_mutex_;
  std::byte* page_cursor_ NVMDB_GUARDED_BY(page_mutex_) = nullptr;
  std::byte* page_end_ NVMDB_GUARDED_BY(page_mutex_) = nullptr;
  std::array<SizeClass, kClassCount> classes_;
};

/// One thread's stock of blocks: most allocations touch no shared memory.
/// Threads: one at a time.
class HotPages::Cache {
 public:
  explicit Cache(HotPages& pages) : pages_(pages) {}
  ~Cache() { flush(); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// A block of at least `bytes` (at most kBlockBytesMax), not initialised; nullptr when the budget is reached.
  /// Aligned to 16 bytes at least, and to 64 when the class is a multiple of 64.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  /// `bytes` as at allocate(). No thread may still look at the block.
  void free(void* block, std::size_t bytes);
  /// Gives the whole stock back.
  void flush();

 private:
  struct Stock {
    FreeBlock* first = nullptr;
    std::uint32_t count = 0;
  };
  [[nodiscard]] static std::uint32_t batch_of(unsigned size_class);
  void give_back(unsigned size_class, std::uint32_t count);

  HotPages& pages_;
  std::array<Stock, kClassCount> stock_{};
};

}  // namespace nvmdb::storage
