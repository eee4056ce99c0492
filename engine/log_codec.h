#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/table.h"
#include "index/key.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::engine {

/// What happened to one record.
enum class LogAction : std::uint8_t {
  Put = 1,    ///< the record is now this row, whatever it was
  Erase = 2,  ///< the record is gone
  Patch = 3,  ///< some bytes of the row are now these; the row is there, by an older Tid
};

/// One operation of a log record.
struct LogOperation {
  LogAction action = LogAction::Put;
  TableId table = 0;
  index::Key key;
  ByteSpan row;              ///< Put: the row; Patch: the new bytes; points into the payload
  std::uint32_t offset = 0;  ///< Patch: of the new bytes in the row
};

// The payload of a log record: the operations of one transaction one after the other, each record at most once.
//
//   u8   action (high half), key words (low half: 1, 2, 4 or 6)
//   u16  table
//   Put, Patch: number of bytes, LEB128 (7 bits a byte, low bits first, at most 5 bytes)
//   Patch: offset in the row, LEB128
//   key words, 8 bytes each
//   Put: the row; Patch: the new bytes
//
// Everything is little-endian and unaligned. The transaction's Tid is in the log record's own header.

/// Bytes that encode_operation() will write.
[[nodiscard]] std::size_t encoded_bytes(LogAction action, const index::Key& key, std::size_t row_bytes,
                                        std::size_t offset = 0);
/// Writes one operation and returns the place behind it.
[[nodiscard]] std::byte* encode_operation(std::byte* to, LogAction action, TableId table, const index::Key& key,
                                          ByteSpan row, std::size_t offset = 0);

/// Reads the operations of a payload. Safe on hostile bytes.
class LogOperationReader {
 public:
  explicit LogOperationReader(ByteSpan payload) : bytes_(payload) {}
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  /// Errors: Corruption (the message names the offset in the payload).
  [[nodiscard]] Status next(LogOperation& operation);

 private:
  [[nodiscard]] bool take(void* to, std::size_t count);
  [[nodiscard]] bool take_length(std::uint64_t& length);
  [[nodiscard]] Status damaged(const char* what) const;

  ByteSpan bytes_;
  std::size_t at_ = 0;
};

}  // namespace nvmdb::engine
