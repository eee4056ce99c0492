#include "tests/support/recorded_media.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/narrow.h"
#include "storage/nvm/root_words.h"

namespace nvmdb::test {
namespace {

using storage::Door;

constexpr std::uint64_t kBlockBytes = 4096;

/// A number of the calling thread that no later thread gets again, unlike std::thread::id.
std::uint64_t this_thread_number() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

std::string site_name(const Door::Site& site) {
  std::string_view file = site.file_name();
  constexpr std::string_view root = NVMDB_SOURCE_DIR "/";
  if (file.starts_with(root)) file.remove_prefix(root.size());
  // A compiler cache may make paths relative to the build folder.
  while (file.starts_with("../")) file.remove_prefix(3);
  return std::string(file) + ":" + std::to_string(site.line());
}

/// Copies so that an aligned 8-byte word is stored at once, as readers of single words expect.
void store_bytes(std::byte* target, ByteSpan source) {
  if (source.size() == 8 && reinterpret_cast<std::uintptr_t>(target) % 8 == 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, source.data(), 8);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(target), word, __ATOMIC_RELEASE);
  } else if (!source.empty()) {
    std::memcpy(target, source.data(), source.size());
  }
}

}  // namespace

AreaMemory::AreaMemory(std::uint64_t bytes) : size_(bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  NVMDB_CHECK(memory != MAP_FAILED, "no memory for recorded media");
  data_ = static_cast<std::byte*>(memory);
}

AreaMemory::~AreaMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

AreaMemory::AreaMemory(AreaMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

void AreaMemory::copy_from(const AreaMemory& other) {
  NVMDB_CHECK(size_ == other.size_, "areas differ in size");
  for (std::uint64_t at = 0; at < size_; at += kBlockBytes) {
    const std::uint64_t count = std::min(kBlockBytes, size_ - at);
    if (std::memcmp(data_ + at, other.data_ + at, count) != 0)
      std::memcpy(data_ + at, other.data_ + at, count);
  }
}

/// The door to one area: hands everything to the media.
class RecordedMedia::RecordingDoor final : public Door {
 public:
  RecordingDoor(RecordedMedia& media, std::uint32_t area) : media_(media), area_(area) {
    data_ = media.areas_[area].data();
    size_ = media.areas_[area].size();
  }
  void store8(std::uint64_t offset, std::uint64_t value, Site site) override {
    NVMDB_CHECK(offset % 8 == 0, "store8 must be aligned");
    media_.store(area_, EventKind::Store, offset, std::as_bytes(std::span(&value, 1)), site);
  }
  void copy(std::uint64_t offset, ByteSpan source, Site site) override {
    media_.store(area_, EventKind::Store, offset, source, site);
  }
  void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) override {
    media_.store(area_, EventKind::StoreNontemporal, offset, source, site);
  }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site) override {
    NVMDB_CHECK(bytes <= size_, "fill outside the mapped area");
    media_.store(area_, EventKind::StoreNontemporal, offset, Bytes(bytes, value), site);
  }
  void flush(std::uint64_t offset, std::uint64_t bytes, Site site) override {
    media_.flush(area_, offset, bytes, site);
  }
  Status fence(Site site) override { return media_.fence(site); }

 private:
  RecordedMedia& media_;
  std::uint32_t area_;
};

RecordedMedia::RecordedMedia(RecordedOptions options) : options_(std::move(options)) {
  identity_.format_version = 1;
  identity_.uuid.fill(0x5a);
  device_.kind = "recorded";
  const std::uint64_t words = storage::kPageDirectoryWord + options_.regions * options_.pages;
  areas_.emplace_back(align_up(words * 8, kBlockBytes));
  for (std::uint32_t region = 0; region < options_.regions; ++region) {
    areas_.emplace_back(options_.pages * storage::kPageBytes);
  }
  for (std::uint32_t area = 0; area < areas_.size(); ++area) {
    doors_.push_back(std::make_unique<RecordingDoor>(*this, area));
  }
  if (options_.record) start_recording();
}

RecordedMedia::~RecordedMedia() = default;

Door& RecordedMedia::root_words() {
  return *doors_[kRootArea];
}

Door& RecordedMedia::region(std::uint32_t index) {
  NVMDB_CHECK(index < options_.regions, "no such region");
  return *doors_[index + 1];
}

void RecordedMedia::start_recording() {
  const MutexLock lock(mutex_);
  recording_data_ = Recording{};
  recording_data_.regions = options_.regions;
  recording_data_.drop_sites = options_.drop_sites;
  recording_data_.pages = options_.pages;
  recording_data_.device = device_;
  for (const AreaMemory& area : areas_) {
    recording_data_.initial.emplace_back(area.size()).copy_from(area);
  }
  site_numbers_.clear();
  droppable_.clear();
  threads_.clear();
  recording_ = true;
  tracked_.store(true, std::memory_order_release);
}

Recording RecordedMedia::take_recording() {
  const MutexLock lock(mutex_);
  NVMDB_CHECK(recording_, "nothing was recorded");
  check_no_bypass();
  recording_ = false;
  tracked_.store(undoing_, std::memory_order_release);
  return std::exchange(recording_data_, Recording{});
}

void RecordedMedia::check_no_bypass() {
  std::vector<AreaMemory> shadow;
  for (const AreaMemory& area : recording_data_.initial) shadow.emplace_back(area.size()).copy_from(area);
  for (const Event& event : recording_data_.events) {
    if (event.kind != EventKind::Store && event.kind != EventKind::StoreNontemporal) continue;
    store_bytes(shadow[event.area].data() + event.offset, recording_data_.bytes_of(event));
  }
  for (std::uint32_t area = 0; area < areas_.size(); ++area) {
    for (std::uint64_t at = 0; at < areas_[area].size(); at += kBlockBytes) {
      const std::uint64_t count = std::min(kBlockBytes, areas_[area].size() - at);
      NVMDB_CHECK(
          std::memcmp(areas_[area].data() + at, shadow[area].data() + at, count) == 0,
          "a store went around the doors: area " + std::to_string(area) + " block " + std::to_string(at));
    }
  }
}

void RecordedMedia::ack(std::uint64_t id) {
  const MutexLock lock(mutex_);
  if (!recording_) return;
  Event event;
  event.kind = EventKind::Acknowledge;
  event.thread = thread_index();
  event.id = id;
  recording_data_.events.push_back(std::move(event));
}

void RecordedMedia::phase(std::string_view name) {
  const MutexLock lock(mutex_);
  if (!recording_) return;
  Event event;
  event.kind = EventKind::Phase;
  event.thread = thread_index();
  event.name = name;
  recording_data_.events.push_back(std::move(event));
}

void RecordedMedia::fail_fences(std::uint64_t after, std::uint64_t count) {
  const std::uint64_t from = fences_.load(std::memory_order_relaxed) + after;
  fail_from_.store(from, std::memory_order_relaxed);
  fail_to_.store(count > ~0ULL - from ? ~0ULL : from + count, std::memory_order_relaxed);
}

void RecordedMedia::keep_undo() {
  const MutexLock lock(mutex_);
  undo_.clear();
  undo_data_.clear();
  undoing_ = true;
  tracked_.store(true, std::memory_order_release);
}

void RecordedMedia::roll_back() {
  const MutexLock lock(mutex_);
  NVMDB_CHECK(undoing_, "no undo was kept");
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
    std::memcpy(areas_[undo->area].data() + undo->offset, undo_data_.data() + undo->data_at, undo->bytes);
  }
  undo_.clear();
  undo_data_.clear();
  undoing_ = false;
  tracked_.store(recording_, std::memory_order_release);
}

void RecordedMedia::poke(std::uint32_t area, std::uint64_t offset, ByteSpan bytes) {
  const MutexLock lock(mutex_);
  write(area, offset, bytes);
}

void RecordedMedia::write(std::uint32_t area, std::uint64_t offset, ByteSpan source) {
  std::byte* target = areas_[area].data() + offset;
  if (undoing_) {
    undo_.push_back({area, offset, source.size(), undo_data_.size()});
    undo_data_.insert(undo_data_.end(), target, target + source.size());
  }
  store_bytes(target, source);
}

void RecordedMedia::store(std::uint32_t area, EventKind kind, std::uint64_t offset, ByteSpan source,
                          const Door::Site& site) {
  NVMDB_CHECK(offset <= areas_[area].size() && source.size() <= areas_[area].size() - offset,
              "store outside the mapped area");
  if (!tracked_.load(std::memory_order_acquire)) {
    store_bytes(areas_[area].data() + offset, source);
    return;
  }
  const MutexLock lock(mutex_);
  write(area, offset, source);
  if (!recording_) return;
  Event event;
  event.kind = kind;
  event.thread = thread_index();
  event.area = area;
  event.site = site_index(site, false);
  event.offset = offset;
  event.bytes = source.size();
  event.data_at = recording_data_.data.size();
  recording_data_.data.insert(recording_data_.data.end(), source.begin(), source.end());
  recording_data_.events.push_back(std::move(event));
}

void RecordedMedia::flush(std::uint32_t area, std::uint64_t offset, std::uint64_t bytes,
                          const Door::Site& site) {
  NVMDB_CHECK(offset <= areas_[area].size() && bytes <= areas_[area].size() - offset,
              "flush outside the mapped area");
  if (!tracked_.load(std::memory_order_acquire)) return;
  const MutexLock lock(mutex_);
  if (!recording_) return;
  Event event;
  event.kind = EventKind::Flush;
  event.thread = thread_index();
  event.area = area;
  event.site = site_index(site, true);
  event.offset = offset;
  event.bytes = bytes;
  if (!is_dropped(site)) recording_data_.events.push_back(std::move(event));
}

Status RecordedMedia::fence(const Door::Site& site) {
  const std::uint64_t number = fences_.fetch_add(1, std::memory_order_seq_cst);
  if (number >= fail_from_.load(std::memory_order_relaxed) &&
      number < fail_to_.load(std::memory_order_relaxed)) {
    return Status::io_error("recorded media: fence " + std::to_string(number) + " was made to fail");
  }
  if (!tracked_.load(std::memory_order_acquire)) return Status::ok();
  const MutexLock lock(mutex_);
  if (!recording_) return Status::ok();
  Event event;
  event.kind = EventKind::Fence;
  event.thread = thread_index();
  event.site = site_index(site, true);
  if (!is_dropped(site)) recording_data_.events.push_back(std::move(event));
  return Status::ok();
}

std::uint32_t RecordedMedia::site_index(const Door::Site& site, bool droppable) {
  std::string name = site_name(site);
  const auto next = narrow<std::uint32_t>(recording_data_.sites.size());
  const auto [found, added] = site_numbers_.emplace(name, next);
  if (added) recording_data_.sites.push_back(name);
  const std::uint32_t index = found->second;
  if (droppable && droppable_.insert(index).second) {
    recording_data_.fence_and_flush_sites.push_back(std::move(name));
  }
  return index;
}

std::uint32_t RecordedMedia::thread_index() {
  return threads_.emplace(this_thread_number(), narrow<std::uint32_t>(threads_.size())).first->second;
}

bool RecordedMedia::is_dropped(const Door::Site& site) const {
  if (options_.drop_sites.empty()) return false;
  const std::string name = site_name(site);
  return std::any_of(options_.drop_sites.begin(), options_.drop_sites.end(), [&](const std::string& drop) {
    return name.ends_with(drop) && (name.size() == drop.size() || name[name.size() - drop.size() - 1] == '/');
  });
}

}  // namespace nvmdb::test
