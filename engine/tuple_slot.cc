#include "engine/tuple_slot.h"

#include <array>

#include "storage/base/crc32c.h"

namespace nvmdb::engine {

namespace {

constexpr std::uint64_t kMagic = 0x4547415050544d4eULL;
constexpr std::uint64_t kVersion = 1;

struct PageHeader {
  std::uint64_t magic = kMagic;
  std::uint64_t version = kVersion;
  std::uint64_t sequence = 0;
  std::array<std::uint64_t, 4> reserved{};
  std::uint64_t checksum = 0;
};
static_assert(sizeof(PageHeader) == 64);

template <class T>
ByteSpan bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::uint64_t header_checksum(PageHeader header, std::uint32_t seed) {
  header.checksum = 0;
  return crc32c(bytes_of(header), seed);
}

/// 16 bits that tie a word to its place.
std::uint64_t word_check(std::uint64_t sequence, std::uint64_t at, std::uint64_t low) {
  const std::uint32_t crc = crc32c(bytes_of(std::array{sequence, at, low}));
  return ((crc >> 16U) ^ crc) & 0xffffU;
}

constexpr std::uint64_t kLowMask = (1ULL << 48U) - 1;

}  // namespace

std::uint64_t encode_slot_word(std::uint64_t page_sequence, std::uint64_t at, const SlotWord& word) {
  const std::uint64_t low = (std::uint64_t{static_cast<std::uint8_t>(word.state)} << 32U) | word.bytes;
  return (word_check(page_sequence, at, low) << 48U) | low;
}

std::optional<SlotWord> decode_slot_word(std::uint64_t page_sequence, std::uint64_t at, std::uint64_t raw) {
  const std::uint64_t low = raw & kLowMask;
  if (raw >> 48U != word_check(page_sequence, at, low)) return std::nullopt;
  const std::uint64_t state = low >> 32U;
  const auto bytes = static_cast<std::uint32_t>(low);
  if (state < 1 || state > 3 || bytes < 8 || bytes % 8 != 0 || bytes > storage::kPageBytes - at) return std::nullopt;
  if (state != static_cast<std::uint64_t>(SlotState::Filler) && bytes < kSlotHeaderBytes) return std::nullopt;
  return SlotWord{static_cast<SlotState>(state), bytes};
}

std::uint64_t encode_used_word(std::uint64_t page_sequence, std::uint64_t used) {
  return (word_check(page_sequence, kUsedWordOffset, used) << 48U) | used;
}

std::optional<std::uint64_t> decode_used_word(std::uint64_t page_sequence, std::uint64_t raw) {
  const std::uint64_t used = raw & kLowMask;
  if (raw >> 48U != word_check(page_sequence, kUsedWordOffset, used)) return std::nullopt;
  if (used < kTuplePageHeaderBytes || used > storage::kPageBytes || used % 8 != 0) return std::nullopt;
  return used;
}

void encode_tuple_page_header(std::uint64_t page_sequence, std::uint32_t seed, std::byte* to) {
  PageHeader header;
  header.sequence = page_sequence;
  header.checksum = header_checksum(header, seed);
  std::memcpy(to, &header, sizeof(header));
}

std::optional<std::uint64_t> decode_tuple_page_header(const std::byte* page, std::uint32_t seed) {
  PageHeader header;
  std::memcpy(&header, page, sizeof(header));
  const bool good = header.magic == kMagic && header.version == kVersion && header.sequence != 0 &&
                    header.checksum == header_checksum(header, seed);
  return good ? std::optional(header.sequence) : std::nullopt;
}

std::uint64_t encode_identity_word(std::uint32_t checksum, TableId table, std::uint32_t key_words) {
  return std::uint64_t{checksum} | (std::uint64_t{table} << 32U) | (std::uint64_t{key_words} << 48U);
}

std::uint32_t slot_checksum(std::uint64_t page_sequence, std::uint64_t at, std::uint32_t seed, wal::Tid tid,
                            TableId table, const index::Key& key, ByteSpan row) {
  const std::array<std::uint64_t, 5> head{page_sequence, at, tid.value, (std::uint64_t{key.count} << 16U) | table,
                                          row.size()};
  const std::uint32_t crc = crc32c(std::as_bytes(key.span()), crc32c(bytes_of(head), seed));
  return crc32c(row, crc);
}

void encode_slot_content(std::byte* to, std::uint32_t checksum, wal::Tid tid, TableId table, const index::Key& key,
                         ByteSpan row) {
  const std::array<std::uint64_t, 3> head{tid.value, encode_identity_word(checksum, table, key.count), row.size()};
  std::memcpy(to + 8, head.data(), sizeof(head));
  std::memcpy(to + kSlotHeaderBytes, key.words.data(), key.count * 8);
  std::byte* place = to + kSlotHeaderBytes + key.count * 8;
  if (!row.empty()) std::memcpy(place, row.data(), row.size());
  std::memset(place + row.size(), 0, align_up(row.size(), 8) - row.size());
}

bool SlotView::verify(std::uint64_t page_sequence, std::uint64_t at, std::uint32_t bytes, std::uint32_t seed) const {
  const std::uint32_t words = key_words();
  if (words == 0 || words > index::kMaxKeyWords || load<std::uint32_t>(28) != 0 || load<std::uint8_t>(23) != 0) return false;
  if (slot_bytes(words, load<std::uint32_t>(24)) != bytes) return false;
  return slot_checksum(page_sequence, at, seed, tid(), table(), key(), row()) == load<std::uint32_t>(16);
}

}  // namespace nvmdb::engine
