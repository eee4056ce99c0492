#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/nvm/door.h"

namespace nvmdb::storage {

/// Door over memory whose lines are made durable by flush instructions (libpmem2 granularity CACHE_LINE or
/// BYTE). The memory belongs to the caller and must outlive the door. fence() cannot fail.
class CacheLineDoor final : public Door {
 public:
  using FlushFunction = void (*)(const void*, std::size_t);
  using DrainFunction = void (*)();

  /// `flush_lines` and `drain` are libpmem2's for this kind of memory.
  CacheLineDoor(std::byte* memory, std::uint64_t bytes, FlushFunction flush_lines, DrainFunction drain);

  void store8(std::uint64_t offset, std::uint64_t value, Site site) override;
  void copy(std::uint64_t offset, ByteSpan source, Site site) override;
  void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) override;
  void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site) override;
  void flush(std::uint64_t offset, std::uint64_t bytes, Site site) override;
  [[nodiscard]] Status fence(Site site) override;

 private:
  [[nodiscard]] std::byte* place(std::uint64_t offset, std::uint64_t bytes) const;

  std::byte* memory_;
  FlushFunction flush_;
  DrainFunction drain_;
};

}  // namespace nvmdb::storage
