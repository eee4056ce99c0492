#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// A message whose frame is whole: "GRIB", edition, length, "7777" at the end.
struct ScannedMessage {
  std::uint64_t offset = 0;  ///< of "GRIB" in the file
  unsigned edition = 0;      ///< 1 or 2
  ByteSpan bytes;
};

/// Something that starts like a message and is not a whole one.
struct ScanProblem {
  std::uint64_t offset = 0;
  Status why;
};

/// Finds the messages of a file, whatever lies between them (bulletin headings, padding, damaged messages).
/// Lengths decide where a message ends; "7777" or "GRIB" inside data mean nothing. Errors: none; safe on
/// hostile input.
class MessageScanner {
 public:
  explicit MessageScanner(ByteSpan file) : file_(file) {}

  /// The next message or problem; nothing at the end of the file. After a problem the search goes on four
  /// bytes behind its offset, after a message behind the message.
  [[nodiscard]] std::optional<std::variant<ScannedMessage, ScanProblem>> next();
  /// The sections of `message` turned out to be nonsense, so its length may be too: search inside it.
  void search_inside(const ScannedMessage& message) { at_ = message.offset + 4; }

 private:
  ByteSpan file_;
  std::uint64_t at_ = 0;
};

}  // namespace nvmdb::ingest::grib
