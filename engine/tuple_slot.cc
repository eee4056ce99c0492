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

/// 16 bits that tie a word to its place: mixed by multiplications, because slot words are made and read all the time.
std::uint64_t word_check(std::uint64_t sequence, std::uint64_t at, std::uint64_t low) {
  std::uint64_t mixed = (sequence ^ 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 31U) ^ at) * 0x94d049bb133111ebULL;
  mixed = (mixed ^ (mixed >> 29U) ^ low) * 0xd6e8feb86659fd93ULL;
  return mixed >> 48U;
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

std::uint32_t slot_checksum(std::uint64_t page_sequence, std::uint64_t at, std::uint32_t seed, const std::byte* slot,
                            std::size_t bytes) {
  std::array<std::uint64_t, 5> head{page_sequence, at, 0, 0, 0};
  std::memcpy(&head[2], slot + 8, 24);
  head[3] &= ~0xffffffffULL;
  head[4] &= 0xffffffffULL;
  return crc32c({slot + kSlotHeaderBytes, bytes - kSlotHeaderBytes}, crc32c(bytes_of(head), seed));
}

void encode_slot_content(std::byte* to, wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                         std::uint32_t hint) {
  const std::array<std::uint64_t, 3> head{tid.value, encode_identity_word(0, table, key.count),
                                          row.size() | (std::uint64_t{hint} << 32U)};
  std::memcpy(to + 8, head.data(), sizeof(head));
  std::memcpy(to + kSlotHeaderBytes, key.words.data(), key.count * 8);
  std::byte* place = to + kSlotHeaderBytes + key.count * 8;
  if (!row.empty()) std::memcpy(place, row.data(), row.size());
  std::memset(place + row.size(), 0, align_up(row.size(), 8) - row.size());
}

bool SlotView::verify(std::uint64_t page_sequence, std::uint64_t at, std::uint32_t bytes, std::uint32_t seed) const {
  const std::uint32_t words = key_words();
  if (words == 0 || words > index::kMaxKeyWords || load<std::uint8_t>(23) != 0) return false;
  if (slot_bytes(words, load<std::uint32_t>(24)) != bytes) return false;
  return slot_checksum(page_sequence, at, seed, slot_, bytes) == load<std::uint32_t>(16);
}

}  // namespace nvmdb::engine
