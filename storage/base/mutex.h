#pragma once

#include <mutex>

// Clang's thread-safety annotations; empty for other compilers.
#if defined(__clang__)
#define NVMDB_ANNOTATE(x) __attribute__((x))
#else
#define NVMDB_ANNOTATE(x)
#endif
#define NVMDB_GUARDED_BY(mutex) NVMDB_ANNOTATE(guarded_by(mutex))
#define NVMDB_REQUIRES(mutex) NVMDB_ANNOTATE(requires_capability(mutex))

namespace nvmdb {

/// std::mutex that clang's thread-safety analysis understands.
class NVMDB_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() NVMDB_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() NVMDB_ANNOTATE(release_capability()) { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() NVMDB_ANNOTATE(try_acquire_capability(true)) { return mutex_.try_lock(); }
  /// For std::condition_variable.
  [[nodiscard]] std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class NVMDB_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) NVMDB_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() NVMDB_ANNOTATE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace nvmdb
