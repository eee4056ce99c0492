#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace nvmdb::test {

/// A started program whose standard output this process reads. Killed, if it still runs, when destroyed.
class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line of its output, without the end of line; false at the end.
  [[nodiscard]] bool read_line(std::string& line);
  void kill_now();
  /// Asks it to end (SIGTERM).
  void terminate();
  /// Waits for its end; the exit code, or 128 + signal.
  int wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = -1;
  std::string buffered_;
};

}  // namespace nvmdb::test
