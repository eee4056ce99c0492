#include "engine/tuple_pages.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/crc32c.h"
#include "storage/base/fail_point.h"
#include "storage/base/narrow.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {

namespace {

using storage::kPageBytes;

/// What the media likes to get at once; durable writes are laid out in multiples of its line.
constexpr std::size_t kStageBytes = 64ULL << 10U;
constexpr std::size_t kWriteUnit = 256;
/// Of a page that is gone through: read ahead under one guard. Measured at the recovery of a million rows: 8 KiB 9.5 GB/s, 64 KiB
/// 10.1, 256 KiB 10.2; without any guard 11.6.
constexpr std::uint64_t kProbeBytes = 64ULL << 10U;

std::uint64_t table_bit(TableId table) { return 1ULL << (table % 64U); }

}  // namespace

TuplePages::TuplePages(storage::PoolMedia& media, storage::PageAllocator& pages)
    : media_(media), allocator_(pages), seed_(crc32c(std::as_bytes(std::span(media.identity().uuid)))) {
  for (std::uint32_t i = 0; i < media.region_count(); ++i) {
    storage::Door& door = media.region(i);
    regions_.push_back({door.data(), {}});
    regions_.back().pages.resize(door.size() / kPageBytes);
  }
  touched_.resize(media.region_count());
}

TuplePages::~TuplePages() = default;

std::string TuplePages::place_of(const TuplePage& page, std::uint64_t at) const {
  return "region " + std::to_string(page.id.region) + " offset " + std::to_string(page.id.offset() + at) +
         " (checkpoint page " + std::to_string(page.id.index) + ")";
}

TuplePage& TuplePages::page_of(const std::byte* address) const {
  for (const Region& region : regions_) {
    const auto offset = static_cast<std::uint64_t>(address - region.base);
    if (address >= region.base && offset < region.pages.size() * kPageBytes) {
      TuplePage* page = region.pages[offset / kPageBytes].get();
      NVMDB_CHECK(page != nullptr, "a tuple lies in a page that holds none");
      return *page;
    }
  }
  NVMDB_CHECK(false, "a tuple address lies in no region");
  __builtin_unreachable();
}

Result<TuplePage*> TuplePages::new_page(bool for_checkpoint, bool from_reserve) {
  // Kind Overflow: a restart frees the page unless publish() made it a checkpoint page.
  NVMDB_ASSIGN(const storage::PageRange range, from_reserve
                                                   ? allocator_.allocate_reserved(storage::PageKind::Overflow, 0)
                                                   : allocator_.allocate(1, storage::PageKind::Overflow, 0));
  auto page = std::make_unique<TuplePage>();
  page->checkpoint = for_checkpoint;
  page->id = range.first;
  page->sequence = next_sequence_.fetch_add(1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  Region& region = regions_[page->id.region];
  page->base = region.base + page->id.offset();
  region.pages[page->id.index] = std::move(page);
  return region.pages[range.first.index].get();
}

Result<const std::byte*> TuplePages::reserve_overflow(std::uint32_t key_words, std::size_t row_bytes, For whom) {
  const auto bytes = narrow<std::uint32_t>(slot_bytes(key_words, row_bytes));
  const MutexLock lock(overflow_mutex_);
  if (overflow_ != nullptr && kPageBytes - overflow_->used < bytes) {
    overflow_->closed = true;
    overflow_ = nullptr;
  }
  if (overflow_ == nullptr) {
    NVMDB_ASSIGN(overflow_, new_page(false, whom == For::Recovery));
    std::byte header[64];
    encode_tuple_page_header(overflow_->sequence, seed_, header);
    door_of(*overflow_).copy(overflow_->id.offset(), header);
  }
  const std::uint64_t at = overflow_->used;
  overflow_->used += bytes;
  door_of(*overflow_).store8(overflow_->id.offset() + at,
                             encode_slot_word(overflow_->sequence, at, {SlotState::Pending, bytes}));
  return overflow_->base + at;
}

void TuplePages::fill_overflow(const std::byte* slot, wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                               std::uint32_t hint) {
  TuplePage& page = page_of(slot);
  const std::uint64_t offset = page.id.offset() + static_cast<std::uint64_t>(slot - page.base);
  storage::Door& door = door_of(page);
  // The checksum is computed when the tuple becomes durable: most do not live that long.
  std::byte head[kSlotHeaderBytes + index::kMaxKeyWords * 8];
  encode_slot_content(head, tid, table, key, {}, hint);
  const auto row_bytes = narrow<std::uint32_t>(row.size());
  std::memcpy(head + 24, &row_bytes, 4);
  const std::size_t head_bytes = kSlotHeaderBytes + key.count * 8;
  door.copy(offset + 8, ByteSpan(head, head_bytes).subspan(8));
  if (row.empty()) return;
  door.copy(offset + head_bytes, row);
  const std::size_t padding = align_up(row.size(), 8) - row.size();
  constexpr std::byte kZeros[8] = {};
  if (padding > 0) door.copy(offset + head_bytes + row.size(), ByteSpan(kZeros, padding));
}

void TuplePages::close_overflow(wal::EpochClock& clock) {
  const MutexLock lock(overflow_mutex_);
  if (overflow_ != nullptr) overflow_->closed = true;
  overflow_ = nullptr;
  // Asked for here, when nobody can get a slot of these pages any more: an epoch of before would not cover a transaction
  // that began since then and took the last slots. Its row would lie in a page that counts as settled.
  const std::uint64_t epoch = clock.retirement_epoch().value;
  for (TuplePage* page : pages()) {
    if (page->closed && page->closed_epoch == 0) page->closed_epoch = epoch;
  }
}

std::vector<TuplePage*> TuplePages::closed_before(std::uint64_t epoch) const {
  std::vector<TuplePage*> closed;
  const MutexLock lock(overflow_mutex_);
  for (TuplePage* page : pages()) {
    if (page->closed && !page->settled && page->closed_epoch != 0 && page->closed_epoch < epoch) closed.push_back(page);
  }
  return closed;
}

void TuplePages::adopt(const std::byte* slot) {
  TuplePage& page = page_of(slot);
  storage::Door& door = door_of(page);
  const auto at = static_cast<std::uint64_t>(slot - page.base);
  const SlotView view(slot);
  const std::uint32_t checksum = slot_checksum(page.sequence, at, seed_, slot, view.bytes());
  door.store8(page.id.offset() + at + 16, encode_identity_word(checksum, view.table(), view.key_words()));
  if (!page.checkpoint) {
    {
      const MutexLock lock(overflow_mutex_);
      if (overflow_ == &page) overflow_ = nullptr;
      page.closed = true;
    }
    // The frame: header and all slot words, whoever fills the slots. One sweep, also over what is garbage.
    page.checkpoint = true;
    door.flush(page.id.offset(), page.used);
  } else {
    door.flush(page.id.offset() + at, view.bytes());
  }
  NVMDB_FAIL_POINT("checkpoint.adopt");
  touched_[page.id.region] = true;
  adopted_.push_back(slot);
  page.live_rows.fetch_add(view.bytes(), std::memory_order_relaxed);
  page.tables.fetch_or(table_bit(view.table()), std::memory_order_relaxed);
  unpublished_ = true;
}

void TuplePages::write_staged(std::size_t bytes) {
  if (bytes == 0) return;
  NVMDB_FAIL_POINT("checkpoint.write");
  door_of(*open_).copy_nontemporal(open_->id.offset() + staged_at_, ByteSpan(staged_).first(bytes));
  touched_[open_->id.region] = true;
  written_.fetch_add(bytes, std::memory_order_relaxed);
  staged_at_ += bytes;
  staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(bytes));
}

void TuplePages::write_out() {
  if (open_ == nullptr || staged_.empty()) return;
  const std::uint64_t end = std::min(align_up(open_->used, kWriteUnit), kPageBytes);
  if (const std::uint64_t rest = end - open_->used; rest > 0) {
    const std::uint64_t word =
        encode_slot_word(open_->sequence, open_->used, {SlotState::Filler, narrow<std::uint32_t>(rest)});
    const std::size_t at = staged_.size();
    staged_.resize(at + rest, std::byte{0});
    std::memcpy(staged_.data() + at, &word, 8);
    open_->used = end;
  }
  write_staged(staged_.size());
}

void TuplePages::close_open_page() {
  write_out();
  open_->closed = true;
  open_->settled = true;
  open_ = nullptr;
}

Result<const std::byte*> TuplePages::append_slot(wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                                                 std::uint32_t hint) {
  const std::size_t bytes = slot_bytes(key.count, row.size());
  if (open_ != nullptr && kPageBytes - open_->used < bytes) close_open_page();
  if (open_ == nullptr) {
    NVMDB_ASSIGN(open_, new_page(true, true));
    staged_.assign(kTuplePageHeaderBytes, std::byte{0});
    encode_tuple_page_header(open_->sequence, seed_, staged_.data());
    // The used word lies in what is staged now; publish() stores it.
    staged_at_ = 0;
  }
  const std::uint64_t at = open_->used;
  const std::size_t place = staged_.size();
  staged_.resize(place + bytes);
  const std::uint64_t word =
      encode_slot_word(open_->sequence, at, {SlotState::Valid, narrow<std::uint32_t>(bytes)});
  std::byte* to = staged_.data() + place;
  std::memcpy(to, &word, 8);
  encode_slot_content(to, tid, table, key, row, hint);
  const std::uint64_t identity =
      encode_identity_word(slot_checksum(open_->sequence, at, seed_, to, bytes), table, key.count);
  std::memcpy(to + 16, &identity, 8);
  open_->used += bytes;
  open_->tables.fetch_or(table_bit(table), std::memory_order_relaxed);
  unpublished_ = true;
  const std::byte* slot = open_->base + at;
  if (staged_.size() >= kStageBytes) write_staged(staged_.size() / kWriteUnit * kWriteUnit);
  return slot;
}

Result<const std::byte*> TuplePages::append(wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                                            std::uint32_t hint) {
  NVMDB_ASSIGN(const std::byte* slot, append_slot(tid, table, key, row, hint));
  open_->live_rows.fetch_add(slot_bytes(key.count, row.size()), std::memory_order_relaxed);
  return slot;
}

Result<const std::byte*> TuplePages::append_tombstone(wal::Tid tid, TableId table, const index::Key& key,
                                                      std::uint64_t barrier) {
  NVMDB_FAIL_POINT_TRY("checkpoint.tombstone");
  const wal::Tid deletion{tid.order().value | wal::Tid::kAbsentBit};
  NVMDB_ASSIGN(const std::byte* slot,
               append_slot(deletion, table, key, std::as_bytes(std::span(&barrier, 1)), 0));
  open_->note_tombstone(slot_bytes(key.count, sizeof(barrier)), barrier);
  return slot;
}

Status TuplePages::fence_touched() {
  for (std::uint32_t region = 0; region < touched_.size(); ++region) {
    if (!touched_[region]) continue;
    NVMDB_TRY(media_.region(region).fence());
    touched_[region] = false;
  }
  return Status::ok();
}

Status TuplePages::publish() {
  write_out();
  if (!unpublished_) return Status::ok();
  std::vector<TuplePage*> changed;
  for (TuplePage* page : pages()) {
    if (page->checkpoint && page->published != page->used) changed.push_back(page);
  }
  // All slots and headers first: what the words below make valid must be there.
  NVMDB_TRY(fence_touched());
  NVMDB_FAIL_POINT_TRY("checkpoint.slots");
  for (const std::byte* slot : adopted_) {
    const TuplePage& page = page_of(slot);
    const auto at = static_cast<std::uint64_t>(slot - page.base);
    storage::Door& door = door_of(page);
    door.store8(page.id.offset() + at,
                encode_slot_word(page.sequence, at, {SlotState::Valid, narrow<std::uint32_t>(SlotView(slot).bytes())}));
    door.flush(page.id.offset() + at, 8);
    touched_[page.id.region] = true;
  }
  for (TuplePage* page : changed) {
    storage::Door& door = door_of(*page);
    door.store8(page->id.offset() + kUsedWordOffset, encode_used_word(page->sequence, page->used));
    door.flush(page->id.offset() + kUsedWordOffset, 8);
    touched_[page->id.region] = true;
  }
  NVMDB_FAIL_POINT_TRY("checkpoint.words");
  NVMDB_TRY(fence_touched());
  for (TuplePage* page : changed) {
    NVMDB_FAIL_POINT_TRY("checkpoint.page");
    if (page->published == 0) NVMDB_TRY(allocator_.change(page->id, {storage::PageKind::Checkpoint, 0}));
    const MutexLock lock(mutex_);  // statistics() looks at it
    page->published = page->used;
  }
  adopted_.clear();
  unpublished_ = false;
  return Status::ok();
}

void TuplePages::drop_row(const std::byte* slot) {
  TuplePage& page = page_of(slot);
  page.live_rows.fetch_sub(SlotView(slot).bytes(), std::memory_order_relaxed);
  page.mark_dead(static_cast<std::uint64_t>(slot - page.base));
}

std::vector<TuplePage*> TuplePages::pages() const {
  std::vector<TuplePage*> all;
  const MutexLock lock(mutex_);
  for (const Region& region : regions_) {
    for (const auto& page : region.pages) {
      if (page != nullptr) all.push_back(page.get());
    }
  }
  return all;
}

Status TuplePages::release(TuplePage& page) {
  const storage::PageId id = page.id;
  {
    const MutexLock lock(mutex_);
    regions_[id.region].pages[id.index].reset();
  }
  return allocator_.release({id, 1});
}

Status TuplePages::verify(const TuplePage& page, const SlotView& slot, std::uint64_t at, std::uint32_t bytes) const {
  if (slot.verify(page.sequence, at, bytes, seed_)) return Status::ok();
  return Status::corruption(place_of(page, at) + ": a checkpoint tuple does not match its checksum");
}

Status TuplePages::for_each_slot(const TuplePage& page, const Visit& visit) const {
  // What was read once under the guard is in the cache: slots are then looked at without one for each.
  std::uint64_t readable = kTuplePageHeaderBytes;
  const auto make_readable = [&](std::uint64_t end) {
    if (end <= readable) return true;
    const std::uint64_t from = readable;
    readable = std::min(std::max(end, from + kProbeBytes), page.published);
    return storage::probe_media({page.base + from, static_cast<std::size_t>(readable - from)});
  };
  for (std::uint64_t at = kTuplePageHeaderBytes; at < page.published;) {
    if (!make_readable(at + 8)) return storage::media_fault_status("checkpoint page");
    std::uint64_t raw = 0;
    std::memcpy(&raw, page.base + at, 8);
    const std::optional<SlotWord> word = decode_slot_word(page.sequence, at, raw);
    if (!word || word->bytes > page.published - at) {
      return Status::corruption(place_of(page, at) + ": the slot word is damaged");
    }
    if (!make_readable(at + word->bytes)) return storage::media_fault_status("checkpoint page");
    if (word->state == SlotState::Valid) NVMDB_TRY(visit(SlotView(page.base + at), at, word->bytes));
    at += word->bytes;
  }
  return Status::ok();
}

Result<TuplePage*> TuplePages::adopt_recovered(storage::PageId id) {
  auto page = std::make_unique<TuplePage>();
  page->id = id;
  page->base = regions_[id.region].base + id.offset();
  std::optional<std::uint64_t> sequence;
  std::uint64_t used_word = 0;
  if (!storage::read_guarded([&] {
        sequence = decode_tuple_page_header(page->base, seed_);
        used_word = media_.region(id.region).load8(id.offset() + kUsedWordOffset);
      })) {
    return storage::media_fault_status("checkpoint page");
  }
  if (!sequence) return Status::corruption(place_of(*page, 0) + ": the page header is damaged");
  page->sequence = *sequence;
  const std::optional<std::uint64_t> used = decode_used_word(*sequence, used_word);
  if (!used) return Status::corruption(place_of(*page, kUsedWordOffset) + ": the used word is damaged");
  page->used = page->published = *used;
  page->closed = page->checkpoint = page->settled = page->recovered = true;
  if (next_sequence_.load(std::memory_order_relaxed) <= *sequence) next_sequence_.store(*sequence + 1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  auto& place = regions_[id.region].pages[id.index];
  place = std::move(page);
  return place.get();
}

TuplePageStatistics TuplePages::statistics() const {
  TuplePageStatistics statistics;
  statistics.written_bytes = written_.load(std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  for (const Region& region : regions_) {
    for (const auto& page : region.pages) {
      if (page == nullptr) continue;
      ++(page->published != 0 ? statistics.checkpoint_pages : statistics.overflow_pages);
      statistics.live_bytes += page->live_rows.load(std::memory_order_relaxed);
      statistics.tombstone_bytes += page->tombstones.load(std::memory_order_relaxed);
    }
  }
  return statistics;
}

}  // namespace nvmdb::engine
