#include "server/watch_hub.h"

namespace nvmdb::server {

WatchHub::WatchHub(const engine::Catalogue& catalogue) : catalogue_(catalogue), thread_([this] { run(); }) {}

WatchHub::~WatchHub() {
  ending_.store(true, std::memory_order_relaxed);
  thread_.join();
}

bool WatchHub::add(Watcher* watcher) {
  const MutexLock lock(mutex_);
  if (stopped_ || watchers_.size() >= kWatchersMax) return false;
  watchers_.insert(watcher);
  return true;
}

void WatchHub::remove(Watcher* watcher) {
  const MutexLock lock(mutex_);
  watchers_.erase(watcher);
}

void WatchHub::stop_all() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (Watcher* watcher : watchers_) watcher->stop();
}

void WatchHub::run() {
  // How soon the thread notices that it should end; events wake it at once.
  constexpr std::uint64_t kWaitMs = 200;
  const auto last = catalogue_.last_event();
  std::uint64_t seen = last.is_ok() ? *last : 0;
  while (!ending_.load(std::memory_order_relaxed)) {
    if (!catalogue_.wait_for_event(seen, kWaitMs)) continue;
    if (const auto now = catalogue_.last_event(); now.is_ok()) seen = *now;
    const MutexLock lock(mutex_);
    for (Watcher* watcher : watchers_) watcher->poke();
  }
}

}  // namespace nvmdb::server
