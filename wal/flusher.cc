#include "wal/flusher.h"

#include <chrono>
#include <utility>

namespace nvmdb::wal {

Flusher::Flusher(std::uint64_t interval_us, Hooks hooks)
    : interval_us_(interval_us), hooks_(std::move(hooks)), thread_([this] { run(); }) {}

Flusher::~Flusher() {
  {
    const MutexLock lock(mutex_);
    stop_.store(true, std::memory_order_seq_cst);
  }
  stopping_.notify_one();
  wake();
  thread_.join();
}

void Flusher::wake() {
  asleep_.store(0, std::memory_order_seq_cst);
  asleep_.notify_one();
}

void Flusher::run() {
  for (;;) {
    sleep_until_announced();
    for (bool active = true; active;) {
      const std::uint64_t before = hooks_.activity();
      if (!sleep_one_interval()) return;
      const bool pending = hooks_.pending();
      if (pending && !hooks_.flush()) return;
      active = pending || hooks_.activity() != before;
    }
  }
}

void Flusher::sleep_until_announced() {
  asleep_.store(1, std::memory_order_seq_cst);
  if (!hooks_.pending() && !stop_.load(std::memory_order_seq_cst)) {
    while (asleep_.load(std::memory_order_seq_cst) != 0) asleep_.wait(1, std::memory_order_seq_cst);
  }
  asleep_.store(0, std::memory_order_seq_cst);
}

bool Flusher::sleep_one_interval() {
  std::unique_lock lock(mutex_.native());
  return !stopping_.wait_for(lock, std::chrono::microseconds(interval_us_),
                             [this] { return stop_.load(std::memory_order_relaxed); });
}

}  // namespace nvmdb::wal
