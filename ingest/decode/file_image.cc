#include "ingest/decode/file_image.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace nvmdb::ingest {

Result<FileImage> FileImage::map(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return Status::io_error(std::string("cannot stat the input: ") + std::strerror(errno));
  if (status.st_size <= 0) return Status::invalid_argument("the file is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED)
    return Status::io_error(std::string("cannot map the input: ") + std::strerror(errno));
  ::madvise(memory, size, MADV_SEQUENTIAL);
  return FileImage(memory, size);
}

FileImage::FileImage(FileImage&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

FileImage::~FileImage() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

}  // namespace nvmdb::ingest
