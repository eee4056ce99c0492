#include "ingest/jobs/quarantine.h"

#include <algorithm>

namespace nvmdb::ingest {
namespace {

constexpr std::uint32_t kCrashesMax = 3;
constexpr std::size_t kEntriesMax = 10'000;

}  // namespace

Status Quarantine::check(const SourceFile& file) {
  {
    const MutexLock lock(mutex_);
    const bool possible = std::any_of(entries_.begin(), entries_.end(), [&file](const auto& entry) {
      return entry.second.size == file.size();
    });
    if (!possible) return Status::ok();
  }
  NVMDB_ASSIGN(const std::string hash, file.content_hash());
  const MutexLock lock(mutex_);
  const auto found = entries_.find(hash);
  if (found == entries_.end() || found->second.crashes < kCrashesMax) return Status::ok();
  return Status::invalid_argument(file.name() + " is quarantined: it stopped the decoder " +
                                  std::to_string(found->second.crashes) +
                                  " times, last: " + found->second.how);
}

void Quarantine::note_crash(const SourceFile& file, const Status& how) {
  const Result<std::string> hash = file.content_hash();
  if (!hash.is_ok()) return;
  const MutexLock lock(mutex_);
  if (entries_.size() >= kEntriesMax && !entries_.contains(*hash)) entries_.erase(entries_.begin());
  Entry& entry = entries_[*hash];
  entry.size = file.size();
  ++entry.crashes;
  entry.how = how.message();
}

}  // namespace nvmdb::ingest
