#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "storage/base/bytes.h"

namespace nvmdb::engine {

/// Memory of one transaction: allocation moves a cursor, all is given back at once. Keeps its first chunks, so that a
/// session in steady state allocates nothing.
/// Threads: one.
class TransactionArena {
 public:
  /// What one transaction may hold; above it allocate() says no.
  static constexpr std::size_t kBytesMax = 1ULL << 30U;

  struct Mark {
    std::size_t chunk = 0;
    std::size_t used = 0;
  };

  /// 8-byte aligned; nullptr when the transaction holds too much.
  [[nodiscard]] std::byte* allocate(std::size_t bytes) {
    bytes = static_cast<std::size_t>(align_up(bytes, 8));
    if (place_.chunk < chunks_.size() && bytes <= chunks_[place_.chunk].bytes - place_.used) [[likely]] {
      place_.used += bytes;
      return chunks_[place_.chunk].data.get() + place_.used - bytes;
    }
    return allocate_in_next(bytes);
  }
  [[nodiscard]] Mark mark() const { return place_; }
  /// Gives back all that was allocated since.
  void rewind(Mark mark) { place_ = mark; }
  void reset() {
    place_ = {};
    while (chunks_.size() > kChunksKept) {
      held_ -= chunks_.back().bytes;
      chunks_.pop_back();
    }
  }

 private:
  static constexpr std::size_t kFirstChunkBytes = 64ULL << 10U;
  static constexpr std::size_t kChunksKept = 4;
  struct Chunk {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
  };

  [[nodiscard]] std::byte* allocate_in_next(std::size_t bytes) {
    std::size_t next = chunks_.empty() ? 0 : place_.chunk + 1;
    while (next < chunks_.size() && chunks_[next].bytes < bytes) ++next;
    if (next >= chunks_.size()) {
      const std::size_t chunk_bytes = std::max(bytes, kFirstChunkBytes << std::min<std::size_t>(chunks_.size(), 6));
      if (chunk_bytes > kBytesMax - held_) return nullptr;
      std::unique_ptr<std::byte[]> data(new (std::nothrow) std::byte[chunk_bytes]);
      if (data == nullptr) return nullptr;
      chunks_.push_back({std::move(data), chunk_bytes});
      held_ += chunk_bytes;
      next = chunks_.size() - 1;
    }
    place_ = {next, bytes};
    return chunks_[next].data.get();
  }

  std::vector<Chunk> chunks_;
  Mark place_;
  std::size_t held_ = 0;
};

}  // namespace nvmdb::engine
