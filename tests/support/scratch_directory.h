#pragma once

#include <filesystem>

namespace nvmdb::test {

/// A new empty directory, removed with all in it at the end of its life.
class ScratchDirectory {
 public:
  /// Where: in memory (/dev/shm, else the temporary directory) or on a disk (the build tree).
  enum Place { Memory, Disk };

  explicit ScratchDirectory(Place place = Memory);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace nvmdb::test
