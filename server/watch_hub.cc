#include "server/watch_hub.h"

#include <chrono>

namespace nvmdb::server {

WatchHub::WatchHub(const engine::Catalogue& catalogue) : catalogue_(catalogue), thread_([this] { run(); }) {}

WatchHub::~WatchHub() {
  ending_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void WatchHub::stop_all() {
  watchers_.close();
  watchers_.for_each([](Watcher& watcher) { watcher.stop(); });
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
    watchers_.for_each([](Watcher& watcher) { watcher.poke(); });
  }
}

}  // namespace nvmdb::server
