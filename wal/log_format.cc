#include "wal/log_format.h"

#include <bit>
#include <cstring>

#include "storage/base/check.h"
#include "storage/base/crc32c.h"
#include "storage/page/page.h"

namespace nvmdb::wal {
namespace {

constexpr std::uint64_t kSegmentMagic = 0x3147'4553'474f'4c4eULL;  // "NLOGSEG1"
constexpr std::uint64_t kBlockMagic = 0x314b'4c42'474f'4c4eULL;    // "NLOGBLK1"

template <class T>
ByteSpan bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <class T>
std::uint32_t checksum(T header, ByteSpan payload, std::uint32_t seed) {
  header.crc = 0;
  return crc32c(payload, crc32c(bytes_of(header), seed));
}

}  // namespace

std::uint32_t checksum_seed(const storage::PoolIdentity& identity) {
  return crc32c(std::as_bytes(std::span(identity.uuid)));
}

void encode_segment_header(SegmentHeader header, std::uint32_t seed, std::span<std::byte> segment) {
  NVMDB_CHECK(segment.size() >= sizeof(header), "no room for a segment header");
  header.magic = kSegmentMagic;
  header.version = kLogFormatVersion;
  header.crc = checksum(header, {}, seed);
  std::memcpy(segment.data(), &header, sizeof(header));
}

std::optional<SegmentHeader> decode_segment_header(ByteSpan page, std::uint32_t seed) {
  SegmentHeader header;
  if (page.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, page.data(), sizeof(header));
  const bool sane = header.magic == kSegmentMagic && header.version == kLogFormatVersion &&
                    header.stream < kMaxStreams && header.crc == checksum(header, {}, seed) &&
                    std::has_single_bit(header.unit_bytes) && header.unit_bytes > sizeof(BlockHeader) &&
                    header.unit_bytes <= storage::kPageBytes / 4;
  if (!sane) return std::nullopt;
  return header;
}

void encode_block_header(BlockHeader header, std::uint32_t seed, std::span<std::byte> block) {
  NVMDB_CHECK(block.size() >= sizeof(header) && block.size() - sizeof(header) >= header.payload_bytes,
              "a block is longer than its room");
  header.magic = kBlockMagic;
  header.version = kLogFormatVersion;
  header.crc = checksum(header, block.subspan(sizeof(header), header.payload_bytes), seed);
  std::memcpy(block.data(), &header, sizeof(header));
}

std::optional<BlockHeader> decode_block(ByteSpan bytes, std::uint32_t seed) {
  BlockHeader header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header.magic, bytes.data(), sizeof(header.magic));
  if (header.magic != kBlockMagic) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const bool sane = header.version == kLogFormatVersion && header.stream < kMaxStreams &&
                    header.payload_bytes > 0 && header.payload_bytes <= bytes.size() - sizeof(header) &&
                    (header.flags & ~kEndOfGroup) == 0 && header.previous < header.epoch;
  if (!sane) return std::nullopt;
  if ((header.flags & kEndOfGroup) != 0) {
    const bool named = ((header.streams >> header.stream) & 1U) != 0;
    if (!named || header.group_blocks == 0 || header.group_blocks - 1 > header.sequence) return std::nullopt;
  }
  if (header.crc != checksum(header, bytes.subspan(sizeof(header), header.payload_bytes), seed))
    return std::nullopt;
  return header;
}

}  // namespace nvmdb::wal
