#include "wal/log_scan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "storage/base/narrow.h"
#include "storage/device/read_hook.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::wal {
namespace {

using storage::kPageBytes;

/// No segment has a smaller unit: a block header fits in one.
constexpr std::uint64_t kUnitBytesMin = 128;
static_assert(kUnitBytesMin / 2 <= sizeof(BlockHeader) && sizeof(BlockHeader) < kUnitBytesMin);

/// As decode_block() and decode_segment_header(), of bytes that the medium may refuse to give; then `readable` is false.
std::optional<BlockHeader> read_block(ByteSpan bytes, std::uint32_t seed, bool& readable) {
  std::optional<BlockHeader> block;
  readable = storage::read_guarded([&] { block = decode_block(bytes, seed); });
  return block;
}

std::optional<SegmentHeader> read_segment_header(ByteSpan page, std::uint32_t seed, bool& readable) {
  std::optional<SegmentHeader> header;
  readable = storage::read_guarded([&] { header = decode_segment_header(page, seed); });
  return header;
}

BlockFound describe(const BlockHeader& header, storage::PageId page, std::uint64_t at) {
  return {.session = header.session,
          .epoch = header.epoch,
          .previous = header.previous,
          .sequence = header.sequence,
          .streams = header.streams,
          .offset = page.offset() + at,
          .region = page.region,
          .stream = header.stream,
          .payload_bytes = header.payload_bytes,
          .group_blocks = (header.flags & kEndOfGroup) != 0 ? header.group_blocks : 0};
}

/// Reads one segment. Behind a place without a valid block the search goes on at every unit: the power cut
/// may have torn a block and spared a later one, and a damaged block must not hide the rest.
Status scan_segment(ByteSpan page, const SegmentHeader& header, storage::PageId id, std::uint32_t seed,
                    LogScan& scan) {
  LogSegmentFound segment{.page = id,
                          .stream = header.stream,
                          .unit_bytes = header.unit_bytes,
                          .incarnation = header.incarnation,
                          .sequence = header.sequence,
                          .used_bytes = header.unit_bytes,
                          .highest = {}};
  for (std::uint64_t at = header.unit_bytes; at < kPageBytes;) {
    bool readable = true;
    const auto block = read_block(page.subspan(at), seed, readable);
    if (!readable) return storage::media_fault_status("log: segment of stream " + std::to_string(header.stream));
    if (!block || block->incarnation != header.incarnation || block->stream != header.stream) {
      at += header.unit_bytes;
      continue;
    }
    scan.blocks.push_back(describe(*block, id, at));
    segment.highest = std::max(segment.highest, Epoch{block->epoch});
    at += block_extent(*block, header.unit_bytes);
    segment.used_bytes = at;
  }
  scan.segments.push_back(segment);
  return Status::ok();
}

/// A Log page without a valid header was never used, or its header is damaged: then its blocks are still
/// there. Blocks of an earlier life of the page are all covered: a page is freed only then.
Status check_abandoned(ByteSpan page, storage::PageId id, std::uint32_t stream, std::uint32_t seed,
                       Epoch covered) {
  for (std::uint64_t at = kUnitBytesMin; at < kPageBytes; at += kUnitBytesMin) {
    bool readable = true;
    const auto block = read_block(page.subspan(at), seed, readable);
    if (!readable) return storage::media_fault_status("log: page of stream " + std::to_string(stream));
    if (block && block->stream == stream && block->epoch > covered.value) {
      return Status::corruption(
          "log: region " + std::to_string(id.region) + " offset " + std::to_string(id.offset()) +
          ": segment header of stream " + std::to_string(stream) + " is damaged, but a block of epoch " +
          std::to_string(block->epoch) + " follows at offset " + std::to_string(id.offset() + at));
    }
  }
  return Status::ok();
}

}  // namespace

Result<LogScan> scan_log(storage::PoolMedia& media, const storage::PageAllocator& pages, Epoch covered) {
  LogScan scan;
  const std::uint32_t seed = checksum_seed(media.identity());
  Status failed;
  pages.for_each([&](storage::PageId id, storage::PageEntry entry) {
    if (entry.kind != storage::PageKind::Log || !failed.is_ok()) return;
    const ByteSpan page = media.region(id.region).bytes(id.offset(), kPageBytes);
    storage::charge_nvm_read(page.data(), page.size());
    bool readable = true;
    const auto header = read_segment_header(page, seed, readable);
    if (!readable) {
      failed = storage::media_fault_status("log: segment header");
    } else if (header && header->stream == entry.owner) {
      failed = scan_segment(page, *header, id, seed, scan);
    } else {
      failed = check_abandoned(page, id, entry.owner, seed, covered);
      scan.abandoned.push_back(id);
    }
  });
  NVMDB_TRY(failed);
  return scan;
}

}  // namespace nvmdb::wal
