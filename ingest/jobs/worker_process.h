#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ingest/jobs/reply_reader.h"
#include "ingest/protocol/channel.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

struct WorkerOptions {
  std::filesystem::path binary;
  std::uint64_t memory_bytes = 4ULL << 30U;
  std::uint32_t cpu_seconds = 60;
  bool allow_without_sandbox = false;
  std::vector<std::string> environment;  ///< besides the fixed one
};

/// A worker process as the server sees it. Killed when destroyed.
/// Threads: one at a time.
class WorkerProcess {
 public:
  /// Starts the process with posix_spawn (the server is never forked); does not wait for it.
  /// Errors: IoError (not found, not executable, no memory or descriptors).
  [[nodiscard]] static Result<std::unique_ptr<WorkerProcess>> spawn(const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Waits for its greeting, once. Errors: PermissionDenied (no sandbox: says what is missing), IoError (it
  /// died, or is of another version).
  [[nodiscard]] Status await_greeting();
  /// What protects, in the worker's words.
  [[nodiscard]] const std::string& sandbox() const { return sandbox_; }

  /// Hands over an input. Memory may grow by the mapping of the file, CPU by `cpu_seconds`.
  [[nodiscard]] Status submit(int fd, std::uint64_t file_bytes, const protocol::Job& job,
                              std::uint64_t cpu_seconds);
  [[nodiscard]] protocol::Channel& channel() { return channel_; }
  [[nodiscard]] ByteSpan ring() const { return ring_; }

  /// Ends the process if it has not ended, and says how it ended: "signal 11 (Segmentation fault)", "exit
  /// status 3".
  struct Death {
    int signal = 0;
    int exit_status = 0;
    [[nodiscard]] std::string text() const;
  };
  [[nodiscard]] Death reap(bool kill_first);

  /// True when the process ended by itself, or somebody ended it.
  [[nodiscard]] bool has_ended();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::uint32_t jobs() const { return jobs_; }

  [[nodiscard]] RingProgress& ring_progress() { return ring_progress_; }

 private:
  WorkerProcess(const WorkerOptions& options, pid_t pid, protocol::FileDescriptor channel, ByteSpan ring);
  Status raise_limits(std::uint64_t file_bytes, std::uint64_t cpu_seconds);

  WorkerOptions options_;
  pid_t pid_;
  bool reaped_ = false;
  bool greeted_ = false;
  protocol::Channel channel_;
  ByteSpan ring_;
  std::string sandbox_;
  RingProgress ring_progress_;
  std::uint32_t jobs_ = 0;
};

}  // namespace nvmdb::ingest
