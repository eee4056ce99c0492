#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "storage/base/bytes.h"
#include "storage/base/check.h"
#include "storage/base/status.h"

namespace nvmdb::storage {

/// The one door to durable bytes: all stores to one mapped area of durable memory pass through it.
///
/// What survives a power cut: a store reaches the media some time after it is made, or never, until the storing
/// thread has flushed its line (copy, store8) or made it non-temporal (copy_nontemporal, fill) *and* the same
/// thread has passed a fence. Only aligned 8-byte units are atomic on the media.
///
/// Threads: any number; a fence orders only the stores and flushes of the calling thread.
/// Implementations: libpmem2 mapping, ordinary file, libpmemobj root, recording domain for crash tests.
class Door {
 public:
  using Site = std::source_location;

  Door() = default;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  virtual ~Door() = default;

  /// One aligned 8-byte store, atomic on the media; visible to readers at once with release order.
  /// Needs flush() and fence() to be durable.
  virtual void store8(std::uint64_t offset, std::uint64_t value, Site site = Site::current()) = 0;
  /// Cached copy; needs flush() and fence() to be durable.
  virtual void copy(std::uint64_t offset, ByteSpan source, Site site = Site::current()) = 0;
  /// Non-temporal copy; needs only fence() to be durable.
  virtual void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site = Site::current()) = 0;
  /// Non-temporal fill with one byte value; needs only fence() to be durable.
  virtual void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site = Site::current()) = 0;
  /// Starts writing back the lines of [offset, offset + bytes).
  virtual void flush(std::uint64_t offset, std::uint64_t bytes, Site site = Site::current()) = 0;
  /// Returns when all that this thread stored non-temporally or flushed before is durable.
  /// Errors: IoError (ordinary files only: the device refused; nothing may be acknowledged after it).
  [[nodiscard]] virtual Status fence(Site site = Site::current()) = 0;

  /// The bytes, for reading. Valid while the door lives.
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] ByteSpan bytes(std::uint64_t offset, std::uint64_t count) const {
    NVMDB_CHECK(offset <= size_ && count <= size_ - offset, "read outside the mapped area");
    return {data_ + offset, static_cast<std::size_t>(count)};
  }
  /// One 8-byte word, read atomically with acquire order.
  [[nodiscard]] std::uint64_t load8(std::uint64_t offset) const {
    NVMDB_CHECK(offset % 8 == 0 && offset + 8 <= size_, "word outside the mapped area or not aligned");
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(data_ + offset), __ATOMIC_ACQUIRE);
  }

 protected:
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// A bounded part of a Door: what a component is handed to write its own durable bytes, and nothing else.
/// Cheap to copy. A store outside the span stops the process.
class PersistentSpan {
 public:
  using Site = Door::Site;

  PersistentSpan() = default;
  PersistentSpan(Door& door, std::uint64_t offset, std::uint64_t bytes)
      : door_(&door), offset_(offset), bytes_(bytes) {
    NVMDB_CHECK(offset <= door.size() && bytes <= door.size() - offset, "span outside the mapped area");
  }

  void store8(std::uint64_t at, std::uint64_t value, Site site = Site::current()) const {
    door_->store8(place(at, 8), value, site);
  }
  void copy(std::uint64_t at, ByteSpan source, Site site = Site::current()) const {
    door_->copy(place(at, source.size()), source, site);
  }
  void copy_nontemporal(std::uint64_t at, ByteSpan source, Site site = Site::current()) const {
    door_->copy_nontemporal(place(at, source.size()), source, site);
  }
  void fill(std::uint64_t at, std::uint64_t count, std::byte value, Site site = Site::current()) const {
    door_->fill(place(at, count), count, value, site);
  }
  void flush(std::uint64_t at, std::uint64_t count, Site site = Site::current()) const {
    door_->flush(place(at, count), count, site);
  }
  [[nodiscard]] Status fence(Site site = Site::current()) const { return door_->fence(site); }

  [[nodiscard]] PersistentSpan subspan(std::uint64_t at, std::uint64_t count) const {
    return {*door_, place(at, count), count};
  }
  [[nodiscard]] ByteSpan bytes() const { return door_->bytes(offset_, bytes_); }
  [[nodiscard]] std::uint64_t load8(std::uint64_t at) const { return door_->load8(place(at, 8)); }
  /// Place of the span in its Door.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_; }

 private:
  [[nodiscard]] std::uint64_t place(std::uint64_t at, std::uint64_t count) const {
    NVMDB_CHECK(at <= bytes_ && count <= bytes_ - at, "store outside the persistent span");
    return offset_ + at;
  }

  Door* door_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace nvmdb::storage
