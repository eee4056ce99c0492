#include "ingest/jobs/source_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "ingest/protocol/text.h"

namespace nvmdb::ingest {
namespace {

constexpr std::size_t kHashBlockBytes = 1U << 20U;
constexpr std::size_t kShownNameMax = 1024;

Status open_error(const std::string& name, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Status::not_found(name + ": no such file");
    case EACCES:
    case EPERM:
      return Status::permission_denied(name + ": no permission to read it");
    case ELOOP:
      return Status::invalid_argument(name + ": too many symbolic links");
    case ENAMETOOLONG:
      return Status::invalid_argument("the file name is too long");
    default:
      return Status::io_error(name + ": " + std::strerror(error));
  }
}

Status check_regular(const std::string& name, mode_t mode) {
  const char* kind = nullptr;
  if (S_ISREG(mode)) return Status::ok();
  if (S_ISDIR(mode)) kind = "a directory";
  if (S_ISFIFO(mode)) kind = "a FIFO";
  if (S_ISSOCK(mode)) kind = "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) kind = "a device";
  return Status::invalid_argument(name + " is " + (kind == nullptr ? "not a file" : kind) +
                                  "; expected a GRIB or NetCDF file");
}

}  // namespace

Result<SourceFile> SourceFile::open(const std::filesystem::path& path) {
  std::string name = protocol::clean_text(path.native(), kShownNameMax);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return open_error(name, errno);
  NVMDB_TRY(check_regular(name, status.st_mode));
  // It may have become something else since: do not wait for the writer of a FIFO.
  protocol::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.is_open()) return open_error(name, errno);
  SourceFile file(std::move(fd), std::move(name));
  NVMDB_TRY(file.inspect());
  return file;
}

Result<SourceFile> SourceFile::reopen(int fd, const std::string& name) {
  std::string shown = protocol::clean_text(name, kShownNameMax);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return Status::io_error(shown + ": " + std::strerror(errno));
  NVMDB_TRY(check_regular(shown, status.st_mode));
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  protocol::FileDescriptor own(::open(again.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!own.is_open()) return open_error(shown, errno);
  SourceFile file(std::move(own), std::move(shown));
  NVMDB_TRY(file.inspect());
  return file;
}

Status SourceFile::inspect() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return Status::io_error(name_ + ": " + std::strerror(errno));
  NVMDB_TRY(check_regular(name_, status.st_mode));
  if (status.st_size == 0)
    return Status::invalid_argument(name_ + " is empty; expected a GRIB or NetCDF file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  modified_ = status.st_mtim;
  NVMDB_ASSIGN(format_, detect_format(fd_.get()));
  if (format_ == FileFormat::Unknown) {
    return Status::invalid_argument(
        name_ + " is neither GRIB nor NetCDF: its first bytes are those of no known format");
  }
  return Status::ok();
}

int SourceFile::rewound() const {
  ::lseek(fd_.get(), 0, SEEK_SET);
  return fd_.get();
}

Status SourceFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return Status::io_error(name_ + ": " + std::strerror(errno));
  if (static_cast<std::uint64_t>(status.st_size) == size_ && status.st_mtim.tv_sec == modified_.tv_sec &&
      status.st_mtim.tv_nsec == modified_.tv_nsec) {
    return Status::ok();
  }
  return Status::invalid_argument(name_ + " changed while it was read; ingest it again when it is complete");
}

Result<std::string> SourceFile::content_hash() const {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (state == nullptr) return Status::io_error("no memory for a hash");
  XXH3_128bits_reset(state.get());
  std::vector<std::byte> block(kHashBlockBytes);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd_.get(), block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::io_error(name_ + ": " + std::strerror(errno));
    if (got == 0) break;
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(got));
    at += got;
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  std::string text(sizeof(hash), '\0');
  std::memcpy(text.data(), &hash, sizeof(hash));
  return text;
}

}  // namespace nvmdb::ingest
