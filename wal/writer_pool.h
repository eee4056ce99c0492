#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "storage/base/status.h"
#include "wal/stream_writer.h"

namespace nvmdb::wal {

/// The log writers: one thread per stream, asleep until the group-commit leader hands it a large part of a
/// group. Threads: one leader at a time calls submit() and wait(). `go` is stored with release by the leader
/// and waited for with acquire by the writer, `done` the other way round: all that the part needs is handed
/// over with them.
class WriterPool {
 public:
  using Write = std::function<Status(std::uint32_t stream, const GroupLabel& label)>;

  /// Runs first in each writer's thread.
  using Begin = std::function<void(std::uint32_t stream)>;

  WriterPool(std::uint32_t streams, Write write, Begin begin);
  ~WriterPool();
  WriterPool(const WriterPool&) = delete;
  WriterPool& operator=(const WriterPool&) = delete;

  void submit(std::uint32_t stream, const GroupLabel& label);
  /// Returns when the part submitted last is written and fenced, or failed.
  [[nodiscard]] Status wait(std::uint32_t stream);

 private:
  struct alignas(128) Writer {
    std::atomic<std::uint32_t> go{0};
    std::atomic<std::uint32_t> done{0};
    GroupLabel label;
    Status status;
    std::thread thread;
  };

  void run(std::uint32_t stream);

  const Write write_;
  const Begin begin_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace nvmdb::wal
