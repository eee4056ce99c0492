#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "storage/base/bytes.h"
#include "storage/nvm/media.h"
#include "wal/epoch.h"

// The bytes of the log on the media, and nothing else: no I/O here. README.md explains the format.
namespace nvmdb::wal {

inline constexpr std::uint32_t kLogFormatVersion = 1;
inline constexpr std::uint32_t kMaxStreams = 64;

/// First bytes of a segment (one NVM page). Blocks begin at `unit_bytes`.
struct SegmentHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t stream = 0;
  std::uint64_t incarnation =
      0;                       ///< of the page: each of its blocks repeats it; never the same twice in a pool
  std::uint64_t sequence = 0;  ///< of the segment in its stream
  std::uint64_t session = 0;   ///< that prepared the page
  std::uint32_t unit_bytes = 0;  ///< blocks are aligned to it
  std::uint32_t crc = 0;         ///< CRC32C of the header with crc = 0, seeded with the pool's uuid
};
static_assert(std::is_trivially_copyable_v<SegmentHeader> && sizeof(SegmentHeader) == 48);
static_assert(offsetof(SegmentHeader, incarnation) == 16 && offsetof(SegmentHeader, crc) == 44);

/// First bytes of a block; the payload follows, then zeros up to the next unit.
/// A group is what one group commit wrote: its blocks of one stream carry a piece each of one string of
/// records.
struct BlockHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t stream = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;  ///< of the block in its stream and session, without gaps
  std::uint64_t epoch = 0;     ///< label of the group: its records have epochs <= it
  std::uint64_t previous = 0;  ///< label of the group before this one, in any stream
  std::uint64_t streams = 0;   ///< in the last block of a stream's part: bit s: stream s has a part
  std::uint32_t flags = 0;     ///< kEndOfGroup
  std::uint32_t payload_bytes = 0;
  std::uint32_t group_blocks = 0;  ///< in the last block: number of blocks of the part
  std::uint32_t crc = 0;           ///< CRC32C of header (crc = 0) and payload, seeded with the pool's uuid
};
static_assert(std::is_trivially_copyable_v<BlockHeader> && sizeof(BlockHeader) == 80);
static_assert(offsetof(BlockHeader, sequence) == 32 && offsetof(BlockHeader, crc) == 76);

inline constexpr std::uint32_t kEndOfGroup = 1;

/// Before each record's payload in the string of records of a group.
struct RecordHeader {
  std::uint64_t tid = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t reserved = 0;  ///< zero
};
static_assert(std::is_trivially_copyable_v<RecordHeader> && sizeof(RecordHeader) == 16);

/// What all checksums of a pool's log begin with, so that bytes of another pool never validate.
[[nodiscard]] std::uint32_t checksum_seed(const storage::PoolIdentity& identity);

/// Fills in magic, version and crc and writes the header to the beginning of `segment`.
void encode_segment_header(SegmentHeader header, std::uint32_t seed, std::span<std::byte> segment);
/// The header at the beginning of a page, if a whole and sane one is there.
[[nodiscard]] std::optional<SegmentHeader> decode_segment_header(ByteSpan page, std::uint32_t seed);

/// Fills in magic, version and crc and writes the header in front of the payload, which is in place:
/// block = header, header.payload_bytes of payload, anything.
void encode_block_header(BlockHeader header, std::uint32_t seed, std::span<std::byte> block);
/// The block that begins at the first of `bytes` and ends inside them, if a whole one is there.
[[nodiscard]] std::optional<BlockHeader> decode_block(ByteSpan bytes, std::uint32_t seed);

/// Bytes a block takes in its segment.
[[nodiscard]] inline std::uint64_t block_extent(const BlockHeader& header, std::uint32_t unit_bytes) {
  return align_up(sizeof(BlockHeader) + header.payload_bytes, unit_bytes);
}

}  // namespace nvmdb::wal
