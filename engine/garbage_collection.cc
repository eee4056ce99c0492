#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>
#include <thread>

#include "engine/checkpointer.h"
#include "engine/session_state.h"
#include "storage/base/fail_point.h"
#include "storage/device/read_hook.h"

namespace nvmdb::engine {

namespace {

using storage::kPageBytes;

/// A page with less garbage is not worth moving.
constexpr std::uint64_t kGarbageBytesMin = kPageBytes / 16;
/// Deletions may take this part of the live bytes; then old pages are moved, so that deletions can be forgotten.
constexpr std::uint64_t kTombstoneShare = 4;
constexpr std::uint64_t kTombstoneBytesMin = kPageBytes / 4;
constexpr std::size_t kPagesPerCall = 32;
/// Of the pages in use, as many retired ones may wait for readers before the checkpointer waits too.
constexpr std::uint64_t kRetiredShare = 20;
/// A reader that stays longer is no thread that lost its processor, but a long scan.
constexpr std::chrono::milliseconds kReaderPatience{50};
constexpr std::chrono::microseconds kReaderLook{200};

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

/// For each table (by its bit) the two pages with the lowest sequences that hold something of it.
class OldestPages {
 public:
  explicit OldestPages(const std::vector<TuplePage*>& pages) {
    for (const TuplePage* page : pages) {
      for (std::uint64_t bits = page->tables.load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
        Pair& pair = pairs_[static_cast<std::size_t>(std::countr_zero(bits))];
        if (page->sequence < pair.first) {
          pair.second = pair.first;
          pair.first = page->sequence;
        } else {
          pair.second = std::min(pair.second, page->sequence);
        }
      }
    }
  }
  /// The lowest sequence of the other pages that may hold an older copy of a key of the table.
  [[nodiscard]] std::uint64_t other_than(const TuplePage& page, std::size_t table_bit) const {
    const Pair& pair = pairs_[table_bit];
    return pair.first == page.sequence ? pair.second : pair.first;
  }
  /// True when a tombstone in `page` is still needed.
  [[nodiscard]] bool needs(const TuplePage& page, TableId table, std::uint64_t barrier) const {
    return other_than(page, table % 64U) <= barrier;
  }
  /// False when surely none of the page's tombstones is needed.
  [[nodiscard]] bool may_need_tombstones(const TuplePage& page) const {
    for (std::uint64_t bits = page.tables.load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
      if (other_than(page, static_cast<std::size_t>(std::countr_zero(bits))) <= page.barrier.load(std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  struct Pair {
    std::uint64_t first = kNever;
    std::uint64_t second = kNever;
  };
  std::array<Pair, 64> pairs_{};
};

struct Census {
  std::uint64_t pages = 0;
  std::uint64_t live = 0;
  std::uint64_t tombstones = 0;
  TuplePage* most_garbage = nullptr;
  std::uint64_t most_garbage_bytes = 0;
  TuplePage* empty = nullptr;
  TuplePage* oldest = nullptr;
};

Census count_pages(const std::vector<TuplePage*>& pages) {
  const OldestPages oldest(pages);
  Census census;
  for (TuplePage* page : pages) {
    if (page->retired) continue;
    ++census.pages;
    const std::uint64_t tombstones =
        oldest.may_need_tombstones(*page) ? page->tombstones.load(std::memory_order_relaxed) : 0;
    const std::uint64_t rows = page->live_rows.load(std::memory_order_relaxed);
    census.live += rows + tombstones;
    census.tombstones += tombstones;
    if (!page->settled || page->damaged) continue;
    if (rows + tombstones == 0) census.empty = page;
    const std::uint64_t garbage = kPageBytes - std::min(kPageBytes, rows + tombstones);
    if (garbage > census.most_garbage_bytes) {
      census.most_garbage = page;
      census.most_garbage_bytes = garbage;
    }
    if (census.oldest == nullptr || page->sequence < census.oldest->sequence) census.oldest = page;
  }
  return census;
}

/// The page whose content is to be moved next, or nullptr.
TuplePage* choose_page(const Census& census, const CheckpointOptions& options) {
  if (census.empty != nullptr) return census.empty;
  const std::uint64_t allowed = census.live * options.space_percent_max / 100 + options.spare_pages * kPageBytes;
  if (census.pages * kPageBytes > allowed && census.most_garbage_bytes >= kGarbageBytesMin) return census.most_garbage;
  if (census.tombstones > kTombstoneBytesMin && census.tombstones > census.live / kTombstoneShare) return census.oldest;
  return nullptr;
}

}  // namespace

Status Checkpointer::collect_garbage() {
  TuplePages& pages = *database_.tuple_pages;
  NVMDB_TRY(release_retired());
  for (std::size_t i = 0; i < kPagesPerCall; ++i) {
    const std::vector<TuplePage*> all = pages.pages();
    TuplePage* victim = choose_page(count_pages(all), database_.options.checkpoint);
    if (victim == nullptr) return Status::ok();
    NVMDB_FAIL_POINT_TRY("gc.victim");
    NVMDB_TRY(empty_page(*victim, all));
    NVMDB_TRY(await_readers());
  }
  return Status::ok();
}

/// Without it, a writer that loses its processor in the middle of a transaction would keep pages from being released while the
/// checkpointer fills new ones.
Status Checkpointer::await_readers() {
  NVMDB_TRY(release_retired());
  const auto enough = [&] {
    const std::uint64_t allowed = std::max(database_.options.checkpoint.spare_pages,
                                           database_.tuple_pages->statistics().checkpoint_pages / kRetiredShare);
    return retired_.size() <= allowed;
  };
  std::uint64_t oldest = database_.clock->oldest_pinned().value;
  auto since = std::chrono::steady_clock::now();
  while (!enough() && oldest != long_reader_) {
    std::this_thread::sleep_for(kReaderLook);
    NVMDB_TRY(release_retired());
    const std::uint64_t now = database_.clock->oldest_pinned().value;
    if (now != oldest) {
      oldest = now;
      since = std::chrono::steady_clock::now();
    } else if (std::chrono::steady_clock::now() - since > kReaderPatience) {
      long_reader_ = oldest;
    }
  }
  return Status::ok();
}

/// A process that dies again and again before it collects leaves a page more each time: without this, redo would find
/// none left one day.
Status Checkpointer::make_room(std::uint64_t pages) {
  const CheckpointOptions eager{.space_percent_max = 100, .spare_pages = 0};
  while (database_.pages->free_pages() < pages) {
    const std::vector<TuplePage*> all = database_.tuple_pages->pages();
    TuplePage* victim = choose_page(count_pages(all), eager);
    if (victim == nullptr) return Status::ok();
    NVMDB_FAIL_POINT_TRY("recovery.room");
    NVMDB_TRY(empty_page(*victim, all));
    NVMDB_TRY(release_all_retired());
  }
  return Status::ok();
}

Status Checkpointer::verify_page(storage::PageId& next, storage::PageId& page_id, std::uint64_t& bytes) {
  const MutexLock lock(cycle_mutex_);
  const TuplePages& store = *database_.tuple_pages;
  const std::vector<TuplePage*> all = store.pages();
  const auto wanted = [&](const TuplePage* page) { return page->id >= next && page->published > 0 && !page->retired; };
  bytes = 0;
  const auto found = std::find_if(all.begin(), all.end(), wanted);
  if (found == all.end()) return Status::ok();
  TuplePage& page = **found;
  page_id = page.id;
  next = {page.id.region, page.id.index + 1};
  bytes = page.published;
  storage::charge_nvm_read(page.base, page.published);
  return store.for_each_slot(page, [&](const SlotView& slot, std::uint64_t at, std::uint32_t slot_bytes) {
    return page.is_dead(at) ? Status::ok() : store.verify(page, slot, at, slot_bytes);
  });
}

/// Copies what is needed of a page into the open checkpoint page and lets the index point there.
Status Checkpointer::empty_page(TuplePage& page, const std::vector<TuplePage*>& pages) {
  TuplePages& store = *database_.tuple_pages;
  const OldestPages oldest(pages);
  std::vector<Move> moves;
  storage::charge_nvm_read(page.base, page.published);
  database_.clock->pin(*slot_);
  const Status moved = store.for_each_slot(page, [&](const SlotView& slot, std::uint64_t at, std::uint32_t bytes) -> Status {
    if (page.is_dead(at)) return Status::ok();
    NVMDB_TRY(store.verify(page, slot, at, bytes));
    if (slot.is_tombstone()) {
      if (!oldest.needs(page, slot.table(), slot.barrier())) return Status::ok();
      return store.append_tombstone(slot.tid(), slot.table(), slot.key(), slot.barrier()).status();
    }
    RecordHead* head = head_of(page, slot);
    if (head == nullptr) return Status::ok();
    NVMDB_ASSIGN(const std::byte* copy,
                 store.append(slot.tid(), slot.table(), slot.key(), slot.row(), memory_.hint_of(head)));
    moves.push_back({head, slot.address(), copy});
    return Status::ok();
  });
  database_.clock->unpin(*slot_);
  // Also when the rest could not be moved: what was moved counts.
  NVMDB_FAIL_POINT_TRY("gc.copied");
  NVMDB_TRY(store.publish());
  NVMDB_FAIL_POINT("gc.published");
  // A record with a home stays: only the checkpointer takes the home away.
  for (const Move& move : moves) swing(move);
  tuples_moved_.fetch_add(moves.size(), std::memory_order_relaxed);
  // Who reads what is left of a damaged page is told; the rest of the pool goes on.
  if (moved.code() == Code::Corruption) {
    page.damaged = true;
    return Status::ok();
  }
  if (moved.is_ok()) retire_page(page);
  return moved;
}

/// The record whose newest copy the slot is, or nullptr.
RecordHead* Checkpointer::head_of(const TuplePage& page, const SlotView& slot) const {
  RecordHead* head = page.recovered ? nullptr : memory_.head_at(slot.hint());
  if (head == nullptr) {
    const index::Lookup found = database_.tables.find(slot.table())->index->find(slot.key());
    if (!found.found) return nullptr;
    head = reinterpret_cast<RecordHead*>(found.value);
  }
  return head->home() == slot.address() ? head : nullptr;
}

void Checkpointer::swing(const Move& move) {
  wal::Tid seen;
  while (!move.head->lock(seen)) {
  }
  NVMDB_FAIL_POINT("gc.move");
  move.head->set_home(move.to);
  if (move.head->location().slot() == move.from) move.head->set_location(TupleAddress::in_nvm(move.to));
  move.head->unlock(seen);
  database_.tuple_pages->drop_row(move.from);
}

void Checkpointer::retire_page(TuplePage& page) {
  page.retired = true;
  NVMDB_FAIL_POINT("gc.retired");
  pages_collected_.fetch_add(1, std::memory_order_relaxed);
  retired_.push({&page, database_.clock->retirement_epoch().value});
  retired_pages_.fetch_add(1, std::memory_order_relaxed);
}

/// No reader is left, or none is there yet.
Status Checkpointer::release_all_retired() {
  while (!retired_.empty()) {
    TuplePage* page = retired_.front().page;
    retired_.pop();
    retired_pages_.fetch_sub(1, std::memory_order_relaxed);
    NVMDB_TRY(database_.tuple_pages->release(*page));
  }
  return Status::ok();
}

Status Checkpointer::release_retired() {
  if (retired_.empty()) return Status::ok();
  // Epochs go on with commits only, and perhaps nobody commits now.
  if (retired_.front().epoch >= database_.clock->current().value) {
    NVMDB_TRY(database_.log->wait_durable(database_.clock->current()));
  }
  const std::uint64_t oldest = database_.clock->oldest_pinned().value;
  while (!retired_.empty() && retired_.front().epoch < oldest) {
    TuplePage* page = retired_.front().page;
    retired_.pop();
    retired_pages_.fetch_sub(1, std::memory_order_relaxed);
    NVMDB_FAIL_POINT_TRY("gc.release");
    // A failed release leaves the page to the next start, which finds nothing new in it.
    NVMDB_TRY(database_.tuple_pages->release(*page));
  }
  return Status::ok();
}

}  // namespace nvmdb::engine
