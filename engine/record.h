#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/arena.h"
#include "storage/base/bytes.h"
#include "wal/epoch.h"

namespace nvmdb::engine {

/// A row version in DRAM: a word of sizes, then the bytes. All words are atomic, because a reader may copy while a
/// writer stores; the reader then finds that the Tid changed and throws the copy away.
class alignas(8) Tuple {
 public:
  static constexpr std::size_t kHeaderBytes = 8;
  static constexpr std::size_t kLinesPrefetched = 5;

  [[nodiscard]] static std::size_t block_bytes(std::size_t row_bytes) {
    return kHeaderBytes + static_cast<std::size_t>(align_up(row_bytes, 8));
  }
  /// Makes a tuple in a block of `block` bytes (a multiple of 8).
  [[nodiscard]] static Tuple* create(std::byte* memory, std::size_t block) {
    auto* tuple = reinterpret_cast<Tuple*>(memory);
    tuple->word(0).store((std::uint64_t{block - kHeaderBytes} << 32U), std::memory_order_relaxed);
    return tuple;
  }
  [[nodiscard]] std::uint32_t capacity() const {
    return static_cast<std::uint32_t>(word(0).load(std::memory_order_acquire) >> 32U);
  }
  [[nodiscard]] std::size_t block_bytes() const { return kHeaderBytes + capacity(); }

  /// The caller holds the record's lock, or the tuple was not published yet; row.size() <= capacity().
  void store(ByteSpan row) {
    const std::uint64_t sizes = word(0).load(std::memory_order_relaxed);
    word(0).store((sizes >> 32U << 32U) | row.size(), std::memory_order_release);
    std::size_t at = 0;
    std::size_t place = 1;
    for (; at + 8 <= row.size(); at += 8, ++place) {
      std::uint64_t value;
      std::memcpy(&value, row.data() + at, 8);
      word(place).store(value, std::memory_order_release);
    }
    if (at < row.size()) {
      std::uint64_t value = 0;
      std::memcpy(&value, row.data() + at, row.size() - at);
      word(place).store(value, std::memory_order_release);
    }
  }
  /// Asks for the first lines of the row; the processor fetches those behind them itself.
  void prefetch() const {
    for (std::size_t line = 0; line < kLinesPrefetched; ++line) {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(this) + line * 64);
    }
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::uint32_t>(word(0).load(std::memory_order_acquire));
  }
  /// Stores bytes inside the row. As store(); offset + bytes.size() <= row_bytes().
  void store_part(std::size_t offset, ByteSpan bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t in_word = (offset + at) % 8;
      const std::size_t count = bytes.size() - at < 8 - in_word ? bytes.size() - at : 8 - in_word;
      const auto place = word(1 + (offset + at) / 8);
      std::uint64_t value = place.load(std::memory_order_relaxed);
      std::memcpy(reinterpret_cast<std::byte*>(&value) + in_word, bytes.data() + at, count);
      place.store(value, std::memory_order_release);
      at += count;
    }
  }
  /// Copies up to `count` bytes from `offset` on, torn or not; data() is nullptr when the arena is full.
  [[nodiscard]] ByteSpan copy(TransactionArena& arena, std::size_t offset, std::size_t count) const {
    const std::size_t row = row_bytes();
    const std::size_t begin = offset < row ? offset : row;
    const std::size_t end = row - begin < count ? row : begin + count;
    const std::size_t first = begin / 8;
    const std::size_t words = (end + 7) / 8 - first;
    std::byte* to = arena.allocate(words == 0 ? 8 : words * 8);
    if (to == nullptr) return {};
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t value = word(1 + first + i).load(std::memory_order_acquire);
      std::memcpy(to + i * 8, &value, 8);
    }
    return {to + begin % 8, end - begin};
  }

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t i) const {
    return std::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t*>(const_cast<Tuple*>(this))[i]);
  }
};

/// Where the newest version of a record is: two bits of kind, 48 bits of address. A record moves by changing this word.
class TupleAddress {
 public:
  enum class Kind : std::uint8_t { None = 0, Dram = 1, NvmPage = 2 };

  constexpr TupleAddress() = default;
  explicit constexpr TupleAddress(std::uint64_t word) : word_(word) {}
  explicit TupleAddress(const Tuple* tuple)
      : word_((std::uint64_t{static_cast<std::uint8_t>(Kind::Dram)} << 62U) | reinterpret_cast<std::uintptr_t>(tuple)) {}

  /// A slot of a tuple page.
  [[nodiscard]] static TupleAddress in_nvm(const std::byte* slot) {
    return TupleAddress((std::uint64_t{static_cast<std::uint8_t>(Kind::NvmPage)} << 62U) |
                        reinterpret_cast<std::uintptr_t>(slot));
  }

  [[nodiscard]] std::uint64_t word() const { return word_; }
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(word_ >> 62U); }
  /// nullptr unless the kind is Dram.
  [[nodiscard]] Tuple* tuple() const {
    return kind() == Kind::Dram ? reinterpret_cast<Tuple*>(word_ & kAddressMask) : nullptr;
  }
  /// nullptr unless the kind is NvmPage.
  [[nodiscard]] const std::byte* slot() const {
    return kind() == Kind::NvmPage ? reinterpret_cast<const std::byte*>(word_ & kAddressMask) : nullptr;
  }

 private:
  static constexpr std::uint64_t kAddressMask = (1ULL << 48U) - 1;
  std::uint64_t word_ = 0;
};

/// What the index points at: version word and place of one record. Lives in DRAM only; lock bits never reach NVM.
///
/// Protocol: who holds the lock bit stores the row (release stores), then unlocks with a release store of the new Tid.
/// A reader reads the Tid (acquire), copies the row (acquire loads) and reads the Tid again: equal and unlocked means
/// that the copy is whole. A record that the collector took out of the index is dead: locked for ever.
class alignas(32) RecordHead {
 public:
  static constexpr std::uint64_t kDead = ~0ULL;

  /// A record that does not exist yet.
  RecordHead() : tid_(wal::Tid::kAbsentBit) {}

  /// For validation: in one total order with the locks of all writers.
  [[nodiscard]] wal::Tid tid() const { return {tid_.load(std::memory_order_seq_cst)}; }
  /// Waits a bounded time; false when another holds the lock for longer, or the record is dead. `seen` is the unlocked
  /// word.
  [[nodiscard]] bool lock(wal::Tid& seen);
  void unlock(wal::Tid tid) { tid_.store(tid.value, std::memory_order_release); }

  [[nodiscard]] TupleAddress location() const { return TupleAddress(location_.load(std::memory_order_acquire)); }
  void set_location(TupleAddress address) { location_.store(address.word(), std::memory_order_release); }

  /// The newest copy of the record in the checkpoint, or in the one that is being made; nullptr when there is none that a
  /// deletion would have to cover. The checkpointer's, changed under the lock.
  [[nodiscard]] const std::byte* home() const { return home_.load(std::memory_order_acquire); }
  void set_home(const std::byte* slot) { home_.store(slot, std::memory_order_release); }

  /// On a list of records that the checkpointer has to look at. Changed under the lock.
  [[nodiscard]] bool dirty() const { return dirty_.load(std::memory_order_relaxed); }
  void set_dirty(bool dirty) { dirty_.store(dirty, std::memory_order_relaxed); }

  /// Was its tuple in DRAM read since the last call? A hint for eviction.
  [[nodiscard]] bool take_referenced() {
    const bool referenced = referenced_.load(std::memory_order_relaxed);
    if (referenced) referenced_.store(false, std::memory_order_relaxed);
    return referenced;
  }

  /// True for the one caller who is to put the record on a list of records to unlink.
  [[nodiscard]] bool claim_unlink() { return !unlink_claimed_.exchange(true, std::memory_order_acq_rel); }
  void release_unlink() { unlink_claimed_.store(false, std::memory_order_release); }

  /// Damaged: the row lies where the medium cannot be read (last_media_fault() says where).
  enum class Outcome : std::uint8_t { Row, Absent, Busy, NoMemory, Damaged };
  struct Copy {
    Outcome outcome = Outcome::Busy;
    wal::Tid tid;
    ByteSpan row;
  };
  /// A consistent copy of the record, or of `bytes` bytes of it.
  [[nodiscard]] Copy read(TransactionArena& arena, std::size_t offset = 0, std::size_t bytes = ~std::size_t{0}) const;

 private:
  std::atomic<std::uint64_t> tid_;
  std::atomic<std::uint64_t> location_{0};
  std::atomic<const std::byte*> home_{nullptr};
  std::atomic<bool> unlink_claimed_{false};
  std::atomic<bool> dirty_{false};
  mutable std::atomic<bool> referenced_{false};
};
static_assert(sizeof(RecordHead) == 32);

}  // namespace nvmdb::engine
