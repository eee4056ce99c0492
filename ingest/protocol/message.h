#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ingest/decode/field_sink.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::protocol {

constexpr std::uint32_t kProtocolVersion = 1;

// Sizes of texts, in bytes. The worker cuts, the server refuses.
constexpr std::size_t kNameMax = 128;
constexpr std::size_t kShortNameMax = 256;
constexpr std::size_t kLongNameMax = 1024;
constexpr std::size_t kWhereMax = 512;
constexpr std::size_t kReasonMax = 2048;
constexpr std::size_t kAttributesMax = 4U << 20U;

/// Worker to server, first: the sandbox is up, or why not.
struct Hello {
  std::uint32_t version = kProtocolVersion;
  bool sandboxed = false;
  std::string sandbox;  ///< what protects, or what is missing
};
/// Server to worker, with the input's descriptor.
struct Job {
  FileFormat format = FileFormat::Unknown;
  DecodeLimits limits;
};
/// Server to worker: everything before `position` of the ring may be written again.
struct Credit {
  std::uint64_t position = 0;
};

// Worker to server, while a job runs. Large things (runs, grids) travel through the ring as blob pieces
// first.
struct BlobPiece {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};
/// The blob is a DecodedRun: it gets the next run number of this job, from 0.
struct RunFromBlob {};
/// The blob is a Grid: it gets the next grid number of this job, from 0.
struct GridFromBlob {};
struct FieldPiece {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
};
struct EndField {
  DecodedStatistics statistics;
};
struct CancelField {};
struct Rejected {
  std::string where;
  Status why;
};
struct StepDone {
  std::uint32_t run = 0;
  std::int64_t end_seconds = 0;
};
struct JobDone {
  Status outcome;
};
/// Sent by a dying worker: the sandbox refused this system call.
struct ForbiddenCall {
  std::uint32_t number = 0;
};

using Message = std::variant<Hello, Job, Credit, BlobPiece, RunFromBlob, GridFromBlob, DecodedField,
                             FieldPiece, EndField, CancelField, Rejected, StepDone, JobDone, ForbiddenCall>;

/// Appends one message to a packet.
void encode(const Message& message, ByteWriter& packet);
/// Takes a packet apart. Safe on hostile input: sizes, enumerators and texts are checked, and numbers that
/// must be finite; what a message means in its place is checked by ReplyReader. Errors: Corruption.
[[nodiscard]] Result<std::vector<Message>> decode_packet(ByteSpan packet);

[[nodiscard]] Bytes encode_run(const DecodedRun& run);
/// Errors: Corruption.
[[nodiscard]] Result<DecodedRun> decode_run(ByteSpan bytes);

/// Definition and positions.
[[nodiscard]] Bytes encode_grid(const met::Grid& grid);
/// Errors: Corruption (also: what Grid::validate refuses, positions that are not finite).
[[nodiscard]] Result<met::Grid> decode_grid(ByteSpan bytes);

/// What the server requires of a grid. Errors: InvalidArgument.
[[nodiscard]] Status check_grid(const met::Grid& grid);

}  // namespace nvmdb::ingest::protocol
