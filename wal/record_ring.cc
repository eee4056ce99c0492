#include "wal/record_ring.h"

#include <bit>
#include <cstring>

#include "storage/base/check.h"

namespace nvmdb::wal {

RecordRing::RecordRing(std::uint64_t bytes)
    : capacity_(bytes), bytes_(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64}))) {
  NVMDB_CHECK(std::has_single_bit(bytes) && bytes >= 4096, "a ring needs a power of two of bytes");
}

bool RecordRing::reserve(std::uint64_t payload_bytes) {
  NVMDB_CHECK(!reserved_, "an appender holds one reservation at a time");
  NVMDB_CHECK(payload_bytes <= longest_payload(), "record longer than half a ring");
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::uint64_t frame = frame_bytes(payload_bytes);
  const std::uint64_t skip = frame <= to_end(tail) ? 0 : to_end(tail);
  if (tail + skip + frame - head_seen_ > capacity_) {
    head_seen_ = head_.load(std::memory_order_acquire);
    if (tail + skip + frame - head_seen_ > capacity_) return false;
  }
  frame_at_ = tail + skip;
  payload_bytes_ = payload_bytes;
  reserved_ = true;
  return true;
}

void RecordRing::publish(Tid tid, std::uint64_t charge) {
  NVMDB_CHECK(reserved_, "publish without a reservation");
  reserved_ = false;
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (frame_at_ != tail) {
    const Frame skip{.payload_bytes = kSkip};
    std::memcpy(at(tail), &skip, sizeof(skip));
  }
  const Frame frame{.tid = tid.value, .charge = charge, .payload_bytes = payload_bytes_};
  std::memcpy(at(frame_at_), &frame, sizeof(frame));
  tail_.store(frame_at_ + frame_bytes(payload_bytes_), std::memory_order_seq_cst);
}

std::optional<RecordRing::Entry> RecordRing::front() {
  for (;;) {
    if (cursor_ == tail_seen_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (cursor_ == tail_seen_) return std::nullopt;
    }
    Frame frame;
    std::memcpy(&frame, at(cursor_), sizeof(frame));
    if (frame.payload_bytes != kSkip) {
      return Entry{{frame.tid}, {at(cursor_) + sizeof(frame), frame.payload_bytes}, frame.charge};
    }
    cursor_ += to_end(cursor_);
  }
}

void RecordRing::pop() {
  Frame frame;
  std::memcpy(&frame, at(cursor_), sizeof(frame));
  cursor_ += frame_bytes(frame.payload_bytes);
}

}  // namespace nvmdb::wal
