#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/status.h"
#include "storage/nvm/media.h"
#include "wal/log_format.h"
#include "wal/log_space.h"

namespace nvmdb::wal {

/// What all streams of one group commit have in common.
struct GroupLabel {
  Epoch epoch;
  Epoch previous;
  std::uint64_t streams = 0;  ///< bit s: stream s has records in the group
};

/// Packs the records of one stream into blocks and writes them: begin(), append()..., finish(), fence().
/// Threads: one at a time (whoever writes the group); it must be one thread from begin() to fence(), because
/// a fence counts only for the stores of its own thread.
class StreamWriter {
 public:
  StreamWriter(storage::PoolMedia& media, LogSpace& space, LogCounters& counters,
               const LogSpace::Shape& shape, std::uint32_t stream, PlantedBug planted_bug);

  void begin(const GroupLabel& label);
  /// `charge`: log space the record has paid.
  void append(Tid tid, ByteSpan payload, std::uint64_t charge);
  /// Writes the last block and settles the space. At least one record was appended.
  void finish();
  /// Returns when the blocks of the group are durable. Errors: IoError.
  [[nodiscard]] Status fence();

 private:
  void put(ByteSpan bytes);
  void start_block();
  void write_block(bool end_of_group);

  storage::PoolMedia& media_;
  LogSpace& space_;
  LogCounters& counters_;
  const LogSpace::Shape shape_;
  const std::uint32_t stream_;
  const PlantedBug planted_bug_;
  const std::uint32_t checksum_seed_;
  std::vector<std::byte> staging_;  ///< one block

  std::optional<LogSegment> segment_;
  std::uint64_t next_sequence_ = 0;

  GroupLabel label_;
  std::uint64_t room_ = 0;  ///< bytes of the block being filled, header included; 0: none begun
  std::uint64_t fill_ = 0;
  std::uint32_t group_blocks_ = 0;
  std::uint64_t charged_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t sealed_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::vector<std::uint32_t> regions_;  ///< stored to since the last fence
};

}  // namespace nvmdb::wal
