#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "storage/base/mutex.h"

namespace nvmdb::server {

/// Those who want to be called now and then, and come and go in any thread. Threads: any number.
template <class Member>
class Roster {
 public:
  explicit Roster(std::size_t members_max) : members_max_(members_max) {}
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  /// False when there are too many, or after close().
  [[nodiscard]] bool add(Member* member) {
    const MutexLock lock(mutex_);
    if (closed_ || members_.size() >= members_max_) return false;
    members_.insert(member);
    return true;
  }
  /// After it returns the member is not called any more. Waits for a call under way, but for one that this very thread is
  /// in. One that was not added may be removed.
  void remove(Member* member) {
    std::unique_lock lock(mutex_);
    members_.erase(member);
    call_ended_.wait(lock, [&]() NVMDB_REQUIRES(mutex_) {
      return called_ != member || caller_ == std::this_thread::get_id();
    });
  }
  /// Takes no new members.
  void close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  /// Calls `call(member)` for everyone, without the lock: a call may take its time, and end its member. Threads that call
  /// take turns.
  template <class Call>
  void for_each(Call call) {
    const MutexLock turn(calling_mutex_);
    for (Member* member : everyone()) {
      if (!begin_call(member)) continue;
      call(*member);
      end_call();
    }
  }

 private:
  std::vector<Member*> everyone() {
    const MutexLock lock(mutex_);
    return {members_.begin(), members_.end()};
  }
  bool begin_call(Member* member) {
    const MutexLock lock(mutex_);
    if (!members_.contains(member)) return false;
    called_ = member;
    caller_ = std::this_thread::get_id();
    return true;
  }
  void end_call() {
    {
      const MutexLock lock(mutex_);
      called_ = nullptr;
    }
    call_ended_.notify_all();
  }

  const std::size_t members_max_;
  Mutex calling_mutex_;  ///< before mutex_
  Mutex mutex_;
  std::condition_variable_any call_ended_;
  std::unordered_set<Member*> members_ NVMDB_GUARDED_BY(mutex_);
  Member* called_ NVMDB_GUARDED_BY(mutex_) = nullptr;
  std::thread::id caller_ NVMDB_GUARDED_BY(mutex_);
  bool closed_ NVMDB_GUARDED_BY(mutex_) = false;
};

}  // namespace nvmdb::server
