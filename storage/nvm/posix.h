#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace nvmdb::storage {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A failed system call as a Status: what was done to what, and the system's words.
/// ENOENT is NotFound; EACCES, EPERM, EROFS PermissionDenied; ENOSPC, EDQUOT, EFBIG OutOfSpace; all else
/// IoError.
[[nodiscard]] Status errno_status(std::string_view action, std::string_view path, int error);

/// Writes the file so that a crash leaves the old one or the new one, whole: under another name, synced, then
/// renamed, mode 0600. Errors: OutOfSpace, PermissionDenied, IoError.
[[nodiscard]] Status replace_file(const std::filesystem::path& path, ByteSpan bytes);

/// Makes created, renamed and removed names in the directory durable.
[[nodiscard]] Status sync_directory(const std::filesystem::path& directory);

/// Ok when the file is a regular one of exactly `bytes` bytes, all of them allocated.
/// Errors: Corruption (expected and found), IoError.
[[nodiscard]] Status check_allocated_file(int fd, const std::string& path, std::uint64_t bytes);

}  // namespace nvmdb::storage
