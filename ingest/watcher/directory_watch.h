#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingest/watcher/file_state.h"
#include "ingest/watcher/watch_journal.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

struct WatchOptions {
  std::filesystem::path directory{};
  std::string pattern = "*";           ///< of the file's name, as in a shell
  std::filesystem::path journal{};     ///< empty: `.nvmdb-watch` in the directory
  std::chrono::seconds quiet{10};      ///< a file that nobody was seen to close is complete when it kept still so long
};

/// A file that is complete, or that got a frame which WRF says is complete.
struct ReadyFile {
  std::filesystem::path path;
  std::string name;
  FileState state;                 ///< as it was found; later changes make it ready again
  std::vector<std::string> flags;  ///< names of the flag files that spoke of it
};

/// A file that is there, and why it is or is not ready: for people.
struct WatchedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string why;
  bool ready = false;
};

/// Tells which files of a directory are complete, each state of a file once, over restarts.
///
/// Ready is a file that matches the pattern, was not dealt with in this state, and was closed by its writer or moved there
/// since the watch began, or did not change for `quiet`; or the wrfout file of a new flag file `wrfoutReady_d<dd>_<date>`:
/// the one of the same domain and date, else the domain's last one before that date, which is then still open. Hidden files
/// and directories are never looked at.
///
/// inotify tells of changes; every few seconds the directory is read anyway, for file systems that tell nothing.
/// Threads: one.
class DirectoryWatch {
 public:
  /// Errors: NotFound (no such directory), Conflict (another watch has the journal), IoError.
  [[nodiscard]] static Result<std::unique_ptr<DirectoryWatch>> open(WatchOptions options);
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  /// The file that became ready first, or nothing after `timeout` or a signal.
  /// Errors: IoError (the directory is gone).
  [[nodiscard]] Result<std::optional<ReadyFile>> next(std::chrono::milliseconds timeout);
  /// The file was dealt with, whatever came of it. Errors: IoError, OutOfSpace (of the journal).
  [[nodiscard]] Status done(const ReadyFile& file);
  /// The file is to be tried again after `delay`, or as soon as it changes.
  void later(const ReadyFile& file, std::chrono::milliseconds delay);
  /// All that match, by name. Errors: IoError.
  [[nodiscard]] Result<std::vector<WatchedFile>> list();

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    FileState state;
    Clock::time_point still_since;  ///< seen to change last
    bool closed = false;            ///< by its writer, since the last change
    Clock::time_point not_before{};
    bool seen = false;              ///< by the scan that is going on
  };

  DirectoryWatch(WatchOptions options, WatchJournal journal, int inotify_fd);
  [[nodiscard]] Status scan();
  void look_at(const std::string& name);
  void take_events();
  [[nodiscard]] std::string file_of_flag(const std::string& flag) const;
  /// Empty: ready.
  [[nodiscard]] std::string why_not(const std::string& name, const Entry& entry, bool flagged) const;
  [[nodiscard]] std::map<std::string, std::vector<std::string>> flagged_files() const;
  [[nodiscard]] std::optional<ReadyFile> pick() const;
  [[nodiscard]] bool matches(const std::string& name) const;

  WatchOptions options_;
  WatchJournal journal_;
  int inotify_fd_;
  Clock::time_point scanned_{};
  std::map<std::string, Entry> files_;
  std::map<std::string, FileState> flags_;
};

}  // namespace nvmdb::ingest
