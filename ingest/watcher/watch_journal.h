#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "ingest/watcher/file_state.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

/// Which state of which file was dealt with: a file of JSON lines that a later watch of the same directory reads. A line
/// that cannot be read costs one needless ingest, which changes nothing.
/// Threads: one. One process at a time, by a lock on the file.
class WatchJournal {
 public:
  /// Errors: Conflict (another process has it), IoError, InvalidArgument (not a regular file).
  [[nodiscard]] static Result<WatchJournal> open(const std::filesystem::path& path);
  WatchJournal(WatchJournal&& other) noexcept;
  WatchJournal& operator=(WatchJournal&&) = delete;
  WatchJournal(const WatchJournal&) = delete;
  WatchJournal& operator=(const WatchJournal&) = delete;
  ~WatchJournal();

  /// True when this state of the file was dealt with.
  [[nodiscard]] bool holds(const std::string& name, const FileState& state) const;
  /// Durable when it returns. Errors: IoError, OutOfSpace.
  [[nodiscard]] Status add(const std::string& name, const FileState& state);
  /// Forgets files that `is_there` does not know, and writes the journal anew if many lines are of no use.
  /// Errors: IoError, OutOfSpace; the journal is as it was then.
  [[nodiscard]] Status tidy(const std::function<bool(const std::string& name)>& is_there);

 private:
  WatchJournal(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  [[nodiscard]] Status load();

  std::filesystem::path path_;
  int fd_ = -1;
  std::size_t lines_ = 0;
  std::map<std::string, FileState> states_;
};

}  // namespace nvmdb::ingest
