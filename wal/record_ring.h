#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "storage/base/bytes.h"
#include "wal/epoch.h"

namespace nvmdb::wal {

/// DRAM buffer of one appender: records wait in it, each contiguous, from publish() until the log has them.
/// Threads: one producer (the appender), one consumer at a time (who holds the group commit). tail_ is stored
/// by the producer with seq_cst and loaded with acquire by the consumer, which then sees the frame; head_ is
/// stored with release by the consumer and loaded with acquire by the producer, which then may overwrite. The
/// seq_cst of tail_ pairs with the flusher, who declares that he sleeps and then looks at tail_.
class RecordRing {
 public:
  /// `bytes`: power of two, at least 4096.
  explicit RecordRing(std::uint64_t bytes);
  RecordRing(const RecordRing&) = delete;
  RecordRing& operator=(const RecordRing&) = delete;

  /// Half of the ring: such a record always fits when the ring is empty, wherever it wraps.
  [[nodiscard]] std::uint64_t longest_payload() const { return capacity_ / 2 - sizeof(Frame); }

  // Producer.
  /// False: no room now.
  [[nodiscard]] bool reserve(std::uint64_t payload_bytes);
  [[nodiscard]] bool reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t reserved_bytes() const { return payload_bytes_; }
  [[nodiscard]] std::byte* payload() const { return at(frame_at_) + sizeof(Frame); }
  /// `charge`: log space that was set aside for the record.
  void publish(Tid tid, std::uint64_t charge);
  void cancel() { reserved_ = false; }

  // Consumer.
  struct Entry {
    Tid tid;
    ByteSpan payload;
    std::uint64_t charge = 0;
  };
  /// The oldest record not popped.
  [[nodiscard]] std::optional<Entry> front();
  void pop();
  /// Gives the room of all popped records back.
  void release() { head_.store(cursor_, std::memory_order_release); }

  // Any thread.
  [[nodiscard]] std::uint64_t pending_bytes() const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_seq_cst) - head;
  }

 private:
  struct Frame {
    std::uint64_t tid = 0;
    std::uint64_t charge = 0;
    std::uint64_t payload_bytes = 0;  ///< kSkip: go on at the beginning of the ring
    std::uint64_t reserved = 0;
  };
  static constexpr std::uint64_t kSkip = ~0ULL;
  static constexpr std::uint64_t kAlignment = sizeof(Frame);  // a frame never wraps

  struct FreeAligned {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
  };

  [[nodiscard]] std::byte* at(std::uint64_t position) const {
    return bytes_.get() + (position & (capacity_ - 1));
  }
  [[nodiscard]] std::uint64_t to_end(std::uint64_t position) const {
    return capacity_ - (position & (capacity_ - 1));
  }
  [[nodiscard]] static std::uint64_t frame_bytes(std::uint64_t payload) {
    return align_up(sizeof(Frame) + payload, kAlignment);
  }

  const std::uint64_t capacity_;
  const std::unique_ptr<std::byte[], FreeAligned> bytes_;

  alignas(128) std::atomic<std::uint64_t> tail_{0};  ///< end of what is published
  std::uint64_t head_seen_ = 0;                      ///< producer's copy of head_
  std::uint64_t frame_at_ = 0;                       ///< where the reserved record goes
  std::uint64_t payload_bytes_ = 0;
  bool reserved_ = false;

  alignas(128) std::atomic<std::uint64_t> head_{0};  ///< beginning of what is kept
  std::uint64_t tail_seen_ = 0;                      ///< consumer's copy of tail_
  std::uint64_t cursor_ = 0;                         ///< consumer: next record to pop
};

}  // namespace nvmdb::wal
