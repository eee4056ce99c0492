#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ingest/protocol/message.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

/// Takes what a job brings, already checked. A failed Status ends the job.
class ReplyHandler {
 public:
  virtual ~ReplyHandler() = default;
  /// Numbers count from 0 in each job.
  [[nodiscard]] virtual Status run(std::uint32_t number, DecodedRun run) = 0;
  [[nodiscard]] virtual Status grid(std::uint32_t number, met::Grid grid) = 0;
  [[nodiscard]] virtual Status begin_field(const DecodedField& field) = 0;
  /// Bytes [at, at + bytes.size()) of the extent, in order, in memory that the worker can still write.
  [[nodiscard]] virtual Status field_bytes(std::uint64_t at, ByteSpan bytes) = 0;
  [[nodiscard]] virtual Status end_field(const DecodedStatistics& statistics) = 0;
  [[nodiscard]] virtual Status cancel_field() = 0;
  [[nodiscard]] virtual Status rejected(const std::string& where, const Status& why) = 0;
  [[nodiscard]] virtual Status step_done(std::uint32_t run, std::int64_t end_seconds) = 0;
};

/// What one job may bring.
struct ReplyLimits {
  DecodeLimits decode;
  std::uint64_t total_bytes_max = 4ULL << 30U;   ///< of all extents
  std::uint64_t grid_bytes_max = 512ULL << 20U;  ///< of all definitions and positions
  std::uint32_t runs_max = 1024;
  std::uint32_t grids_max = 65536;
};

/// How far the server has come in a worker's ring; goes on from job to job.
struct RingProgress {
  std::uint64_t consumed = 0;  ///< read up to here
  std::uint64_t credited = 0;  ///< given back up to here
};

/// Reads the packets of one job. Trusts nothing: order of messages, numbers, sizes and places in the ring are
/// checked before the handler hears of them. Threads: one.
class ReplyReader {
 public:
  /// `ring` is the worker's ring as the server sees it; `progress` is the worker's and outlives the reader.
  ReplyReader(const ReplyLimits& limits, ByteSpan ring, RingProgress& progress, ReplyHandler& handler)
      : limits_(limits), ring_(ring), progress_(progress), handler_(handler) {}

  /// Errors: Corruption with violated() set (the worker is broken or hostile), else what the handler said.
  [[nodiscard]] Status read(ByteSpan packet);

  [[nodiscard]] bool violated() const { return violated_; }
  /// What the worker said at the end of the job; empty before.
  [[nodiscard]] const std::optional<Status>& outcome() const { return outcome_; }
  /// The system call that a dying worker named.
  [[nodiscard]] std::optional<std::uint32_t> forbidden_call() const { return forbidden_call_; }
  /// A position to give back to the worker, when it is time to; empty otherwise.
  [[nodiscard]] std::optional<std::uint64_t> take_credit();

 private:
  struct OpenField {
    std::uint64_t points = 0;
    std::uint64_t extent_bytes = 0;
    std::uint64_t received = 0;
  };

  Status violation(const std::string& what);
  /// Checks a piece and returns its bytes in the ring.
  Result<ByteSpan> piece(std::uint64_t position, std::uint64_t bytes);

  Status handle(const protocol::Hello&);
  Status handle(const protocol::Job&);
  Status handle(const protocol::Credit&);
  Status handle(const protocol::BlobPiece& message);
  Status handle(const protocol::RunFromBlob&);
  Status handle(const protocol::GridFromBlob&);
  Status handle(const DecodedField& field);
  Status handle(const protocol::FieldPiece& message);
  Status handle(const protocol::EndField& message);
  Status handle(const protocol::CancelField&);
  Status handle(const protocol::Rejected& message);
  Status handle(const protocol::StepDone& message);
  Status handle(const protocol::JobDone& message);
  Status handle(const protocol::ForbiddenCall& message);

  ReplyLimits limits_;
  ByteSpan ring_;
  RingProgress& progress_;
  ReplyHandler& handler_;
  Bytes blob_;
  std::uint64_t grid_bytes_ = 0;
  std::uint32_t runs_ = 0;
  std::vector<std::uint64_t> grid_points_;
  std::optional<OpenField> field_;
  std::uint64_t fields_ = 0;
  std::uint64_t rejections_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool violated_ = false;
  std::optional<Status> outcome_;
  std::optional<std::uint32_t> forbidden_call_;
};

}  // namespace nvmdb::ingest
