#include "storage/nvm/posix.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "storage/base/narrow.h"

namespace nvmdb::storage {

namespace {

/// st_blocks counts units of 512 bytes, whatever the file system's block.
constexpr std::uint64_t kStatBlockBytes = 512;

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Status errno_status(std::string_view action, std::string_view path, int error) {
  std::string message =
      std::string(path) + ": " + std::string(action) + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
      return Status::not_found(std::move(message));
    case EACCES:
    case EPERM:
    case EROFS:
      return Status::permission_denied(std::move(message));
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Status::out_of_space(std::move(message));
    default:
      return Status::io_error(std::move(message));
  }
}

Status check_allocated_file(int fd, const std::string& path, std::uint64_t bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_status("stat", path, errno);
  if (!S_ISREG(info.st_mode)) return Status::corruption(path + ": not a regular file");
  if (as_unsigned(info.st_size) != bytes) {
    return Status::corruption(path + ": expected " + std::to_string(bytes) + " bytes, found " +
                              std::to_string(info.st_size) + " (truncated or overwritten)");
  }
  if (const std::uint64_t allocated = as_unsigned(info.st_blocks) * kStatBlockBytes; allocated < bytes) {
    return Status::corruption(path + ": expected " + std::to_string(bytes) + " allocated bytes, found " +
                              std::to_string(allocated) +
                              " (sparse: was it copied without its holes filled?)");
  }
  return Status::ok();
}

Status replace_file(const std::filesystem::path& path, ByteSpan bytes) {
  const std::string unfinished = path.string() + ".new";
  {
    const FileDescriptor fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd.is_open()) return errno_status("create", unfinished, errno);
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return errno_status("write", unfinished, written < 0 ? errno : ENOSPC);
      bytes = bytes.subspan(as_unsigned(written));
    }
    if (::fsync(fd.get()) != 0) return errno_status("sync", unfinished, errno);
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return errno_status("rename", unfinished, errno);
  return sync_directory(path.parent_path());
}

Status sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return errno_status("open", directory.string(), errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return errno_status("sync", directory.string(), errno);
  return Status::ok();
}

}  // namespace nvmdb::storage
