#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "engine/catalogue.h"
#include "server/roster.h"

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
  [[nodiscard]] bool add(Watcher* watcher) { return watchers_.add(watcher); }
  /// After it returns the watcher is not called any more.
  void remove(Watcher* watcher) { watchers_.remove(watcher); }
  /// Stops every watcher and takes no new one.
  void stop_all();

 private:
  void run();

  static constexpr std::size_t kWatchersMax = 1000;
  const engine::Catalogue& catalogue_;
  Roster<Watcher> watchers_{kWatchersMax};
  std::atomic<bool> ending_{false};  ///< relaxed: read once a wait
  std::thread thread_;
};

}  // namespace nvmdb::server
