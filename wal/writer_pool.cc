#include "wal/writer_pool.h"

#include <utility>

namespace nvmdb::wal {

WriterPool::WriterPool(std::uint32_t streams, Write write, Begin begin)
    : write_(std::move(write)), begin_(std::move(begin)) {
  for (std::uint32_t i = 0; i < streams; ++i) writers_.push_back(std::make_unique<Writer>());
  for (std::uint32_t i = 0; i < streams; ++i) writers_[i]->thread = std::thread([this, i] { run(i); });
}

WriterPool::~WriterPool() {
  stop_.store(true, std::memory_order_relaxed);
  for (const auto& writer : writers_) {
    writer->go.fetch_add(1, std::memory_order_release);
    writer->go.notify_one();
  }
  for (const auto& writer : writers_) writer->thread.join();
}

void WriterPool::submit(std::uint32_t stream, const GroupLabel& label) {
  Writer& writer = *writers_[stream];
  writer.label = label;
  writer.go.fetch_add(1, std::memory_order_release);
  writer.go.notify_one();
}

Status WriterPool::wait(std::uint32_t stream) {
  Writer& writer = *writers_[stream];
  const std::uint32_t go = writer.go.load(std::memory_order_relaxed);
  for (std::uint32_t done = writer.done.load(std::memory_order_acquire); done != go;
       done = writer.done.load(std::memory_order_acquire)) {
    writer.done.wait(done, std::memory_order_acquire);
  }
  return writer.status;
}

void WriterPool::run(std::uint32_t stream) {
  if (begin_) begin_(stream);
  Writer& writer = *writers_[stream];
  for (std::uint32_t seen = 0;; ++seen) {
    writer.go.wait(seen, std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
    writer.status = write_(stream, writer.label);
    writer.done.store(seen + 1, std::memory_order_release);
    writer.done.notify_one();
  }
}

}  // namespace nvmdb::wal
