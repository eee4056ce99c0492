#include "server/path_gate.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace nvmdb::server {
namespace {

Status open_error(const std::string& path, int error) {
  const std::string what = path + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Status::not_found(what);
    case ELOOP:
    case EXDEV:
      return Status::permission_denied(
          path + ": leads through a link or out of the ingest root; give the real path");
    case EACCES:
    case EPERM:
      return Status::permission_denied(what);
    default:
      return Status::io_error(what);
  }
}

int open_beneath(int root, const std::string& path) {
  open_how how{};
  // Non-blocking: opening a FIFO must not wait for its writer.
  how.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

Status check_regular(int fd, const std::string& path) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return open_error(path, errno);
  if (S_ISDIR(facts.st_mode)) return Status::invalid_argument(path + ": is a directory; give a file");
  if (!S_ISREG(facts.st_mode)) return Status::invalid_argument(path + ": is not a regular file");
  if (facts.st_nlink != 1)
    return Status::permission_denied(path + ": has more than one hard link; copy it first");
  return Status::ok();
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<PathGate> PathGate::open(const std::vector<std::filesystem::path>& roots) {
  PathGate gate;
  for (const std::filesystem::path& root : roots) {
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(root, error);
    if (error) return open_error("ingest root " + root.string(), error.value());
    OwnedFd fd(::open(real.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return Status::invalid_argument("ingest root " + root.string() + ": is not a directory");
    gate.roots_.push_back({std::move(real), std::move(fd)});
  }
  return gate;
}

Result<OwnedFd> PathGate::open_file(const std::string& path) const {
  if (roots_.empty()) {
    return Status::permission_denied(
        "this server reads no files of its own: it was started without --ingest-root; "
        "upload the file instead");
  }
  if (path.empty() || path.size() > 4096 || path.find('\0') != std::string::npos) {
    return Status::invalid_argument("path is empty, longer than 4096 bytes or has a NUL byte");
  }
  const std::filesystem::path asked(path);
  Status failure = Status::permission_denied(path + ": is not under an ingest root of this server");
  for (const Root& root : roots_) {
    std::filesystem::path beneath = asked;
    if (asked.is_absolute()) {
      beneath = asked.lexically_normal().lexically_relative(root.path);
      if (beneath.empty() || *beneath.begin() == "..") continue;
    }
    OwnedFd fd(open_beneath(root.fd.get(), beneath.string()));
    if (!fd.valid()) {
      failure = open_error(path, errno);
      if (failure.code() == Code::NotFound) continue;
      return failure;
    }
    NVMDB_TRY(check_regular(fd.get(), path));
    return fd;
  }
  return failure;
}

}  // namespace nvmdb::server
