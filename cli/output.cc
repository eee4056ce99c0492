#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace nvmdb::cli {
namespace {

constexpr std::size_t kBufferBytes = 1U << 20U;

Status file_error(const std::string& path, int error) {
  const std::string what =
      (path.empty() ? "standard output" : path) + ": " + std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT) return Status::out_of_space(what);
  if (error == EACCES || error == EPERM) return Status::permission_denied(what);
  return Status::io_error(what);
}

}  // namespace

Result<Output> Output::open(const std::string& path) {
  if (path.empty() || path == "-") return Output(STDOUT_FILENO, "", "");
  struct stat facts {};
  // A device or a pipe is written directly: it cannot be replaced by a finished file.
  const bool direct = ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
  const std::string part = direct ? "" : path + ".part";
  const int fd = ::open(direct ? path.c_str() : part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return file_error(path, errno);
  return Output(fd, path, part);
}

Output::Output(Output&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      part_(std::exchange(other.part_, {})),
      buffer_(std::move(other.buffer_)) {}

Output::~Output() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

bool Output::is_terminal() const {
  return ::isatty(fd_) == 1;
}

Status Output::write(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < kBufferBytes ? Status::ok() : flush();
}

Status Output::flush() {
  std::size_t at = 0;
  while (at < buffer_.size()) {
    const ssize_t count = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error(path_, errno);
    at += static_cast<std::size_t>(count);
  }
  buffer_.clear();
  return Status::ok();
}

Status Output::finish() {
  NVMDB_TRY(flush());
  if (part_.empty()) return Status::ok();
  if (::close(std::exchange(fd_, -1)) != 0) return file_error(path_, errno);
  if (std::rename(part_.c_str(), path_.c_str()) != 0) return file_error(path_, errno);
  part_.clear();
  return Status::ok();
}

}  // namespace nvmdb::cli
