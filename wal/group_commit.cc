#include <bit>

#include "storage/base/check.h"
#include "storage/base/fail_point.h"
#include "wal/log_impl.h"

namespace nvmdb::wal {
namespace {

/// A stream's part of a group is handed to its writer thread from this size on; below, waking one costs more.
constexpr std::uint64_t kHandOverBytes = 64ULL << 10U;

}  // namespace

template <class Done>
Status LogImpl::drive(const Done& done) {
  while (!done()) {
    if (failed()) return failure();
    const std::uint32_t seen = generation_.load(std::memory_order_acquire);
    if (!leader_.try_lock()) {
      generation_.wait(seen, std::memory_order_acquire);
      continue;
    }
    const bool was_done = done();
    const Status status = was_done ? Status::ok() : close_group();
    leader_.unlock();
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    if (was_done) return Status::ok();
    NVMDB_TRY(status);
  }
  return Status::ok();
}

Status LogImpl::wait_durable(Epoch epoch) {
  const auto done = [&] { return durable_epoch() >= epoch; };
  if (done()) return Status::ok();
  if (epoch > clock_.current()) {
    return Status::invalid_argument("wait for epoch " + std::to_string(epoch.value) +
                                    ", but the current one is " + std::to_string(clock_.current().value));
  }
  return drive(done);
}

Status LogImpl::reserve_in(RecordRing& ring, std::uint64_t payload_bytes) {
  if (ring.reserve(payload_bytes)) return Status::ok();
  bool reserved = false;
  return drive([&] { return reserved || (reserved = ring.reserve(payload_bytes)); });
}

Status LogImpl::close_group() {
  if (failed()) return failure();
  const Epoch epoch = clock_.close_current();
  const GroupLabel label{epoch, previous_, find_streams(epoch)};
  if (options_.planted_bug == PlantedBug::AcknowledgeBeforeFence) {
    durable_.store(epoch.value, std::memory_order_release);
  }
  if (label.streams != 0) {
    if (const Status status = write_group(label); !status.is_ok()) {
      fail(status);
      return status;
    }
    previous_ = epoch;
  }
  NVMDB_FAIL_POINT("wal.durable");
  LogCounters::add(counters_->epochs_closed, 1);
  durable_.store(epoch.value, std::memory_order_release);
  return Status::ok();
}

std::uint64_t LogImpl::find_streams(Epoch epoch) {
  std::uint64_t found = 0;
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = *streams_[i];
    {
      const MutexLock lock(stream.mutex);
      for (std::size_t ring = stream.rings.size(); ring < stream.slots.size(); ++ring) {
        stream.rings.push_back(&stream.slots[ring]->ring);
      }
    }
    for (RecordRing* ring : stream.rings) {
      const auto record = ring->front();
      if (record && record->tid.epoch() <= epoch) found |= 1ULL << i;
    }
  }
  return found;
}

Status LogImpl::write_group(const GroupLabel& label) {
  std::uint64_t handed = 0;
  if (writers_) {
    for (std::uint32_t i = 0; i < streams_.size(); ++i) {
      if ((label.streams >> i & 1U) != 0 && pending_bytes(i) >= kHandOverBytes) handed |= 1ULL << i;
    }
    handed &= handed - 1;  // one large part is the leader's own
  }
  Status result;
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    if ((handed >> i & 1U) != 0) writers_->submit(i, label);
  }
  const std::uint64_t own = label.streams & ~handed;
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    if ((own >> i & 1U) != 0) write_part(i, label);
  }
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    if ((label.streams >> i & 1U) == 0) continue;
    const Status status = (handed >> i & 1U) != 0 ? writers_->wait(i) : streams_[i]->writer.fence();
    if (result.is_ok()) result = status;
  }
  return result;
}

void LogImpl::write_part(std::uint32_t index, const GroupLabel& label) {
  Stream& stream = *streams_[index];
  stream.writer.begin(label);
  for (RecordRing* ring : stream.rings) {
    for (auto record = ring->front(); record && record->tid.epoch() <= label.epoch; record = ring->front()) {
      stream.writer.append(record->tid, record->payload, record->charge);
      ring->pop();
    }
    ring->release();
  }
  stream.writer.finish();
}

std::uint64_t LogImpl::pending_bytes(std::uint32_t index) const {
  std::uint64_t bytes = 0;
  for (const RecordRing* ring : streams_[index]->rings) bytes += ring->pending_bytes();
  return bytes;
}

bool LogImpl::any_pending() const {
  for (const auto& stream : streams_) {
    const MutexLock lock(stream->mutex);
    for (const auto& slot : stream->slots) {
      if (slot->ring.pending_bytes() != 0) return true;
    }
  }
  return false;
}

void LogImpl::start_threads() {
  const auto write = [this](std::uint32_t stream, const GroupLabel& label) {
    write_part(stream, label);
    return streams_[stream]->writer.fence();
  };
  writers_ = std::make_unique<WriterPool>(options_.streams, write, options_.on_writer_start);
  const auto flush = [this] {
    // What is pending now has an epoch at or below the current one.
    return wait_durable(clock_.current()).is_ok();
  };
  flusher_ = std::make_unique<Flusher>(
      options_.epoch_interval_us,
      Flusher::Hooks{.pending = [this] { return any_pending(); },
                     .activity = [this] { return LogCounters::read(counters_->epochs_closed); },
                     .flush = flush});
}

}  // namespace nvmdb::wal
