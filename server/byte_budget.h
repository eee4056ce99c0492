#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace nvmdb::server {

/// Bytes that all requests of a kind may hold together. Threads: any number.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }
  [[nodiscard]] bool has_room(std::uint64_t bytes) const {
    return bytes <= bytes_max_ - held_.load(std::memory_order_relaxed);
  }

  /// What one request holds; gives it back when destroyed.
  class Share {
   public:
    explicit Share(ByteBudget& budget) : budget_(budget) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { budget_.held_.fetch_sub(bytes_, std::memory_order_relaxed); }
    /// Gives back all.
    void clear() { budget_.held_.fetch_sub(std::exchange(bytes_, 0), std::memory_order_relaxed); }
    /// False when there is no room for as many: nothing is taken then.
    [[nodiscard]] bool grow(std::uint64_t bytes) {
      std::uint64_t held = budget_.held_.load(std::memory_order_relaxed);
      do {
        if (bytes > budget_.bytes_max_ - held) return false;
      } while (!budget_.held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
      bytes_ += bytes;
      return true;
    }

   private:
    ByteBudget& budget_;
    std::uint64_t bytes_ = 0;
  };

 private:
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> held_{0};  ///< relaxed: it orders nothing; never above bytes_max_
};

}  // namespace nvmdb::server
