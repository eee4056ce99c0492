#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace nvmdb::e2e {

/// What a finished program left.
struct Finished {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs `nvmdb WORDS...` to its end, standard output and error in files (so: not a terminal).
[[nodiscard]] Finished run_nvmdb(const std::vector<std::string>& words);

/// `nvmdb WORDS...` beside the test; killed when it is still there at the end.
class BackgroundNvmdb {
 public:
  explicit BackgroundNvmdb(const std::vector<std::string>& words);
  ~BackgroundNvmdb();
  BackgroundNvmdb(const BackgroundNvmdb&) = delete;
  BackgroundNvmdb& operator=(const BackgroundNvmdb&) = delete;

  /// What it printed so far.
  [[nodiscard]] std::string output() const;
  /// Sends the signal; returns the exit code, or 128 + the signal that ended it.
  int stop(int signal);

 private:
  pid_t pid_ = -1;
  std::filesystem::path log_;
};

/// `nvmdb serve` on a free port; stopped with SIGTERM.
class ServerProcess {
 public:
  explicit ServerProcess(const std::filesystem::path& pool, const std::vector<std::string>& more = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// "127.0.0.1:PORT"; empty when it did not start.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// What it printed so far.
  [[nodiscard]] std::string output() const;
  /// SIGTERM; returns the exit code.
  int stop();
  /// SIGKILL.
  void kill();

 private:
  int wait();

  pid_t pid_ = -1;
  std::filesystem::path log_;
  std::string address_;
};

/// An empty directory that goes when the object does.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The folder of real files, or an empty path when it is absent.
[[nodiscard]] std::filesystem::path shared_data();

}  // namespace nvmdb::e2e
