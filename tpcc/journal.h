#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/result.h"

namespace nvmdb::tpcc {

/// What was acknowledged, kept by the terminals outside of the database: memory that a parent process shares with the
/// process that runs the benchmark, so that it outlives it. After a crash every entry must be in the database.
/// Source: clause 3.5.
class Journal {
 public:
  enum class Kind : std::uint64_t { NewOrder = 1, Payment = 2, Delivery = 3 };
  struct Entry {
    Kind kind;
    std::uint64_t key;  ///< first word of the key of the order, or of the HISTORY row
  };

  /// Room for `entries` acknowledgements of each of `lanes` terminals' workers. Errors: OutOfSpace.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> create(std::uint32_t lanes, std::uint64_t entries);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// One thread per lane. What does not fit is counted and lost.
  void acknowledge(std::uint32_t lane, const Entry& entry);
  [[nodiscard]] std::uint32_t lanes() const { return lanes_; }
  [[nodiscard]] std::span<const Entry> entries(std::uint32_t lane) const;
  [[nodiscard]] std::uint64_t lost() const;
  /// Forgets all.
  void clear();

 private:
  struct alignas(128) Lane {
    std::atomic<std::uint64_t> count;
    std::atomic<std::uint64_t> lost;
  };
  Journal(std::byte* memory, std::size_t bytes, std::uint32_t lanes, std::uint64_t capacity)
      : memory_(memory), bytes_(bytes), lanes_(lanes), capacity_(capacity) {}
  [[nodiscard]] Lane& lane(std::uint32_t number) const { return reinterpret_cast<Lane*>(memory_)[number]; }
  [[nodiscard]] Entry* first(std::uint32_t number) const {
    return reinterpret_cast<Entry*>(memory_ + std::size_t{lanes_} * sizeof(Lane)) + number * capacity_;
  }

  std::byte* memory_;
  std::size_t bytes_;
  std::uint32_t lanes_;
  std::uint64_t capacity_;
};

}  // namespace nvmdb::tpcc
