#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/tuple_slot.h"
#include "storage/base/mutex.h"
#include "storage/base/result.h"
#include "storage/nvm/media.h"
#include "storage/page/page_allocator.h"
#include "wal/epoch_clock.h"

namespace nvmdb::engine {

/// What is known in DRAM of an NVM page that holds tuples.
struct TuplePage {
  storage::PageId id;
  const std::byte* base = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t used = kTuplePageHeaderBytes;  ///< bytes filled, header included
  std::uint64_t published = 0;                 ///< bytes that the used word on the media covers; 0: not a checkpoint page
  bool closed = false;      ///< gets no more slots
  bool checkpoint = false;  ///< written by append(), or adopted: publish() makes it known
  bool settled = false;     ///< no thread still holds a slot that it has not filled; what is needed of it is checkpointed
  bool recovered = false;   ///< of an earlier process: its hints mean nothing
  bool damaged = false;     ///< a slot did not check when it was to be moved: stays as it is
  bool retired = false;     ///< nothing in it is needed; released after the last reader
  std::uint64_t closed_epoch = 0;
  std::atomic<std::uint64_t> live_rows{0};        ///< bytes of slots that are the newest copy of a row
  std::atomic<std::uint64_t> tombstones{0};       ///< bytes of slots of deletions
  std::atomic<std::uint64_t> barrier{0};          ///< highest of its tombstones
  std::atomic<std::uint64_t> tables{0};           ///< bit (number mod 64) of each table in it
  /// One bit for each slot that drop_row() was told of, by its place / 32; made at the first one. No slot is shorter.
  std::vector<std::atomic<std::uint64_t>> dead;
  std::once_flag dead_made;

  void mark_dead(std::uint64_t at) {
    std::call_once(dead_made, [this] { dead = std::vector<std::atomic<std::uint64_t>>(storage::kPageBytes / 32 / 64); });
    dead[at / 32 / 64].fetch_or(1ULL << (at / 32 % 64), std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_dead(std::uint64_t at) const {
    return !dead.empty() && (dead[at / 32 / 64].load(std::memory_order_relaxed) >> (at / 32 % 64) & 1U) != 0;
  }
  void note_tombstone(std::size_t bytes, std::uint64_t tombstone_barrier) {
    tombstones.fetch_add(bytes, std::memory_order_relaxed);
    std::uint64_t seen = barrier.load(std::memory_order_relaxed);
    while (seen < tombstone_barrier && !barrier.compare_exchange_weak(seen, tombstone_barrier, std::memory_order_relaxed)) {
    }
  }
};

struct TuplePageStatistics {
  std::uint64_t checkpoint_pages = 0;
  std::uint64_t overflow_pages = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t tombstone_bytes = 0;
  std::uint64_t written_bytes = 0;  ///< to checkpoint pages, all in all
};

/// NVM pages of tuples. Checkpoint pages hold durable tuples, which the index addresses directly; overflow pages hold
/// tuples that did not fit into hot pages: an extension of DRAM without flush or fence, until the checkpointer adopts
/// them in place.
///
/// A page begins as an overflow page in the page directory, which a restart frees. The directory word that makes it a
/// checkpoint page is the manifest's change: one 8-byte store, after header, slots and used word are durable.
///
/// Threads: reserve_overflow() and fill_overflow() any number; the rest is the checkpointer's, or recovery's.
class TuplePages {
 public:
  TuplePages(storage::PoolMedia& media, storage::PageAllocator& pages);
  ~TuplePages();
  TuplePages(const TuplePages&) = delete;
  TuplePages& operator=(const TuplePages&) = delete;

  // --- overflow
  /// Who wants a slot: recovery may take the pages that are reserved for checkpoints too, because a pool that it
  /// cannot open could not be cleaned either.
  enum class For : std::uint8_t { Commit, Recovery };
  /// A slot for a row that a transaction is about to commit. Errors: OutOfSpace, IoError.
  [[nodiscard]] Result<const std::byte*> reserve_overflow(std::uint32_t key_words, std::size_t row_bytes,
                                                          For whom = For::Commit);
  /// Fills it. Not durable. The caller holds the record's lock.
  void fill_overflow(const std::byte* slot, wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                     std::uint32_t hint);
  /// The overflow page that is being filled gets no more slots. Pages closed since the last call are stamped with an
  /// epoch of `clock`: who pins a later one holds no slot of them that is not filled.
  void close_overflow(wal::EpochClock& clock);
  /// Pages that are not settled and were stamped with an epoch below this one.
  [[nodiscard]] std::vector<TuplePage*> closed_before(std::uint64_t epoch) const;

  // --- checkpoint
  /// Puts a tuple behind the others of the open checkpoint page. Readable there after write_out(), durable and found by
  /// recovery after publish(). Errors: OutOfSpace, IoError.
  [[nodiscard]] Result<const std::byte*> append(wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                                                std::uint32_t hint);
  /// Puts the deletion of a key there. It is needed as long as an older copy may be in any page.
  [[nodiscard]] Result<const std::byte*> append_tombstone(wal::Tid tid, TableId table, const index::Key& key,
                                                          std::uint64_t barrier);
  /// Makes a tuple in an overflow page a checkpoint tuple where it is: flushes it; publish() marks it.
  void adopt(const std::byte* slot);
  /// Stores what append() still holds in DRAM.
  void write_out();
  /// Makes everything appended and adopted so far part of the checkpoint. The versions must be durable in the log.
  /// Errors: IoError.
  [[nodiscard]] Status publish();
  [[nodiscard]] bool has_unpublished() const { return unpublished_; }

  /// Highest sequence of any page so far.
  [[nodiscard]] std::uint64_t last_sequence() const { return next_sequence_.load(std::memory_order_relaxed) - 1; }

  // --- pages
  /// The page that an address lies in.
  [[nodiscard]] TuplePage& page_of(const std::byte* address) const;
  /// The slot was the newest copy of its row and is no more.
  void drop_row(const std::byte* slot);
  /// All pages but those released.
  [[nodiscard]] std::vector<TuplePage*> pages() const;
  /// Gives a page back that nobody can reach any more. Errors: IoError.
  [[nodiscard]] Status release(TuplePage& page);
  /// Visits the slots of the published part of a page.
  /// Errors: Corruption (what does not check, with its place); those of `visit`.
  using Visit = std::function<Status(const SlotView& slot, std::uint64_t at, std::uint32_t bytes)>;
  [[nodiscard]] Status for_each_slot(const TuplePage& page, const Visit& visit) const;
  /// Errors: Corruption (the slot does not match its checksum).
  [[nodiscard]] Status verify(const TuplePage& page, const SlotView& slot, std::uint64_t at, std::uint32_t bytes) const;

  // --- recovery
  /// Reads a page of kind Checkpoint. Errors: Corruption.
  [[nodiscard]] Result<TuplePage*> adopt_recovered(storage::PageId id);

  [[nodiscard]] TuplePageStatistics statistics() const;
  /// Bytes appended so far, staged ones included.
  [[nodiscard]] std::uint64_t written_bytes() const { return written_.load(std::memory_order_relaxed) + staged_.size(); }
  [[nodiscard]] std::uint32_t checksum_seed() const { return seed_; }

 private:
  struct Region {
    const std::byte* base = nullptr;
    std::vector<std::unique_ptr<TuplePage>> pages;
  };
  [[nodiscard]] Result<TuplePage*> new_page(bool for_checkpoint, bool from_reserve);
  [[nodiscard]] Result<const std::byte*> append_slot(wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                                                     std::uint32_t hint);
  [[nodiscard]] storage::Door& door_of(const TuplePage& page) const { return media_.region(page.id.region); }
  void write_staged(std::size_t bytes);
  /// Fences the regions stored into since the last time.
  [[nodiscard]] Status fence_touched();
  void close_open_page();
  [[nodiscard]] std::string place_of(const TuplePage& page, std::uint64_t at) const;

  storage::PoolMedia& media_;
  storage::PageAllocator& allocator_;
  const std::uint32_t seed_;
  std::atomic<std::uint64_t> next_sequence_{1};
  std::atomic<std::uint64_t> written_{0};

  mutable Mutex mutex_;
  std::vector<Region> regions_;  ///< bases fixed; `pages` guarded by mutex_ but for page_of() of pages in use
  mutable Mutex overflow_mutex_;
  TuplePage* overflow_ NVMDB_GUARDED_BY(overflow_mutex_) = nullptr;

  // The checkpointer's.
  TuplePage* open_ = nullptr;
  std::vector<std::byte> staged_;   ///< bytes of open_ that are not stored yet
  std::uint64_t staged_at_ = 0;     ///< in the page
  std::vector<const std::byte*> adopted_;
  std::vector<bool> touched_;           ///< regions with stores that are not fenced
  bool unpublished_ = false;
};

}  // namespace nvmdb::engine
