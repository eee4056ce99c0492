#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/result.h"

namespace nvmdb::server {

/// A file descriptor that closes itself.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Opens files for clients, under the directories that the operator allowed and nowhere else: no symbolic
/// link, no
/// "..", no other mount, no device, FIFO or hard-linked file.
/// Threads: any number.
class PathGate {
 public:
  /// Errors: NotFound, InvalidArgument (not a directory), PermissionDenied.
  [[nodiscard]] static Result<PathGate> open(const std::vector<std::filesystem::path>& roots);

  /// `path` is absolute and under a root, or relative to the first root that has it.
  /// Errors: PermissionDenied (outside, no roots, a link), NotFound, InvalidArgument (not a regular file).
  [[nodiscard]] Result<OwnedFd> open_file(const std::string& path) const;

 private:
  struct Root {
    std::filesystem::path path;
    OwnedFd fd;
  };
  std::vector<Root> roots_;
};

}  // namespace nvmdb::server
