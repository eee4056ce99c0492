#include "wal/stream_writer.h"

#include <algorithm>
#include <cstring>

#include "storage/base/check.h"
#include "storage/base/fail_point.h"
#include "storage/base/narrow.h"
#include "storage/nvm/door.h"

namespace nvmdb::wal {

StreamWriter::StreamWriter(storage::PoolMedia& media, LogSpace& space, LogCounters& counters,
                           const LogSpace::Shape& shape, std::uint32_t stream, PlantedBug planted_bug)
    : media_(media),
      space_(space),
      counters_(counters),
      shape_(shape),
      stream_(stream),
      planted_bug_(planted_bug),
      checksum_seed_(checksum_seed(media.identity())),
      staging_(shape.block_bytes) {}

void StreamWriter::begin(const GroupLabel& label) {
  label_ = label;
  room_ = 0;
  fill_ = 0;
  group_blocks_ = 0;
  charged_ = 0;
  used_ = 0;
  sealed_ = 0;
  records_ = 0;
  payload_bytes_ = 0;
  regions_.clear();
}

void StreamWriter::append(Tid tid, ByteSpan payload, std::uint64_t charge) {
  charged_ += charge;
  ++records_;
  payload_bytes_ += payload.size();
  const RecordHeader header{.tid = tid.value, .payload_bytes = narrow<std::uint32_t>(payload.size())};
  put(std::as_bytes(std::span(&header, 1)));
  put(payload);
}

void StreamWriter::put(ByteSpan bytes) {
  while (!bytes.empty()) {
    if (fill_ == room_) {
      if (room_ != 0) write_block(false);
      start_block();
    }
    const std::size_t count = std::min<std::size_t>(bytes.size(), room_ - fill_);
    std::memcpy(staging_.data() + fill_, bytes.data(), count);
    fill_ += count;
    bytes = bytes.subspan(count);
  }
}

void StreamWriter::start_block() {
  if (!segment_) segment_ = space_.next_segment(stream_);
  // Segments end at a unit, so the last block of a segment is cut short rather than the segment.
  room_ = std::min(shape_.block_bytes, storage::kPageBytes - segment_->at);
  fill_ = sizeof(BlockHeader);
}

void StreamWriter::write_block(bool end_of_group) {
  ++group_blocks_;
  const std::uint64_t extent = align_up(fill_, shape_.unit_bytes);
  std::memset(staging_.data() + fill_, 0, extent - fill_);
  BlockHeader header{.stream = stream_,
                     .incarnation = segment_->incarnation,
                     .session = shape_.session,
                     .sequence = next_sequence_++,
                     .epoch = label_.epoch.value,
                     .previous = label_.previous.value,
                     .payload_bytes = narrow<std::uint32_t>(fill_ - sizeof(BlockHeader))};
  if (end_of_group) {
    header.streams = label_.streams;
    header.flags = kEndOfGroup;
    header.group_blocks = group_blocks_;
  }
  encode_block_header(header, checksum_seed_, std::span(staging_).first(extent));

  const storage::PageId page = segment_->page;
  const ByteSpan block = ByteSpan(staging_).first(extent);
  storage::Door& door = media_.region(page.region);
  NVMDB_FAIL_POINT("wal.copy");
  if (planted_bug_ == PlantedBug::CopyWithoutFlush) {
    door.copy(page.offset() + segment_->at, block);
  } else {
    door.copy_nontemporal(page.offset() + segment_->at, block);
  }
  if (std::find(regions_.begin(), regions_.end(), page.region) == regions_.end())
    regions_.push_back(page.region);

  NVMDB_FAIL_POINT("wal.copied");
  used_ += extent;
  segment_->at += extent;
  segment_->highest = label_.epoch;
  if (segment_->at == storage::kPageBytes) {
    space_.seal(*segment_);
    segment_.reset();
    ++sealed_;
  }
  room_ = 0;
  fill_ = 0;
}

void StreamWriter::finish() {
  NVMDB_CHECK(room_ != 0, "a group without records was written");
  write_block(true);
  space_.settle(stream_, charged_, used_, sealed_);
  LogCounters::add(counters_.records, records_);
  LogCounters::add(counters_.payload_bytes, payload_bytes_);
  LogCounters::add(counters_.blocks, group_blocks_);
  LogCounters::add(counters_.media_bytes, used_);
}

Status StreamWriter::fence() {
  if (planted_bug_ == PlantedBug::MissingFence) return Status::ok();
  NVMDB_FAIL_POINT_TRY("wal.fence");
  for (const std::uint32_t region : regions_) {
    NVMDB_TRY(media_.region(region).fence());
    LogCounters::add(counters_.fences, 1);
  }
  return Status::ok();
}

}  // namespace nvmdb::wal
