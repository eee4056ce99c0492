#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "ingest/decode/field_sink.h"
#include "ingest/protocol/channel.h"
#include "storage/base/bytes.h"

namespace nvmdb::ingest {

/// Hands what a decoder finds to the server: bytes through the shared ring, everything else as messages.
/// Threads: one.
class RingSink final : public FieldSink {
 public:
  /// `ring` has protocol::kRingBytes bytes and is the server's too; both outlive the sink.
  RingSink(protocol::Channel& channel, std::span<std::byte> ring) : channel_(channel), ring_(ring) {}

  /// Forgets the runs and grids of the job before.
  void start_job();
  /// Sends the outcome of the job and all that is still unsent.
  [[nodiscard]] Status finish_job(const Status& outcome);
  /// Space that the server gave back; also between jobs.
  void take_credit(const protocol::Credit& credit);

  [[nodiscard]] Result<std::uint32_t> run(const DecodedRun& run) override;
  [[nodiscard]] Result<std::uint32_t> grid(const met::Grid& grid) override;
  [[nodiscard]] Status begin_field(const DecodedField& field) override;
  [[nodiscard]] Result<std::span<std::byte>> space(std::uint64_t wanted) override;
  [[nodiscard]] Status advance(std::uint64_t bytes) override;
  [[nodiscard]] Status end_field(const DecodedStatistics& statistics) override;
  [[nodiscard]] Status cancel_field() override;
  [[nodiscard]] Status rejected(const std::string& where, const Status& why) override;
  [[nodiscard]] Status step_done(std::uint32_t run, std::int64_t end_seconds) override;

 private:
  /// Numbers of what was sent, by the hash of its bytes.
  using Numbers = std::unordered_map<std::string, std::uint32_t>;

  Result<std::uint32_t> send_once(Numbers& numbers, ByteSpan bytes, const protocol::Message& message);
  Status append(const protocol::Message& message);
  Status flush();
  /// Waits until `bytes` from position_ on may be written.
  Status wait_for_space(std::uint64_t bytes);
  Status send_blob(ByteSpan bytes);
  /// Accounts for `bytes` written at position_.
  void passed(std::uint64_t bytes);

  protocol::Channel& channel_;
  std::span<std::byte> ring_;
  std::uint64_t position_ = 0;  ///< where the next piece begins
  std::uint64_t consumed_ = 0;  ///< everything before it was given back
  ByteWriter packet_;
  std::uint64_t unsent_piece_bytes_ = 0;
  Numbers runs_;
  Numbers grids_;
};

}  // namespace nvmdb::ingest
