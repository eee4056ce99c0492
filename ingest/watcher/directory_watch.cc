#include "ingest/watcher/directory_watch.h"

#include <fnmatch.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace nvmdb::ingest {
namespace {

constexpr std::string_view kFlagPrefix = "wrfoutReady_";
constexpr std::string_view kFilePrefix = "wrfout_";
constexpr std::chrono::seconds kScanEvery{5};
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MODIFY | IN_CREATE | IN_ATTRIB;

bool is_flag(const std::string& name) { return name.starts_with(kFlagPrefix); }

std::optional<FileState> state_of(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileState{info.st_ino, static_cast<std::uint64_t>(info.st_size),
                   std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

/// How long ago the file changed by its own time, which a clock that was set back cannot make negative.
std::chrono::nanoseconds age_of(const FileState& state) {
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(std::chrono::nanoseconds(0), now - std::chrono::nanoseconds(state.changed_ns));
}

/// WRF writes dates with colons, or with underscores where `nocolons` is set.
std::string without_colons(std::string_view text) {
  std::string plain(text);
  std::ranges::replace(plain, ':', '_');
  return plain;
}

Status directory_failure(const std::filesystem::path& directory, int error) {
  const std::string text = "directory " + directory.string() + ": " + std::strerror(error);
  return error == ENOENT || error == ENOTDIR ? Status::not_found(text) : Status::io_error(text);
}

}  // namespace

Result<std::unique_ptr<DirectoryWatch>> DirectoryWatch::open(WatchOptions options) {
  struct stat info {};
  if (::stat(options.directory.c_str(), &info) != 0) return directory_failure(options.directory, errno);
  if (!S_ISDIR(info.st_mode)) return directory_failure(options.directory, ENOTDIR);
  if (options.journal.empty()) options.journal = options.directory / ".nvmdb-watch";
  NVMDB_ASSIGN(WatchJournal journal, WatchJournal::open(options.journal));
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return Status::io_error(std::string("inotify: ") + std::strerror(errno));
  std::unique_ptr<DirectoryWatch> watch(new DirectoryWatch(std::move(options), std::move(journal), fd));
  if (::inotify_add_watch(fd, watch->options_.directory.c_str(), kEvents) < 0) {
    return directory_failure(watch->options_.directory, errno);
  }
  NVMDB_TRY(watch->scan());
  NVMDB_TRY(watch->journal_.tidy([&](const std::string& name) {
    return watch->files_.contains(name) || watch->flags_.contains(name);
  }));
  return watch;
}

DirectoryWatch::DirectoryWatch(WatchOptions options, WatchJournal journal, int inotify_fd)
    : options_(std::move(options)), journal_(std::move(journal)), inotify_fd_(inotify_fd) {}

DirectoryWatch::~DirectoryWatch() { ::close(inotify_fd_); }

bool DirectoryWatch::matches(const std::string& name) const {
  return !name.starts_with(".") && !is_flag(name) && ::fnmatch(options_.pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

void DirectoryWatch::look_at(const std::string& name) {
  const std::optional<FileState> state = state_of(options_.directory / name);
  if (is_flag(name)) {
    if (state) flags_[name] = *state;
    return;
  }
  if (!matches(name)) return;
  if (!state) {
    files_.erase(name);
    return;
  }
  const auto [entry, is_new] = files_.try_emplace(name);
  entry->second.seen = true;
  if (!is_new && entry->second.state == *state) return;
  entry->second = {.state = *state, .still_since = Clock::now(), .seen = true};
}

Status DirectoryWatch::scan() {
  std::error_code error;
  std::filesystem::directory_iterator names(options_.directory, error);
  if (error) return directory_failure(options_.directory, error.value());
  for (auto& [name, entry] : files_) entry.seen = false;
  flags_.clear();
  for (; names != std::filesystem::directory_iterator(); names.increment(error)) {
    look_at(names->path().filename().string());
    if (error) break;
  }
  if (error) return directory_failure(options_.directory, error.value());
  std::erase_if(files_, [](const auto& file) { return !file.second.seen; });
  scanned_ = Clock::now();
  return Status::ok();
}

void DirectoryWatch::take_events() {
  alignas(inotify_event) std::array<char, 64U << 10U> buffer;
  for (;;) {
    const ssize_t got = ::read(inotify_fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const char* const text = buffer.data() + at + sizeof(event);
      at += static_cast<ssize_t>(sizeof(event) + event.len);
      // Events were lost, or the directory went: the next scan tells.
      if ((event.mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0) scanned_ = {};
      if (event.len == 0) continue;
      const std::string name(text, ::strnlen(text, event.len));
      look_at(name);
      const auto entry = files_.find(name);
      if (entry != files_.end() && (event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) entry->second.closed = true;
    }
  }
}

std::string DirectoryWatch::file_of_flag(const std::string& flag) const {
  // wrfoutReady_d01_2024-01-15_00:00:00
  const std::string_view rest = std::string_view(flag).substr(kFlagPrefix.size());
  const std::size_t line = rest.find('_');
  if (line == std::string_view::npos) return {};
  const std::string domain = std::string(kFilePrefix) + std::string(rest.substr(0, line + 1));
  const std::string date = without_colons(rest.substr(line + 1));
  std::string best;
  std::string best_date;
  for (const auto& [name, entry] : files_) {
    if (!name.starts_with(domain)) continue;
    const std::string begins = without_colons(std::string_view(name).substr(domain.size(), date.size()));
    if (begins <= date && begins.size() == date.size() && begins >= best_date) {
      best = name;
      best_date = begins;
    }
  }
  return best;
}

std::map<std::string, std::vector<std::string>> DirectoryWatch::flagged_files() const {
  std::map<std::string, std::vector<std::string>> flagged;
  for (const auto& [flag, state] : flags_) {
    if (journal_.holds(flag, state)) continue;
    if (const std::string name = file_of_flag(flag); !name.empty()) flagged[name].push_back(flag);
  }
  return flagged;
}

std::string DirectoryWatch::why_not(const std::string& name, const Entry& entry, bool flagged) const {
  const Clock::time_point now = Clock::now();
  if (now < entry.not_before) return "is tried again soon";
  if (flagged) return {};
  if (journal_.holds(name, entry.state)) return "was dealt with";
  if (entry.closed) return {};
  if (age_of(entry.state) >= options_.quiet) return {};
  // Its time may lie in the future, by another machine's clock.
  if (now - entry.still_since >= options_.quiet) return {};
  return "may still be written; it is complete when closed, or after " + std::to_string(options_.quiet.count()) +
         " s without a change";
}

std::optional<ReadyFile> DirectoryWatch::pick() const {
  const auto flagged = flagged_files();
  std::optional<ReadyFile> best;
  for (const auto& [name, entry] : files_) {
    const auto flags = flagged.find(name);
    if (!why_not(name, entry, flags != flagged.end()).empty()) continue;
    if (best && best->state.changed_ns <= entry.state.changed_ns) continue;
    best = ReadyFile{options_.directory / name, name, entry.state,
                     flags == flagged.end() ? std::vector<std::string>() : flags->second};
  }
  return best;
}

Result<std::optional<ReadyFile>> DirectoryWatch::next(std::chrono::milliseconds timeout) {
  const Clock::time_point until = Clock::now() + timeout;
  for (;;) {
    take_events();
    if (Clock::now() - scanned_ >= kScanEvery) NVMDB_TRY(scan());
    if (auto ready = pick()) {
      // What changed a moment ago is told by an event that comes yet.
      if (const auto now = state_of(ready->path); now && *now == ready->state) return ready;
      look_at(ready->name);
      continue;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return std::optional<ReadyFile>();
    // Quiet times and delays end without an event.
    pollfd waiting{inotify_fd_, POLLIN, 0};
    const auto wait = std::min(left, std::chrono::milliseconds(500));
    if (::poll(&waiting, 1, static_cast<int>(wait.count())) < 0 && errno == EINTR) return std::optional<ReadyFile>();
  }
}

Status DirectoryWatch::done(const ReadyFile& file) {
  for (const std::string& flag : file.flags) {
    if (const auto state = flags_.find(flag); state != flags_.end()) NVMDB_TRY(journal_.add(flag, state->second));
  }
  return journal_.add(file.name, file.state);
}

void DirectoryWatch::later(const ReadyFile& file, std::chrono::milliseconds delay) {
  const auto entry = files_.find(file.name);
  if (entry != files_.end() && entry->second.state == file.state) entry->second.not_before = Clock::now() + delay;
}

Result<std::vector<WatchedFile>> DirectoryWatch::list() {
  take_events();
  NVMDB_TRY(scan());
  const auto flagged = flagged_files();
  std::vector<WatchedFile> list;
  for (const auto& [name, entry] : files_) {
    const bool has_flag = flagged.contains(name);
    const std::string why = why_not(name, entry, has_flag);
    list.push_back({name, entry.state.bytes, !why.empty() ? why : has_flag ? "WRF says a frame is complete" : "complete",
                    why.empty()});
  }
  return list;
}

}  // namespace nvmdb::ingest
