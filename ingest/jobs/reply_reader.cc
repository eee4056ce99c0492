#include "ingest/jobs/reply_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "ingest/protocol/ring.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest {
namespace {

/// Infinite extremes are possible (a file may hold infinities); NaN only when all is missing.
bool plausible(const DecodedStatistics& s, std::uint64_t points) {
  if (s.missing_count > points) return false;
  if (s.missing_count == points) return std::isnan(s.minimum) && std::isnan(s.maximum) && std::isnan(s.mean);
  if (std::isnan(s.minimum) || std::isnan(s.maximum) || s.minimum > s.maximum) return false;
  if (std::isinf(s.minimum) || std::isinf(s.maximum)) return true;
  const double rounding = 1e-6 * std::max(std::fabs(s.minimum), std::fabs(s.maximum));
  return s.mean >= s.minimum - rounding && s.mean <= s.maximum + rounding;
}

}  // namespace

Status ReplyReader::violation(const std::string& what) {
  violated_ = true;
  return Status::corruption("reply of the decoder: " + what);
}

Status ReplyReader::read(ByteSpan packet) {
  const Result<std::vector<protocol::Message>> messages = protocol::decode_packet(packet);
  if (!messages.is_ok()) {
    violated_ = true;
    return messages.status();
  }
  for (const protocol::Message& message : *messages) {
    const bool dying = std::holds_alternative<protocol::ForbiddenCall>(message);
    if (outcome_.has_value() && !dying) return violation("a message after the end of the job");
    NVMDB_TRY(std::visit([this](const auto& m) { return handle(m); }, message));
  }
  return Status::ok();
}

std::optional<std::uint64_t> ReplyReader::take_credit() {
  if (progress_.consumed - progress_.credited < protocol::kCreditBytes) return std::nullopt;
  progress_.credited = progress_.consumed;
  return progress_.credited;
}

Result<ByteSpan> ReplyReader::piece(std::uint64_t position, std::uint64_t bytes) {
  const std::uint64_t ring_bytes = ring_.size();
  if (bytes == 0 || bytes > protocol::kPieceBytesMax)
    return violation("a piece of " + std::to_string(bytes) + " bytes");
  // What the worker may write is [credited, credited + ring); it cannot go back. No sum here can overflow.
  if (position < progress_.consumed || position - progress_.credited > ring_bytes - bytes)
    return violation("a piece out of its place");
  const std::uint64_t offset = position % ring_bytes;
  if (bytes > ring_bytes - offset) return violation("a piece across the end of the ring");
  progress_.consumed = position + bytes;
  return ring_.subspan(offset, bytes);
}

Status ReplyReader::handle(const protocol::Hello&) {
  return violation("a greeting during a job");
}
Status ReplyReader::handle(const protocol::Job&) {
  return violation("a job from the worker");
}
Status ReplyReader::handle(const protocol::Credit&) {
  return violation("a credit from the worker");
}

Status ReplyReader::handle(const protocol::BlobPiece& message) {
  if (field_.has_value()) return violation("a description within a field");
  if (blob_.size() + message.bytes > limits_.grid_bytes_max) return violation("a description is too large");
  NVMDB_ASSIGN(const ByteSpan bytes, piece(message.position, message.bytes));
  blob_.insert(blob_.end(), bytes.begin(), bytes.end());
  return Status::ok();
}

Status ReplyReader::handle(const protocol::RunFromBlob&) {
  Result<DecodedRun> run = protocol::decode_run(std::exchange(blob_, {}));
  if (!run.is_ok()) return violation(run.status().message());
  if (runs_ >= limits_.runs_max) return violation("more than " + std::to_string(limits_.runs_max) + " runs");
  return handler_.run(runs_++, std::move(*run));
}

Status ReplyReader::handle(const protocol::GridFromBlob&) {
  const Bytes blob = std::exchange(blob_, {});
  grid_bytes_ += blob.size();
  if (grid_bytes_ > limits_.grid_bytes_max || grid_points_.size() >= limits_.grids_max) {
    return violation("too many grids");
  }
  Result<met::Grid> grid = protocol::decode_grid(blob);
  if (!grid.is_ok()) return violation(grid.status().message());
  grid_points_.push_back(grid->points);
  return handler_.grid(narrow<std::uint32_t>(grid_points_.size() - 1), std::move(*grid));
}

Status ReplyReader::handle(const DecodedField& field) {
  if (field_.has_value() || !blob_.empty()) return violation("a field begins within something else");
  if (field.run >= runs_ || field.grid >= grid_points_.size())
    return violation("a field of an unknown run or grid");
  if (field.points != grid_points_[field.grid])
    return violation("a field does not have the points of its grid");
  if (field.points > limits_.decode.field_bytes_max / sizeof(float)) return violation("a field is too large");
  if (++fields_ > limits_.decode.fields_max) return violation("too many fields");
  const std::uint64_t extent_bytes = field.encoding.extent_bytes(field.points);
  if (extent_bytes > limits_.total_bytes_max - total_bytes_) return violation("too many bytes for this file");
  total_bytes_ += extent_bytes;
  field_ = OpenField{field.points, extent_bytes, 0};
  return handler_.begin_field(field);
}

Status ReplyReader::handle(const protocol::FieldPiece& message) {
  if (!field_.has_value()) return violation("bytes without a field");
  if (message.bytes > field_->extent_bytes - field_->received)
    return violation("more bytes than the field has");
  NVMDB_ASSIGN(const ByteSpan bytes, piece(message.position, message.bytes));
  const std::uint64_t at = field_->received;
  field_->received += message.bytes;
  return handler_.field_bytes(at, bytes);
}

Status ReplyReader::handle(const protocol::EndField& message) {
  if (!field_.has_value()) return violation("an end without a field");
  if (field_->received != field_->extent_bytes) return violation("a field ends before its bytes do");
  if (!plausible(message.statistics, field_->points))
    return violation("statistics of a field contradict each other");
  field_.reset();
  return handler_.end_field(message.statistics);
}

Status ReplyReader::handle(const protocol::CancelField&) {
  if (!field_.has_value()) return violation("a cancellation without a field");
  field_.reset();
  return handler_.cancel_field();
}

Status ReplyReader::handle(const protocol::Rejected& message) {
  if (++rejections_ > limits_.decode.fields_max) return violation("too many rejections");
  return handler_.rejected(message.where, message.why);
}

Status ReplyReader::handle(const protocol::StepDone& message) {
  if (field_.has_value()) return violation("a step ends within a field");
  if (message.run >= runs_) return violation("a step of an unknown run");
  return handler_.step_done(message.run, message.end_seconds);
}

Status ReplyReader::handle(const protocol::JobDone& message) {
  if (field_.has_value()) {
    if (message.outcome.is_ok()) return violation("the job ends within a field");
    field_.reset();
    NVMDB_TRY(handler_.cancel_field());
  }
  outcome_ = message.outcome;
  return Status::ok();
}

Status ReplyReader::handle(const protocol::ForbiddenCall& message) {
  forbidden_call_ = message.number;
  return Status::ok();
}

}  // namespace nvmdb::ingest
