#include "wal/appender.h"

#include <string>

#include "storage/base/check.h"

namespace nvmdb::wal {
namespace {

/// Log space is taken from the stream in pieces of this size, to share no line per record.
constexpr std::uint64_t kCreditBytes = 64ULL << 10U;

}  // namespace

RingAppender::RingAppender(LogImpl& log, std::uint32_t stream, LogImpl::RingSlot& slot)
    : log_(log), stream_(stream), slot_(slot), group_charge_(log.space().group_charge()) {}

RingAppender::~RingAppender() {
  if (slot_.ring.reserved()) cancel();
  log_.space().give_back(stream_, credit_);
  log_.return_slot(stream_, slot_);
}

Status RingAppender::reserve(std::size_t payload_bytes) {
  if (log_.failed()) return log_.failure();
  if (payload_bytes > slot_.ring.longest_payload()) {
    return Status::invalid_argument("log record of " + std::to_string(payload_bytes) + " bytes, at most " +
                                    std::to_string(slot_.ring.longest_payload()) + " fit");
  }
  const std::uint64_t charge = log_.space().record_charge(payload_bytes);
  // The epoch of the commit is not known yet: room for the first record of a new one is kept.
  const std::uint64_t needed = charge + group_charge_;
  if (credit_ < needed) {
    const auto taken = log_.space().take(stream_, needed - credit_, kCreditBytes);
    if (!taken.is_ok()) {
      if (taken.status().code() == Code::IoError) log_.fail(taken.status());
      return taken.status();
    }
    credit_ += *taken;
  }
  NVMDB_TRY(log_.reserve_in(slot_.ring, payload_bytes));
  record_charge_ = charge;
  return Status::ok();
}

std::byte* RingAppender::payload() {
  NVMDB_CHECK(slot_.ring.reserved(), "payload() without a reservation");
  return slot_.ring.payload();
}

void RingAppender::publish(Tid tid) {
  std::uint64_t charge = record_charge_;
  if (const Epoch epoch = tid.epoch(); epoch != last_epoch_) {
    NVMDB_CHECK(epoch > last_epoch_, "records of one appender come in the order of their epochs");
    charge += group_charge_;
    last_epoch_ = epoch;
  }
  credit_ -= charge;
  slot_.ring.publish(tid, charge);
  log_.announce();
}

void RingAppender::cancel() {
  NVMDB_CHECK(slot_.ring.reserved(), "cancel() without a reservation");
  slot_.ring.cancel();
}

}  // namespace nvmdb::wal
