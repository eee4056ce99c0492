#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <thread>
#include <unordered_set>

#include "engine/catalogue.h"
#include "storage/base/mutex.h"

namespace nvmdb::server {

/// Waits for events of a catalogue in one thread and pokes everyone who watches: watchers cost no thread
/// each. Threads: any number.
class WatchHub {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    /// There may be new events. Called in the hub's thread; may end the watcher.
    virtual void poke() = 0;
    /// The server is going down: end the stream.
    virtual void stop() = 0;
  };

  explicit WatchHub(const engine::Catalogue& catalogue);
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  /// False when there are too many, or when the hub was stopped.
  [[nodiscard]] bool add(Watcher* watcher);
  /// After it returns the watcher is not called any more. Waits for a call under way, but for that of this very thread.
  void remove(Watcher* watcher);
  /// Stops every watcher and takes no new one.
  void stop_all();

 private:
  void run();
  /// Calls each watcher without the lock: a poke reads events from the tables.
  void poke_all();

  static constexpr std::size_t kWatchersMax = 1000;
  const engine::Catalogue& catalogue_;
  Mutex mutex_;
  std::unordered_set<Watcher*> watchers_ NVMDB_GUARDED_BY(mutex_);
  Watcher* poked_ NVMDB_GUARDED_BY(mutex_) = nullptr;  ///< called at this moment
  std::condition_variable_any poke_ended_;
  bool stopped_ NVMDB_GUARDED_BY(mutex_) = false;
  std::atomic<bool> ending_{false};  ///< relaxed: read once a wait
  std::thread thread_;
};

}  // namespace nvmdb::server
