#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "ingest/decode/field_sink.h"
#include "ingest/protocol/channel.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

/// An input as it was when the job began: a regular file, opened once, for reading.
/// Threads: one.
class SourceFile {
 public:
  /// Follows symbolic links. Never blocks on a FIFO nor opens a device.
  /// Errors: NotFound, PermissionDenied, InvalidArgument (not a regular file, empty, neither GRIB nor
  /// NetCDF), IoError.
  [[nodiscard]] static Result<SourceFile> open(const std::filesystem::path& path);
  /// Of an open descriptor, which stays the caller's and keeps its offset. Same errors.
  [[nodiscard]] static Result<SourceFile> reopen(int fd, const std::string& name);

  /// The descriptor with its offset at 0.
  [[nodiscard]] int rewound() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] FileFormat format() const { return format_; }

  /// Errors: InvalidArgument (size or modification time are no longer what they were).
  [[nodiscard]] Status check_unchanged() const;
  /// XXH3-128 of the content, as 16 bytes. Errors: IoError.
  [[nodiscard]] Result<std::string> content_hash() const;

 private:
  SourceFile(protocol::FileDescriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Status inspect();

  protocol::FileDescriptor fd_;
  std::string name_;
  std::uint64_t size_ = 0;
  timespec modified_{};
  FileFormat format_ = FileFormat::Unknown;
};

}  // namespace nvmdb::ingest
