#include "ingest/watcher/watch_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace nvmdb::ingest {
namespace {

constexpr std::uint64_t kJournalBytesMax = 256ULL << 20U;
constexpr std::size_t kLinesKept = 1000;

Status failure(const std::filesystem::path& path, const char* what) {
  const std::string text = "watch journal " + path.string() + ": " + what + ": " + std::strerror(errno);
  return errno == ENOSPC || errno == EDQUOT ? Status::out_of_space(text) : Status::io_error(text);
}

std::string line_of(const std::string& name, const FileState& state) {
  const nlohmann::json line = {
      {"name", name}, {"inode", state.inode}, {"bytes", state.bytes}, {"changed_ns", state.changed_ns}};
  // Names that are not UTF-8 are told apart no better than this; at worst such a file is ingested once more.
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status append(const std::filesystem::path& path, int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + at, text.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return failure(path, "cannot be written");
    at += static_cast<std::size_t>(wrote);
  }
  if (::fdatasync(fd) != 0) return failure(path, "cannot be synced");
  return Status::ok();
}

/// The journal's file, locked.
Result<int> open_locked(const std::filesystem::path& path) {
  for (;;) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (fd < 0) return failure(path, "cannot be opened");
    struct stat info {};
    struct stat named {};
    Status status;
    if (::fstat(fd, &info) != 0) {
      status = failure(path, "cannot be examined");
    } else if (!S_ISREG(info.st_mode)) {
      status = Status::invalid_argument("watch journal " + path.string() + " is not a regular file");
    } else if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      status = errno != EWOULDBLOCK ? failure(path, "cannot be locked")
                                    : Status::conflict("another nvmdb watch uses the journal " + path.string() +
                                                       "; stop it, or give this one its own with --journal");
    } else if (::stat(path.c_str(), &named) == 0 && named.st_ino == info.st_ino) {
      return fd;
    }
    // The last case left: another watch replaced the file between open and lock.
    ::close(fd);
    NVMDB_TRY(status);
  }
}

std::optional<std::pair<std::string, FileState>> read_line(const std::string& text) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  const auto name = line.find("name");
  const auto inode = line.find("inode");
  const auto bytes = line.find("bytes");
  const auto changed = line.find("changed_ns");
  if (name == line.end() || !name->is_string() || inode == line.end() || !inode->is_number_unsigned() ||
      bytes == line.end() || !bytes->is_number_unsigned() || changed == line.end() || !changed->is_number_integer()) {
    return std::nullopt;
  }
  return std::pair{name->get<std::string>(), FileState{inode->get<std::uint64_t>(), bytes->get<std::uint64_t>(),
                                                       changed->get<std::int64_t>()}};
}

}  // namespace

Result<WatchJournal> WatchJournal::open(const std::filesystem::path& path) {
  NVMDB_ASSIGN(const int fd, open_locked(path));
  WatchJournal journal(path, fd);
  NVMDB_TRY(journal.load());
  return journal;
}

WatchJournal::WatchJournal(WatchJournal&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), lines_(other.lines_), states_(std::move(other.states_)) {}

WatchJournal::~WatchJournal() {
  if (fd_ >= 0) ::close(fd_);
}

Status WatchJournal::load() {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return failure(path_, "cannot be examined");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > kJournalBytesMax) {
    return Status::invalid_argument("watch journal " + path_.string() + " has " + std::to_string(size) +
                                    " bytes, at most " + std::to_string(kJournalBytesMax) + " are expected; remove it");
  }
  std::string text(size, '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(fd_, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(path_, "cannot be read");
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  for (std::size_t at = 0; at < text.size(); ++lines_) {
    const std::size_t end = text.find('\n', at);
    if (const auto entry = read_line(text.substr(at, end - at))) states_[entry->first] = entry->second;
    if (end == std::string::npos) {
      // A line that a crash cut short; the next one must not be glued to it.
      return append(path_, fd_, "\n");
    }
    at = end + 1;
  }
  return Status::ok();
}

bool WatchJournal::holds(const std::string& name, const FileState& state) const {
  const auto known = states_.find(name);
  return known != states_.end() && known->second == state;
}

Status WatchJournal::add(const std::string& name, const FileState& state) {
  NVMDB_TRY(append(path_, fd_, line_of(name, state)));
  ++lines_;
  states_[name] = state;
  return Status::ok();
}

Status WatchJournal::tidy(const std::function<bool(const std::string& name)>& is_there) {
  std::erase_if(states_, [&](const auto& entry) { return !is_there(entry.first); });
  if (lines_ <= 2 * states_.size() + kLinesKept) return Status::ok();
  const std::filesystem::path fresh = path_.string() + ".new";
  const int fd = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return failure(fresh, "cannot be opened");
  std::string text;
  for (const auto& [name, state] : states_) text += line_of(name, state);
  Status status = append(fresh, fd, text);
  // Locked before it has the name: nobody else gets between.
  if (status.is_ok() && ::flock(fd, LOCK_EX | LOCK_NB) != 0) status = failure(fresh, "cannot be locked");
  if (status.is_ok() && ::rename(fresh.c_str(), path_.c_str()) != 0) status = failure(fresh, "cannot be renamed");
  if (!status.is_ok()) {
    ::close(fd);
    ::unlink(fresh.c_str());
    return status;
  }
  ::close(std::exchange(fd_, fd));
  lines_ = states_.size();
  return Status::ok();
}

}  // namespace nvmdb::ingest
