#pragma once

#include <cstdint>

#include "wal/log_impl.h"

namespace nvmdb::wal {

/// An appender over one ring. Holds a stock of log space, so that a record usually touches only its own
/// lines.
class RingAppender final : public Log::Appender {
 public:
  RingAppender(LogImpl& log, std::uint32_t stream, LogImpl::RingSlot& slot);
  ~RingAppender() override;

  [[nodiscard]] Status reserve(std::size_t payload_bytes) override;
  [[nodiscard]] std::byte* payload() override;
  void publish(Tid tid) override;
  void cancel() override;

 private:
  LogImpl& log_;
  const std::uint32_t stream_;
  LogImpl::RingSlot& slot_;
  const std::uint64_t group_charge_;
  std::uint64_t credit_ = 0;         ///< log space taken and not yet spent
  std::uint64_t record_charge_ = 0;  ///< of the reservation
  Epoch last_epoch_;                 ///< whose group charge is paid
};

}  // namespace nvmdb::wal
