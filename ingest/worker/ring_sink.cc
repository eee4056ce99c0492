#include "ingest/worker/ring_sink.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "ingest/protocol/ring.h"
#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest {
namespace {

using protocol::kPieceAlignment;
using protocol::kPieceBytesMax;
using protocol::kPieceBytesMin;
using protocol::kRingBytes;

std::string hash_of(ByteSpan bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  std::string key(sizeof(hash), '\0');
  std::memcpy(key.data(), &hash, sizeof(hash));
  return key;
}

}  // namespace

void RingSink::start_job() {
  runs_.clear();
  grids_.clear();
}

Status RingSink::finish_job(const Status& outcome) {
  NVMDB_TRY(append(protocol::JobDone{outcome}));
  return flush();
}

void RingSink::take_credit(const protocol::Credit& credit) {
  NVMDB_CHECK(credit.position >= consumed_ && credit.position <= position_,
              "the server gave back what it never had");
  consumed_ = credit.position;
}

Result<std::uint32_t> RingSink::run(const DecodedRun& run) {
  return send_once(runs_, protocol::encode_run(run), protocol::RunFromBlob{});
}

Result<std::uint32_t> RingSink::grid(const met::Grid& grid) {
  NVMDB_TRY(protocol::check_grid(grid));
  return send_once(grids_, protocol::encode_grid(grid), protocol::GridFromBlob{});
}

Result<std::uint32_t> RingSink::send_once(Numbers& numbers, ByteSpan bytes,
                                          const protocol::Message& message) {
  const auto [entry, added] = numbers.try_emplace(hash_of(bytes), narrow<std::uint32_t>(numbers.size()));
  if (added) {
    NVMDB_TRY(send_blob(bytes));
    NVMDB_TRY(append(message));
  }
  return entry->second;
}

Status RingSink::send_blob(ByteSpan bytes) {
  while (!bytes.empty()) {
    NVMDB_ASSIGN(const std::span<std::byte> room, space(bytes.size()));
    const std::size_t part = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), part);
    NVMDB_TRY(append(protocol::BlobPiece{position_, part}));
    passed(part);
    bytes = bytes.subspan(part);
  }
  return Status::ok();
}

Status RingSink::begin_field(const DecodedField& field) {
  return append(field);
}

Result<std::span<std::byte>> RingSink::space(std::uint64_t wanted) {
  NVMDB_CHECK(wanted > 0, "no space was asked for");
  position_ = align_up(position_, kPieceAlignment);
  const std::uint64_t least = std::min(wanted, kPieceBytesMin);
  if (kRingBytes - position_ % kRingBytes < least) position_ = align_up(position_, kRingBytes);
  NVMDB_TRY(wait_for_space(least));
  const std::uint64_t to_end = kRingBytes - position_ % kRingBytes;
  const std::uint64_t unused = consumed_ + kRingBytes - position_;
  return ring_.subspan(position_ % kRingBytes, std::min({wanted, kPieceBytesMax, to_end, unused}));
}

Status RingSink::wait_for_space(std::uint64_t bytes) {
  while (position_ + bytes > consumed_ + kRingBytes) {
    NVMDB_TRY(flush());
    NVMDB_ASSIGN(const protocol::Channel::Packet packet, channel_.receive(-1, false));
    NVMDB_ASSIGN(const std::vector<protocol::Message> messages, protocol::decode_packet(packet.bytes));
    for (const protocol::Message& message : messages) {
      const auto* credit = std::get_if<protocol::Credit>(&message);
      NVMDB_CHECK(credit != nullptr, "the server sent something other than a credit during a job");
      take_credit(*credit);
    }
  }
  return Status::ok();
}

Status RingSink::advance(std::uint64_t bytes) {
  NVMDB_TRY(append(protocol::FieldPiece{position_, bytes}));
  passed(bytes);
  if (unsent_piece_bytes_ >= protocol::kPieceBytesFlush) return flush();
  return Status::ok();
}

void RingSink::passed(std::uint64_t bytes) {
  position_ += bytes;
  unsent_piece_bytes_ += bytes;
}

Status RingSink::end_field(const DecodedStatistics& statistics) {
  return append(protocol::EndField{statistics});
}

Status RingSink::cancel_field() {
  return append(protocol::CancelField{});
}

Status RingSink::rejected(const std::string& where, const Status& why) {
  return append(protocol::Rejected{where, why});
}

Status RingSink::step_done(std::uint32_t run, std::int64_t end_seconds) {
  NVMDB_TRY(append(protocol::StepDone{run, end_seconds}));
  return flush();
}

Status RingSink::append(const protocol::Message& message) {
  protocol::encode(message, packet_);
  return packet_.size() >= protocol::kPacketBytesFlush ? flush() : Status::ok();
}

Status RingSink::flush() {
  unsent_piece_bytes_ = 0;
  if (packet_.size() == 0) return Status::ok();
  const Bytes packet = packet_.take();
  packet_ = ByteWriter();
  return channel_.send(packet, true);
}

}  // namespace nvmdb::ingest
