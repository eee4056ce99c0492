#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/result.h"
#include "storage/nvm/media.h"
#include "storage/page/page.h"

namespace nvmdb::storage {

/// Hands out NVM pages and keeps the page directory in the root words.
/// The directory entry of a page is durable before allocate() returns it and before release() lets it be reused.
/// Threads: any number.
class PageAllocator {
 public:
  /// Reads the directory. Errors: Corruption (unknown page kind; the message names the page).
  [[nodiscard]] static Result<std::unique_ptr<PageAllocator>> open(PoolMedia& media);

  /// `count` neighbouring free pages of one region, first fit.
  /// Errors: OutOfSpace (wanted, largest free run, total free, reserve), InvalidArgument (count 0).
  [[nodiscard]] Result<PageRange> allocate(std::uint32_t count, PageKind kind, std::uint32_t owner);
  /// As many neighbouring pages as there are, at least `least` and at most `most`: the first run that holds `most`,
  /// else the longest run.
  /// Errors: as allocate().
  [[nodiscard]] Result<PageRange> allocate_up_to(std::uint32_t least, std::uint32_t most, PageKind kind,
                                                 std::uint32_t owner);
  /// One page, out of the reserve too: for checkpoints. Errors: OutOfSpace, IoError.
  [[nodiscard]] Result<PageRange> allocate_reserved(PageKind kind, std::uint32_t owner);
  /// Gives pages back. The caller knows that no reader is left. Releasing a free page stops the process.
  [[nodiscard]] Status release(PageRange pages);

  /// Pages whose medium or bytes are damaged: once released they are free in the directory, but this process gives them to
  /// nobody. Free pages too. Not kept over a restart: who reads them then finds out again.
  void quarantine(PageRange pages);
  [[nodiscard]] bool is_quarantined(PageId page) const;
  [[nodiscard]] std::uint64_t quarantined_pages() const;

  /// Says what a page that is in use holds from now on; durable when it returns.
  /// Errors: IoError.
  [[nodiscard]] Status change(PageId page, PageEntry entry);

  /// Pages that only a checkpoint may take (and half of them the log): so that a full pool can still be cleaned, and rows
  /// and runs deleted.
  void set_reserve(std::uint64_t pages);
  [[nodiscard]] std::uint64_t reserve() const;

  /// All pages that are not free, in order of region and index.
  void for_each(const std::function<void(PageId, PageEntry)>& visit) const;

  [[nodiscard]] std::uint64_t total_pages() const;
  [[nodiscard]] std::uint64_t free_pages() const;
  [[nodiscard]] std::uint64_t pages_of(PageKind kind) const;

 private:
  explicit PageAllocator(PoolMedia& media) : media_(media) {}
  [[nodiscard]] Result<PageRange> find_and_take(std::uint32_t least, std::uint32_t most, PageEntry entry)
      NVMDB_REQUIRES(mutex_);
  /// Free pages that pages of this kind must leave.
  [[nodiscard]] std::uint64_t reserve_for(PageKind kind) const NVMDB_REQUIRES(mutex_);
  [[nodiscard]] Result<PageRange> take(PageRange pages, PageEntry entry) NVMDB_REQUIRES(mutex_);
  /// Takes a quarantined page that is free out of what can be given away.
  void withhold(PageId page) NVMDB_REQUIRES(mutex_);
  [[nodiscard]] Status set_entries(PageRange pages, PageEntry entry) NVMDB_REQUIRES(mutex_);

  PoolMedia& media_;
  mutable Mutex mutex_;
  std::vector<std::vector<PageEntry>> entries_ NVMDB_GUARDED_BY(mutex_);  ///< by region, then page index
  std::vector<std::uint32_t> first_free_ NVMDB_GUARDED_BY(mutex_);  ///< by region: no page below it is free
  std::vector<std::uint64_t> region_first_word_;
  std::set<PageId> quarantine_ NVMDB_GUARDED_BY(mutex_);
  std::set<PageId> withheld_ NVMDB_GUARDED_BY(mutex_);  ///< of them: free in the directory, in use in entries_
  std::uint64_t reserve_ NVMDB_GUARDED_BY(mutex_) = 0;
  std::array<std::uint64_t, 5> counts_ NVMDB_GUARDED_BY(mutex_){};
};

}  // namespace nvmdb::storage
