#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/mutex.h"
#include "storage/nvm/door.h"
#include "storage/nvm/media.h"
#include "storage/page/page.h"

namespace nvmdb::test {

/// One thing that happened to recorded media.
enum class EventKind : unsigned char { Store, StoreNontemporal, Flush, Fence, Acknowledge, Phase };

/// The area of the root words; region r is area r + 1.
inline constexpr std::uint32_t kRootArea = 0;

struct Event {
  EventKind kind = EventKind::Fence;
  std::uint32_t thread = 0;  ///< small number, in order of first appearance
  std::uint32_t area = 0;    ///< stores and flushes
  std::uint32_t site = 0;    ///< index into Recording::sites
  std::uint64_t offset = 0;  ///< in the area
  std::uint64_t bytes = 0;
  std::uint64_t data_at = 0;  ///< stores: where the bytes begin in Recording::data
  std::uint64_t id = 0;       ///< Acknowledge
  std::string name;           ///< Phase
};

/// Zeroed memory that costs RAM only where it was written.
class AreaMemory {
 public:
  explicit AreaMemory(std::uint64_t bytes);
  ~AreaMemory();
  AreaMemory(AreaMemory&& other) noexcept;
  AreaMemory(const AreaMemory&) = delete;
  AreaMemory& operator=(const AreaMemory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] ByteSpan bytes() const { return {data_, static_cast<std::size_t>(size_)}; }
  /// Copies all of `other` (same size); blocks that are zero on both sides stay untouched.
  void copy_from(const AreaMemory& other);

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// What happened since start_recording(), in one total order in which the stores to one line are in their
/// real order.
struct Recording {
  std::uint32_t regions = 0;
  std::uint64_t pages = 0;  ///< per region
  storage::DeviceProfile device;
  std::vector<AreaMemory> initial;  ///< durable content at the start, by area
  std::vector<Event> events;
  Bytes data;                      ///< bytes of the stores
  std::vector<std::string> sites;  ///< "wal/log_writer.cc:120"
  std::vector<std::string>
      fence_and_flush_sites;  ///< sites that can be dropped, in order of first appearance
  std::vector<std::string> drop_sites;  ///< those that did nothing

  [[nodiscard]] ByteSpan bytes_of(const Event& event) const {
    return ByteSpan(data).subspan(event.data_at, event.bytes);
  }
};

struct RecordedOptions {
  std::uint32_t regions = 1;
  std::uint64_t pages = 16;  ///< of 2 MiB, per region
  bool record = false;       ///< record from the start; else from start_recording() on
  /// Flushes and fences at these sites ("page_allocator.cc:12": any path suffix) do nothing.
  std::vector<std::string> drop_sites = {};
};

/// PoolMedia in plain memory. Without recording it is cheap: what unit tests of upper layers use. With
/// recording it logs every durable store, flush and fence, so that CrashStates can cut the power anywhere.
/// Threads: any number; while recording, one mutex orders everything.
class RecordedMedia final : public storage::PoolMedia {
 public:
  explicit RecordedMedia(RecordedOptions options = {});
  ~RecordedMedia() override;

  [[nodiscard]] const storage::PoolIdentity& identity() const override { return identity_; }
  [[nodiscard]] const storage::DeviceProfile& device() const override { return device_; }
  [[nodiscard]] storage::Door& root_words() override;
  [[nodiscard]] std::uint32_t region_count() const override { return options_.regions; }
  [[nodiscard]] storage::Door& region(std::uint32_t index) override;

  /// Changes the device profile that device() returns (write unit, writers).
  [[nodiscard]] storage::DeviceProfile& mutable_device() { return device_; }

  /// Everything stored so far counts as durable; events are logged from now on.
  void start_recording();
  /// Ends the recording and hands it over. Stops the process when a store went around the doors while
  /// recording.
  [[nodiscard]] Recording take_recording();

  /// The caller told a client that operation `id` is durable (or made its result visible).
  void ack(std::uint64_t id);
  /// A named point of the workload; the power is cut at each of them too.
  void phase(std::string_view name);

  /// Makes the next `count` fences, after `after` good ones, fail with IoError; `count` 0 heals.
  void fail_fences(std::uint64_t after, std::uint64_t count);
  /// Fences passed so far, also without recording.
  [[nodiscard]] std::uint64_t fence_count() const { return fences_.load(std::memory_order_relaxed); }

  /// Remembers old bytes from now on, so that roll_back() undoes every store since (cost: bytes stored).
  void keep_undo();
  void roll_back();
  /// Writes past the doors (fault injection, materialised crash states); undone by roll_back(), never
  /// recorded.
  void poke(std::uint32_t area, std::uint64_t offset, ByteSpan bytes);
  /// Sets the content of a whole area, not recorded and not undone.
  void load(std::uint32_t area, const AreaMemory& content) { areas_[area].copy_from(content); }
  [[nodiscard]] ByteSpan bytes(std::uint32_t area) const { return areas_[area].bytes(); }

 private:
  class RecordingDoor;
  struct Undo {
    std::uint32_t area;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t data_at;
  };

  void store(std::uint32_t area, EventKind kind, std::uint64_t offset, ByteSpan source,
             const storage::Door::Site& site);
  void flush(std::uint32_t area, std::uint64_t offset, std::uint64_t bytes, const storage::Door::Site& site);
  [[nodiscard]] Status fence(const storage::Door::Site& site);
  void write(std::uint32_t area, std::uint64_t offset, ByteSpan source) NVMDB_REQUIRES(mutex_);
  [[nodiscard]] std::uint32_t site_index(const storage::Door::Site& site, bool droppable)
      NVMDB_REQUIRES(mutex_);
  [[nodiscard]] std::uint32_t thread_index() NVMDB_REQUIRES(mutex_);
  [[nodiscard]] bool is_dropped(const storage::Door::Site& site) const;
  void check_no_bypass() NVMDB_REQUIRES(mutex_);

  RecordedOptions options_;
  storage::PoolIdentity identity_;
  storage::DeviceProfile device_;
  std::vector<AreaMemory> areas_;
  std::vector<std::unique_ptr<RecordingDoor>> doors_;
  std::atomic<bool> tracked_{false};  ///< recording or keeping undo: stores take the mutex
  std::atomic<std::uint64_t> fences_{0};
  std::atomic<std::uint64_t> fail_from_{~0ULL};
  std::atomic<std::uint64_t> fail_to_{~0ULL};

  Mutex mutex_;
  bool recording_ NVMDB_GUARDED_BY(mutex_) = false;
  bool undoing_ NVMDB_GUARDED_BY(mutex_) = false;
  Recording recording_data_ NVMDB_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::uint32_t> site_numbers_ NVMDB_GUARDED_BY(mutex_);
  std::set<std::uint32_t> droppable_ NVMDB_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::uint32_t> threads_ NVMDB_GUARDED_BY(mutex_);
  std::vector<Undo> undo_ NVMDB_GUARDED_BY(mutex_);
  Bytes undo_data_ NVMDB_GUARDED_BY(mutex_);
};

}  // namespace nvmdb::test
