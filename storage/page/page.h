#pragma once

#include <compare>
#include <cstdint>

namespace nvmdb::storage {

/// The unit of allocation and of garbage collection, in DRAM (hot page) and in NVM (NVM page).
inline constexpr std::uint64_t kPageBytes = 2ULL << 20U;

/// An NVM page: its region and its index in that region.
struct PageId {
  std::uint32_t region = 0;
  std::uint32_t index = 0;
  auto operator<=>(const PageId&) const = default;
  [[nodiscard]] std::uint64_t offset() const { return index * kPageBytes; }
};

/// Neighbouring NVM pages.
struct PageRange {
  PageId first;
  std::uint32_t count = 0;
  bool operator==(const PageRange&) const = default;
};

/// A stretch of NVM bytes inside pages of one owner.
struct Extent {
  std::uint32_t region = 0;
  std::uint64_t offset = 0;  ///< in the region
  std::uint64_t bytes = 0;
  bool operator==(const Extent&) const = default;
};

/// What an NVM page holds.
enum class PageKind : std::uint8_t {
  Free = 0,
  Log = 1,         ///< owner: log stream
  Checkpoint = 2,  ///< owner: table
  Overflow = 3,    ///< not durable; free after a restart
  Field = 4,       ///< owner: run
};
inline constexpr std::uint8_t kPageKindCount = 5;

/// One word of the page directory. Zero is a free page.
struct PageEntry {
  PageKind kind = PageKind::Free;
  std::uint32_t owner = 0;
  bool operator==(const PageEntry&) const = default;

  [[nodiscard]] std::uint64_t encode() const {
    return (std::uint64_t{static_cast<std::uint8_t>(kind)} << 56U) | owner;
  }
  [[nodiscard]] static PageEntry decode(std::uint64_t word) {
    return {static_cast<PageKind>(word >> 56U), static_cast<std::uint32_t>(word)};
  }
};

}  // namespace nvmdb::storage
