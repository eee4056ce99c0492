#include "wal/log_space.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "storage/base/check.h"
#include "storage/base/fail_point.h"
#include "storage/base/size_text.h"
#include "storage/nvm/door.h"
#include "wal/log_format.h"

namespace nvmdb::wal {
namespace {

using storage::kPageBytes;

constexpr std::uint64_t kHeader = sizeof(BlockHeader);
/// A segment with less room than this many units is not worth continuing.
constexpr std::uint64_t kContinueUnits = 4;

bool is_zero(ByteSpan bytes) {
  return bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// Stores zeros where [from, end of page) is not zero, then makes the page durable as it is.
Status clear_tail(storage::Door& door, std::uint64_t page_offset, std::uint64_t from, std::uint32_t unit) {
  for (std::uint64_t at = from; at < kPageBytes; at += unit) {
    if (!is_zero(door.bytes(page_offset + at, unit))) door.fill(page_offset + at, unit, std::byte{0});
  }
  door.flush(page_offset, kPageBytes);
  return door.fence();
}

}  // namespace

LogSpace::LogSpace(storage::PoolMedia& media, storage::PageAllocator& pages, LogCounters& counters,
                   const Shape& shape)
    : media_(media),
      pages_(pages),
      counters_(counters),
      shape_(shape),
      checksum_seed_(checksum_seed(media.identity())),
      streams_(shape.streams) {}

std::uint64_t LogSpace::record_charge(std::uint64_t payload_bytes) const {
  // A full block carries block_bytes - kHeader: each byte pays its part of the header of the block it fills.
  const std::uint64_t bytes = sizeof(RecordHeader) + payload_bytes;
  const std::uint64_t carried = shape_.block_bytes - kHeader;
  return bytes + (bytes * kHeader + carried - 1) / carried;
}

std::uint64_t LogSpace::group_charge() const {
  // The last block of a group has a header that its bytes did not pay in full, and is padded.
  return kHeader + shape_.unit_bytes;
}

Status LogSpace::adopt(const LogReader& recovered) {
  for (const storage::PageId page : recovered.abandoned_pages()) NVMDB_TRY(pages_.release({page, 1}));
  std::vector<const LogSegmentFound*> last(shape_.streams, nullptr);
  for (const LogSegmentFound& found : recovered.segments()) {
    if (found.stream >= shape_.streams) continue;
    if (last[found.stream] == nullptr || last[found.stream]->sequence < found.sequence)
      last[found.stream] = &found;
  }
  for (const LogSegmentFound& found : recovered.segments()) {
    const bool fits = found.unit_bytes == shape_.unit_bytes &&
                      found.used_bytes + kContinueUnits * shape_.unit_bytes <= kPageBytes;
    const bool continued = fits && found.stream < shape_.streams && last[found.stream] == &found;
    if (continued) {
      NVMDB_TRY(continue_segment(found));
    } else if (found.highest >= recovered.horizon().durable) {
      storage::Door& door = media_.region(found.page.region);
      door.flush(found.page.offset(), found.used_bytes);
      NVMDB_TRY(door.fence());
      LogCounters::add(counters_.fences, 1);
    }
    const MutexLock lock(mutex_);
    ++segment_count_;
    if (!continued)
      sealed_.push_back({found.page, found.stream, found.incarnation, kPageBytes, found.highest});
    if (found.stream < shape_.streams) {
      std::uint64_t& next = streams_[found.stream].next_sequence;
      next = std::max(next, found.sequence + 1);
    }
  }
  return Status::ok();
}

Status LogSpace::continue_segment(const LogSegmentFound& found) {
  NVMDB_FAIL_POINT_TRY("wal.continue");
  // What lies behind the last valid block may be parts of blocks that a crash tore. New stores over them
  // could complete one by chance, so they are erased before anything is written there.
  NVMDB_TRY(
      clear_tail(media_.region(found.page.region), found.page.offset(), found.used_bytes, shape_.unit_bytes));
  LogCounters::add(counters_.fences, 1);
  const MutexLock lock(mutex_);
  add_ready({found.page, found.stream, found.incarnation, found.used_bytes, found.highest});
  return Status::ok();
}

void LogSpace::add_ready(const LogSegment& segment) {
  Stream& stream = streams_[segment.stream];
  stream.ready.push_back(segment);
  // One header less than there is: the end of a segment cuts a block in two.
  stream.free += kPageBytes - segment.at - kHeader;
}

bool LogSpace::try_take(std::uint32_t stream, std::uint64_t least, std::uint64_t& wanted) {
  const MutexLock lock(mutex_);
  std::uint64_t& free = streams_[stream].free;
  if (free < least) return false;
  wanted = std::min(free, std::max(least, wanted));
  free -= wanted;
  return true;
}

Result<std::uint64_t> LogSpace::take(std::uint32_t stream, std::uint64_t least, std::uint64_t wanted) {
  if (try_take(stream, least, wanted)) return wanted;
  const MutexLock lock(grow_mutex_);
  while (!try_take(stream, least, wanted)) NVMDB_TRY(add_segment(stream));
  return wanted;
}

Status LogSpace::add_segment(std::uint32_t stream) {
  std::uint64_t sequence = 0;
  {
    const MutexLock lock(mutex_);
    const std::uint64_t used = segment_count_ * kPageBytes;
    if (used + kPageBytes > shape_.log_bytes_max) {
      return Status::out_of_space("log is full: " + format_size(used) + " in segments of " +
                                  format_size(kPageBytes) + ", budget " + format_size(shape_.log_bytes_max) +
                                  ", stream " + std::to_string(stream) + " needs one more");
    }
    ++segment_count_;
    sequence = streams_[stream].next_sequence++;
  }
  NVMDB_FAIL_POINT("wal.segment");
  auto page = pages_.allocate(1, storage::PageKind::Log, stream);
  if (!page.is_ok()) {
    const MutexLock lock(mutex_);
    --segment_count_;
    return {page.status().code(), "log segment: " + page.status().message()};
  }
  const storage::PageId id = page->first;
  NVMDB_CHECK(segments_prepared_ < (1ULL << 32U), "segment numbers of a session are used up");
  const std::uint64_t incarnation = (shape_.session << 32U) | segments_prepared_++;
  NVMDB_TRY(write_header(id, stream, incarnation, sequence));
  const MutexLock lock(mutex_);
  add_ready({id, stream, incarnation, shape_.unit_bytes, {}});
  return Status::ok();
}

Status LogSpace::write_header(storage::PageId page, std::uint32_t stream, std::uint64_t incarnation,
                              std::uint64_t sequence) {
  std::vector<std::byte> unit(shape_.unit_bytes);
  encode_segment_header({.stream = stream,
                         .incarnation = incarnation,
                         .sequence = sequence,
                         .session = shape_.session,
                         .unit_bytes = shape_.unit_bytes},
                        checksum_seed_, unit);
  storage::Door& door = media_.region(page.region);
  door.copy_nontemporal(page.offset(), unit);
  NVMDB_FAIL_POINT_TRY("wal.segment_header");
  // Fenced before use: blocks count only under the incarnation of their segment.
  NVMDB_TRY(door.fence());
  LogCounters::add(counters_.media_bytes, unit.size());
  LogCounters::add(counters_.fences, 1);
  return Status::ok();
}

void LogSpace::give_back(std::uint32_t stream, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  streams_[stream].free += bytes;
}

LogSegment LogSpace::next_segment(std::uint32_t stream) {
  const MutexLock lock(mutex_);
  auto& ready = streams_[stream].ready;
  NVMDB_CHECK(!ready.empty(), "accepted records do not fit the segments prepared for them");
  const LogSegment segment = ready.front();
  ready.pop_front();
  return segment;
}

void LogSpace::seal(const LogSegment& segment) {
  NVMDB_FAIL_POINT("wal.seal");
  const MutexLock lock(mutex_);
  sealed_.push_back(segment);
}

void LogSpace::settle(std::uint32_t stream, std::uint64_t charged, std::uint64_t used, std::uint64_t sealed) {
  const std::uint64_t paid = charged + sealed * kHeader;
  NVMDB_CHECK(used <= paid, "a group took more log space than its records had paid");
  give_back(stream, paid - used);
}

Result<std::uint64_t> LogSpace::release_through(Epoch epoch) {
  std::vector<LogSegment> due;
  {
    const MutexLock lock(mutex_);
    const auto first = std::partition(sealed_.begin(), sealed_.end(),
                                      [&](const LogSegment& segment) { return segment.highest > epoch; });
    due.assign(first, sealed_.end());
    sealed_.erase(first, sealed_.end());
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    NVMDB_FAIL_POINT("wal.release");
    if (Status status = pages_.release({due[i].page, 1}); !status.is_ok()) {
      const MutexLock lock(mutex_);
      sealed_.insert(sealed_.end(), due.begin() + static_cast<std::ptrdiff_t>(i), due.end());
      return status;
    }
    NVMDB_FAIL_POINT("wal.released");
    const MutexLock lock(mutex_);
    --segment_count_;
  }
  return std::uint64_t{due.size()};
}

std::uint64_t LogSpace::segment_count() const {
  const MutexLock lock(mutex_);
  return segment_count_;
}

}  // namespace nvmdb::wal
