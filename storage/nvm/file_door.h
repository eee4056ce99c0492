#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/nvm/door.h"

namespace nvmdb::storage {

/// Door over a shared mapping of an ordinary file (libpmem2 granularity PAGE).
///
/// Stores go to the page cache: large ones by pwrite() (no page fault for each page), the rest through the
/// mapping, so that readers of the mapping see every store at once. fence() syncs just the ranges that the
/// calling thread stored non-temporally or flushed, with the journal and the disk's write cache. Threads that
/// fence at the same time share one round of syncs. An error is sticky: the kernel reports a lost write once,
/// and nobody knows which pages it dropped, so no later fence may succeed. The mapping and the descriptor
/// belong to the caller and must outlive the door.
class FileDoor final : public Door {
 public:
  /// `fd` is the file behind the mapping, `fd_offset` the place of `memory` in it; fd -1: all stores go
  /// through the mapping. `name` is for messages.
  FileDoor(std::byte* memory, std::uint64_t bytes, int fd, std::uint64_t fd_offset, std::string name);

  void store8(std::uint64_t offset, std::uint64_t value, Site site) override;
  void copy(std::uint64_t offset, ByteSpan source, Site site) override;
  void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) override;
  void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site) override;
  void flush(std::uint64_t offset, std::uint64_t bytes, Site site) override;
  [[nodiscard]] Status fence(Site site) override;

  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

 private:
  [[nodiscard]] std::byte* place(std::uint64_t offset, std::uint64_t bytes) const;
  void write_file(std::uint64_t offset, ByteSpan source);
  void add_pending(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] Status sync(std::vector<Range> ranges) const;
  void fail(const Status& status);

  std::byte* memory_;
  int fd_;
  std::uint64_t fd_offset_;
  std::string name_;
  std::uint64_t number_;  ///< of this door, never used again: key of the threads' pending ranges

  Mutex mutex_;
  std::condition_variable round_done_;
  std::vector<Range> waiting_ NVMDB_GUARDED_BY(mutex_);  ///< ranges of the next round
  std::uint64_t round_open_ NVMDB_GUARDED_BY(mutex_) = 1;
  std::uint64_t round_finished_ NVMDB_GUARDED_BY(mutex_) = 0;
  bool round_running_ NVMDB_GUARDED_BY(mutex_) = false;
  Status failure_ NVMDB_GUARDED_BY(mutex_);
};

}  // namespace nvmdb::storage
