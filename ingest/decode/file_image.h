#pragma once

#include <cstddef>
#include <span>

#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

/// An input file mapped for reading: the way in for libnetcdf and HDF5.
/// The decoder's sandbox lets no path be opened, not even /proc/self/fd/N, so these libraries must read
/// memory: `nc_open_mem("input", NC_NOWRITE, image.size(), image.memory(), &id)` and
/// `H5LTopen_file_image(image.memory(), image.size(), H5LT_FILE_IMAGE_DONT_COPY |
/// H5LT_FILE_IMAGE_DONT_RELEASE)`. Neither copies the file; both are as fast as reading it by descriptor. A
/// file that shrinks while it is read kills the process with SIGBUS. Threads: one.
class FileImage {
 public:
  /// Maps the whole file. `fd` may be closed afterwards. Errors: InvalidArgument (empty), IoError.
  [[nodiscard]] static Result<FileImage> map(int fd);
  FileImage(FileImage&& other) noexcept;
  FileImage& operator=(FileImage&&) = delete;
  FileImage(const FileImage&) = delete;
  FileImage& operator=(const FileImage&) = delete;
  ~FileImage();

  [[nodiscard]] ByteSpan bytes() const { return {static_cast<const std::byte*>(memory_), size_}; }
  /// For C interfaces that lack a const; writing to it is a fault.
  [[nodiscard]] void* memory() const { return memory_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  FileImage(void* memory, std::size_t size) : memory_(memory), size_(size) {}
  void* memory_;
  std::size_t size_;
};

}  // namespace nvmdb::ingest
