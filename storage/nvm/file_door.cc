#include "storage/nvm/file_door.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/narrow.h"
#include "storage/nvm/posix.h"

namespace nvmdb::storage {
namespace {

/// Stores of at least this go by pwrite: below it a system call costs more than a page fault.
constexpr std::uint64_t kPwriteBytesMin = 4096;
constexpr std::uint64_t kFillBufferBytes = 64U << 10U;

std::uint64_t next_door_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// What the calling thread stored non-temporally or flushed and has not fenced yet, by door.
std::unordered_map<std::uint64_t, std::vector<FileDoor::Range>>& pending_of_this_thread() {
  thread_local std::unordered_map<std::uint64_t, std::vector<FileDoor::Range>> pending;
  return pending;
}

}  // namespace

FileDoor::FileDoor(std::byte* memory, std::uint64_t bytes, int fd, std::uint64_t fd_offset, std::string name)
    : memory_(memory), fd_(fd), fd_offset_(fd_offset), name_(std::move(name)), number_(next_door_number()) {
  data_ = memory;
  size_ = bytes;
}

std::byte* FileDoor::place(std::uint64_t offset, std::uint64_t bytes) const {
  NVMDB_CHECK(offset <= size_ && bytes <= size_ - offset, "store outside the mapped area");
  return memory_ + offset;
}

void FileDoor::store8(std::uint64_t offset, std::uint64_t value, Site /*site*/) {
  NVMDB_CHECK(offset % 8 == 0, "store8 must be aligned");
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(place(offset, 8)), value, __ATOMIC_RELEASE);
}

void FileDoor::copy(std::uint64_t offset, ByteSpan source, Site /*site*/) {
  if (!source.empty()) std::memcpy(place(offset, source.size()), source.data(), source.size());
}

void FileDoor::copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) {
  if (fd_ >= 0 && source.size() >= kPwriteBytesMin) {
    write_file(offset, source);
  } else {
    copy(offset, source, site);
  }
  add_pending(offset, source.size());
}

void FileDoor::fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site /*site*/) {
  std::byte* target = place(offset, bytes);
  if (fd_ >= 0 && bytes >= kPwriteBytesMin) {
    const Bytes buffer(std::min(bytes, kFillBufferBytes), value);
    for (std::uint64_t at = 0; at < bytes; at += buffer.size()) {
      write_file(offset + at, ByteSpan(buffer).first(std::min<std::uint64_t>(buffer.size(), bytes - at)));
    }
  } else if (bytes > 0) {
    std::memset(target, static_cast<int>(value), bytes);
  }
  add_pending(offset, bytes);
}

void FileDoor::write_file(std::uint64_t offset, ByteSpan source) {
  (void)place(offset, source.size());
  while (!source.empty()) {
    const ssize_t written = ::pwrite(fd_, source.data(), source.size(), narrow<off_t>(fd_offset_ + offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(errno_status("write", name_, written < 0 ? errno : ENOSPC));
      return;
    }
    offset += as_unsigned(written);
    source = source.subspan(as_unsigned(written));
  }
}

void FileDoor::flush(std::uint64_t offset, std::uint64_t bytes, Site /*site*/) {
  (void)place(offset, bytes);
  add_pending(offset, bytes);
}

void FileDoor::add_pending(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  std::vector<Range>& pending = pending_of_this_thread()[number_];
  if (!pending.empty() && pending.back().begin <= offset && offset <= pending.back().end) {
    pending.back().end = std::max(pending.back().end, offset + bytes);
  } else {
    pending.push_back({offset, offset + bytes});
  }
}

Status FileDoor::fence(Site /*site*/) {
  auto& all_pending = pending_of_this_thread();
  std::vector<Range> ranges;
  if (const auto pending = all_pending.find(number_); pending != all_pending.end()) {
    ranges = std::exchange(pending->second, {});
    all_pending.erase(pending);
  }
  std::unique_lock lock(mutex_.native());
  if (ranges.empty() || !failure_.is_ok()) return failure_;
  waiting_.insert(waiting_.end(), ranges.begin(), ranges.end());
  const std::uint64_t round = round_open_;
  while (round_finished_ < round) {
    if (round_running_) {
      round_done_.wait(lock);
      continue;
    }
    // This thread syncs for all that wait; those that come meanwhile make up the next round.
    round_running_ = true;
    const std::uint64_t mine = round_open_++;
    std::vector<Range> batch = std::exchange(waiting_, {});
    lock.unlock();
    const Status status = sync(std::move(batch));
    lock.lock();
    if (failure_.is_ok() && !status.is_ok()) failure_ = status;
    round_running_ = false;
    round_finished_ = mine;
    round_done_.notify_all();
  }
  return failure_;
}

Status FileDoor::sync(std::vector<Range> ranges) const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto base = reinterpret_cast<std::uintptr_t>(memory_);
  for (Range& range : ranges) {
    range.begin = (base + range.begin) / page * page;
    range.end = align_up(base + range.end, page);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  if (fd_ >= 0 && merged.size() > 1) {
    // Starts all of them, so that the waits below overlap. Only a hint: its outcome is that of the syncs.
    for (const Range& range : merged) {
      (void)::sync_file_range(fd_, narrow<off_t>(range.begin - base + fd_offset_),
                              narrow<off_t>(range.end - range.begin), SYNC_FILE_RANGE_WRITE);
    }
  }
  for (const Range& range : merged) {
    while (::msync(reinterpret_cast<void*>(range.begin), range.end - range.begin, MS_SYNC) != 0) {
      if (errno != EINTR) return errno_status("sync", name_, errno);
    }
  }
  return Status::ok();
}

void FileDoor::fail(const Status& status) {
  const MutexLock lock(mutex_);
  if (failure_.is_ok()) failure_ = status;
}

}  // namespace nvmdb::storage
