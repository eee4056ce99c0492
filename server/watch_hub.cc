#include "server/watch_hub.h"

#include <chrono>
#include <mutex>
#include <vector>

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
  std::unique_lock lock(mutex_);
  watchers_.erase(watcher);
  if (std::this_thread::get_id() == thread_.get_id()) return;
  poke_ended_.wait(lock, [&]() NVMDB_REQUIRES(mutex_) { return poked_ != watcher; });
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
    const auto now = catalogue_.last_event();
    if (!now.is_ok()) {
      // The watchers learn of it when they read; until the pool can be read again there is no hurry.
      std::this_thread::sleep_for(std::chrono::milliseconds(kWaitMs));
    } else {
      seen = *now;
    }
    poke_all();
  }
}

void WatchHub::poke_all() {
  std::vector<Watcher*> all;
  {
    const MutexLock lock(mutex_);
    all.assign(watchers_.begin(), watchers_.end());
  }
  for (Watcher* watcher : all) {
    {
      const MutexLock lock(mutex_);
      if (!watchers_.contains(watcher)) continue;
      poked_ = watcher;
    }
    watcher->poke();
    {
      const MutexLock lock(mutex_);
      poked_ = nullptr;
    }
    poke_ended_.notify_all();
  }
}

}  // namespace nvmdb::server
