#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "engine/record.h"
#include "engine/record_memory.h"
#include "engine/table.h"
#include "index/key.h"
#include "storage/base/status.h"

namespace nvmdb::engine {

/// Records that one thread changed since the checkpointer last looked at them, each once: a queue of chunks of hot
/// memory. Threads: one that pushes (any number, one at a time), one that consumes.
class DirtyList {
 public:
  DirtyList() = default;
  DirtyList(const DirtyList&) = delete;
  DirtyList& operator=(const DirtyList&) = delete;

  [[nodiscard]] static std::size_t entry_bytes(std::uint32_t key_words) { return 8 + 8 * std::size_t{key_words}; }

  /// Makes room for entries of `bytes` together; false when the DRAM budget is reached.
  [[nodiscard]] bool reserve(RecordMemory& memory, std::size_t bytes) {
    while (room_ < bytes) {
      void* block = memory.allocate_node(kChunkBytes);
      if (block == nullptr) return false;
      auto* chunk = new (block) Chunk();
      if (spare_last_ == nullptr) {
        spare_first_ = chunk;
      } else {
        spare_last_->next.store(chunk, std::memory_order_relaxed);
      }
      spare_last_ = chunk;
      room_ += kChunkRoom;
    }
    return true;
  }

  /// Needs no memory: room was reserved.
  void push(TableId table, RecordHead* head, const index::Key& key) {
    const std::size_t bytes = entry_bytes(key.count);
    if (last_ == nullptr || last_->used.load(std::memory_order_relaxed) + bytes > kChunkData) start_chunk();
    const std::uint32_t used = last_->used.load(std::memory_order_relaxed);
    const std::uint64_t word = reinterpret_cast<std::uintptr_t>(head) | (std::uint64_t{table} << 48U);
    std::memcpy(last_->data + used, &word, 8);
    std::memcpy(last_->data + used + 8, key.words.data(), key.count * 8);
    last_->used.store(used + static_cast<std::uint32_t>(bytes), std::memory_order_release);
    room_ = room_ > bytes ? room_ - bytes : 0;
  }

  /// Gives each entry that was there when it began to `take(table number, head, words of the key)`. When that fails, the
  /// entry stays, with those behind it. `key_words_of(table number)` is how long the keys of a table are.
  template <class KeyWords, class Take>
  [[nodiscard]] Status consume(RecordMemory& memory, const KeyWords& key_words_of, const Take& take) {
    Chunk* chunk = first_.load(std::memory_order_acquire);
    while (chunk != nullptr) {
      // `next` first: once it is there, `used` is final.
      Chunk* next = chunk->next.load(std::memory_order_acquire);
      const std::uint32_t used = chunk->used.load(std::memory_order_acquire);
      const auto advance = [&](std::uint32_t at) {
        return at + static_cast<std::uint32_t>(entry_bytes(key_words_of(chunk->table(at))));
      };
      // Cursors that run ahead ask for what the entries will need: first the head, nearer the row and its old copy.
      std::uint32_t far = chunk->read;
      std::uint32_t near = chunk->read;
      for (std::uint32_t i = 0; i < kFar && far < used; ++i) far = fetch_head(*chunk, far, advance);
      for (std::uint32_t i = 0; i < kNear && near < used; ++i) near = fetch_row(*chunk, near, advance);
      while (chunk->read < used) {
        if (far < used) far = fetch_head(*chunk, far, advance);
        if (near < used) near = fetch_row(*chunk, near, advance);
        NVMDB_TRY(take(chunk->table(chunk->read), chunk->head(chunk->read), chunk->data + chunk->read + 8));
        chunk->read = advance(chunk->read);
      }
      if (next == nullptr) return Status::ok();
      first_.store(next, std::memory_order_relaxed);
      memory.free_node(chunk, kChunkBytes);
      chunk = next;
    }
    return Status::ok();
  }

  [[nodiscard]] bool empty() const {
    const Chunk* chunk = first_.load(std::memory_order_acquire);
    return chunk == nullptr || (chunk->next.load(std::memory_order_acquire) == nullptr &&
                                chunk->read == chunk->used.load(std::memory_order_acquire));
  }

 private:
  static constexpr std::size_t kChunkBytes = 16ULL << 10U;
  static constexpr std::size_t kChunkData = kChunkBytes - 16;
  /// What a chunk surely takes: an entry is never cut in two.
  static constexpr std::size_t kChunkRoom = kChunkData - 64;
  struct Chunk {
    std::atomic<Chunk*> next{nullptr};
    std::atomic<std::uint32_t> used{0};
    std::uint32_t read = 0;  ///< the consumer's
    std::byte data[kChunkData];

    [[nodiscard]] std::uint64_t word(std::uint32_t at) const {
      std::uint64_t value;
      std::memcpy(&value, data + at, 8);
      return value;
    }
    [[nodiscard]] TableId table(std::uint32_t at) const { return static_cast<TableId>(word(at) >> 48U); }
    [[nodiscard]] RecordHead* head(std::uint32_t at) const {
      return reinterpret_cast<RecordHead*>(word(at) & ((1ULL << 48U) - 1));
    }
  };
  static_assert(sizeof(Chunk) == kChunkBytes);

  static constexpr std::uint32_t kFar = 12;
  static constexpr std::uint32_t kNear = 5;

  template <class Advance>
  static std::uint32_t fetch_head(const Chunk& chunk, std::uint32_t at, const Advance& advance) {
    __builtin_prefetch(chunk.head(at), 1);
    return advance(at);
  }
  /// The head is there as long as it is on the list.
  template <class Advance>
  static std::uint32_t fetch_row(const Chunk& chunk, std::uint32_t at, const Advance& advance) {
    const RecordHead* head = chunk.head(at);
    if (const Tuple* tuple = head->location().tuple(); tuple != nullptr) __builtin_prefetch(tuple);
    if (const std::byte* home = head->home(); home != nullptr) __builtin_prefetch(home);
    return advance(at);
  }

  void start_chunk() {
    NVMDB_CHECK(spare_first_ != nullptr, "a dirty list has no room for what was reserved");
    Chunk* chunk = spare_first_;
    spare_first_ = chunk->next.load(std::memory_order_relaxed);
    if (spare_first_ == nullptr) spare_last_ = nullptr;
    chunk->next.store(nullptr, std::memory_order_relaxed);
    if (last_ == nullptr) {
      first_.store(chunk, std::memory_order_release);
    } else {
      // The rest of the last chunk is lost.
      const std::size_t rest = kChunkRoom > last_->used.load(std::memory_order_relaxed)
                                   ? kChunkRoom - last_->used.load(std::memory_order_relaxed)
                                   : 0;
      room_ = room_ > rest ? room_ - rest : 0;
      last_->next.store(chunk, std::memory_order_release);
    }
    last_ = chunk;
  }

  std::atomic<Chunk*> first_{nullptr};  ///< stored once by the producer, then by the consumer
  Chunk* last_ = nullptr;               ///< the producer's
  Chunk* spare_first_ = nullptr;
  Chunk* spare_last_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace nvmdb::engine
