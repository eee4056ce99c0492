#include "storage/nvm/pool_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "storage/base/narrow.h"

namespace nvmdb::storage {
namespace {

/// The process that holds a lock on the file, as the kernel lists it; 0 when it does not (another pid
/// namespace).
long lock_owner(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return 0;
  std::ifstream locks("/proc/locks");
  std::string line;
  while (std::getline(locks, line)) {
    // "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"
    std::istringstream words(line);
    std::string number, type, mode, access;
    long pid = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    unsigned long inode = 0;
    std::string place;
    if (!(words >> number >> type >> mode >> access >> pid >> place) || type != "FLOCK") continue;
    if (std::sscanf(place.c_str(), "%x:%x:%lu", &device_major, &device_minor, &inode) != 3) continue;
    if (inode == info.st_ino && device_major == major(info.st_dev) && device_minor == minor(info.st_dev))
      return pid;
  }
  return 0;
}

/// The process id that the owner wrote into the file; empty when there is none.
std::string written_owner(int fd) {
  char text[24] = {};
  const ssize_t count = ::pread(fd, text, sizeof(text) - 1, 0);
  std::string owner;
  for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; ++i) owner.push_back(text[i]);
  return owner;
}

}  // namespace

Status lock_file(int fd, const std::string& path, const std::string& known_owner) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return errno_status("lock", path, errno);
    const long listed = lock_owner(fd);
    const std::string owner = listed > 0 ? std::to_string(listed) : known_owner;
    return Status::conflict(path + ": the pool is open in " +
                            (owner.empty() ? "another process" : "process " + owner));
  }
  return Status::ok();
}

Result<FileDescriptor> lock_pool(const std::filesystem::path& path) {
  for (;;) {
    FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.is_open()) return errno_status("open", path.string(), errno);
    NVMDB_TRY(lock_file(fd.get(), path.string(), written_owner(fd.get())));
    struct stat locked {};
    struct stat named {};
    if (::fstat(fd.get(), &locked) != 0) return errno_status("stat", path.string(), errno);
    // A failed creation removes its lock; who waited for that one has a file that nobody else will find.
    if (::stat(path.c_str(), &named) != 0 || named.st_ino != locked.st_ino || named.st_dev != locked.st_dev)
      continue;
    const std::string owner = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd.get(), 0) != 0) return errno_status("write", path.string(), errno);
    const ssize_t written = ::pwrite(fd.get(), owner.data(), owner.size(), 0);
    if (written != narrow<ssize_t>(owner.size())) {
      return errno_status("write", path.string(), written < 0 ? errno : ENOSPC);
    }
    return fd;
  }
}

}  // namespace nvmdb::storage
