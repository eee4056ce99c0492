#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "engine/table.h"
#include "index/key.h"
#include "storage/base/bytes.h"
#include "storage/page/page.h"
#include "wal/epoch.h"

namespace nvmdb::engine {

// Layout of a tuple page: an NVM page that holds tuples, of any table.
//
//   0    header, 64 bytes, never changed: magic, version, sequence, checksum
//   64   used word: how far the page is filled and published; checked, changed by one 8-byte store
//   256  slots, one after the other, each a multiple of 8 bytes
//
// A slot: slot word, Tid, {checksum, table, key words}, {row length, hint}, key words, row, zeros. The slot word says what
// the slot is and how long, so that the next one is found also when this one never became durable. The hint says where the
// record head is in DRAM, for the process that wrote it only; no checksum covers it.

inline constexpr std::uint64_t kTuplePageHeaderBytes = 256;
inline constexpr std::uint64_t kUsedWordOffset = 64;
inline constexpr std::size_t kSlotHeaderBytes = 32;

enum class SlotState : std::uint8_t {
  Pending = 1,  ///< overflow: holds a tuple that is not durable, or nothing
  Valid = 2,    ///< a checkpoint tuple, or a tombstone
  Filler = 3,   ///< padding
};

struct SlotWord {
  SlotState state = SlotState::Pending;
  std::uint32_t bytes = 0;  ///< of the whole slot
};

/// Bytes of the slot of a row.
[[nodiscard]] constexpr std::size_t slot_bytes(std::uint32_t key_words, std::size_t row_bytes) {
  return kSlotHeaderBytes + key_words * 8 + static_cast<std::size_t>(align_up(row_bytes, 8));
}

/// A slot word belongs to one place of one life of a page; elsewhere it does not check.
[[nodiscard]] std::uint64_t encode_slot_word(std::uint64_t page_sequence, std::uint64_t at, const SlotWord& word);
[[nodiscard]] std::optional<SlotWord> decode_slot_word(std::uint64_t page_sequence, std::uint64_t at, std::uint64_t raw);

[[nodiscard]] std::uint64_t encode_used_word(std::uint64_t page_sequence, std::uint64_t used);
[[nodiscard]] std::optional<std::uint64_t> decode_used_word(std::uint64_t page_sequence, std::uint64_t raw);

/// The first 64 bytes of a page.
void encode_tuple_page_header(std::uint64_t page_sequence, std::uint32_t seed, std::byte* to);
/// The page's sequence, or nothing when the header does not check.
[[nodiscard]] std::optional<std::uint64_t> decode_tuple_page_header(const std::byte* page, std::uint32_t seed);

/// A slot in mapped memory. What it says may be believed once verify() was true, or in a page that this process wrote.
class SlotView {
 public:
  explicit SlotView(const std::byte* slot) : slot_(slot) {}

  [[nodiscard]] wal::Tid tid() const { return {load<std::uint64_t>(8)}; }
  [[nodiscard]] bool is_tombstone() const { return tid().absent(); }
  [[nodiscard]] TableId table() const { return static_cast<TableId>(identity() >> 32U); }
  [[nodiscard]] std::uint32_t key_words() const { return static_cast<std::uint8_t>(identity() >> 48U); }
  [[nodiscard]] ByteSpan row() const { return {slot_ + kSlotHeaderBytes + key_words() * 8, load<std::uint32_t>(24)}; }
  [[nodiscard]] std::size_t bytes() const { return slot_bytes(key_words(), load<std::uint32_t>(24)); }
  [[nodiscard]] index::Key key() const {
    index::Key key;
    key.count = key_words();
    std::memcpy(key.words.data(), slot_ + kSlotHeaderBytes, key.count * 8);
    return key;
  }
  /// See encode_slot_content().
  [[nodiscard]] std::uint32_t hint() const { return load<std::uint32_t>(28); }
  /// Older copies of a deleted key are in pages with this sequence or a lower one.
  [[nodiscard]] std::uint64_t barrier() const {
    std::uint64_t value = 0;
    if (row().size() == sizeof(value)) std::memcpy(&value, row().data(), sizeof(value));
    return value;
  }
  /// True when the slot of `bytes` is whole and belongs to this place of this life of the page.
  [[nodiscard]] bool verify(std::uint64_t page_sequence, std::uint64_t at, std::uint32_t bytes, std::uint32_t seed) const;
  [[nodiscard]] const std::byte* address() const { return slot_; }

 private:
  /// Read whole: the checkpointer may put the checksum into it at the moment.
  [[nodiscard]] std::uint64_t identity() const {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(slot_ + 16), __ATOMIC_RELAXED);
  }
  template <class T>
  [[nodiscard]] T load(std::size_t at) const {
    T value;
    std::memcpy(&value, slot_ + at, sizeof(T));
    return value;
  }
  const std::byte* slot_;
};

/// The word of a slot that holds checksum, table and key width (offset 16).
[[nodiscard]] std::uint64_t encode_identity_word(std::uint32_t checksum, TableId table, std::uint32_t key_words);

/// Checksum of a slot of `bytes` as it lies at `slot`, all but its slot word, its hint and the checksum itself.
[[nodiscard]] std::uint32_t slot_checksum(std::uint64_t page_sequence, std::uint64_t at, std::uint32_t seed,
                                          const std::byte* slot, std::size_t bytes);

/// Writes everything but the slot word and the checksum to `to` (slot_bytes() of it). The padding is zeroed.
void encode_slot_content(std::byte* to, wal::Tid tid, TableId table, const index::Key& key, ByteSpan row,
                         std::uint32_t hint);

}  // namespace nvmdb::engine
