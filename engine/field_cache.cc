#include "engine/field_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::engine {

namespace {

constexpr std::size_t kWantedMax = 64;

/// What is transposed at a time: it stays in the processor's cache, and a point's values fill a line.
constexpr std::uint64_t kBlockPoints = 512;
constexpr std::uint64_t kBlockSteps = 16;

std::uint64_t bytes_of(const FieldColumn& column) {
  return align_up(column.fields.front().field.points * column.fields.size() * sizeof(float), storage::kPageBytes);
}

bool on_one_grid(const FieldColumn& column) {
  const Field& first = column.fields.front().field;
  return std::all_of(column.fields.begin(), column.fields.end(), [&](const FieldRef& ref) {
    return ref.field.grid == first.grid && ref.field.points == first.points &&
           ref.extent.size() == ref.field.encoding.extent_bytes(first.points);
  });
}

/// False when the medium could not be read.
[[nodiscard]] bool transpose(const FieldColumn& column, float* to) {
  const std::uint64_t steps = column.fields.size();
  const std::uint64_t points = column.fields.front().field.points;
  std::vector<float> planes(kBlockSteps * kBlockPoints);
  for (std::uint64_t first_step = 0; first_step < steps; first_step += kBlockSteps) {
    const std::uint64_t step_count = std::min(kBlockSteps, steps - first_step);
    std::vector<met::Decoder> decoders;
    for (std::uint64_t step = 0; step < step_count; ++step) decoders.push_back(column.fields[first_step + step].decoder());
    for (std::uint64_t first = 0; first < points; first += kBlockPoints) {
      const std::uint64_t count = std::min(kBlockPoints, points - first);
      if (!storage::read_guarded([&] {
            for (std::uint64_t step = 0; step < step_count; ++step) {
              decoders[step].run(first, std::span(planes).subspan(step * kBlockPoints, count));
            }
          })) {
        return false;
      }
      for (std::uint64_t point = 0; point < count; ++point) {
        float* const out = to + (first + point) * steps + first_step;
        for (std::uint64_t step = 0; step < step_count; ++step) out[step] = planes[step * kBlockPoints + point];
      }
    }
  }
  return true;
}

}  // namespace

/// DRAM of one copy; goes with its last reader.
class HotBlock {
 public:
  HotBlock(storage::HotBudget& budget, std::uint64_t bytes) : budget_(budget), bytes_(bytes) {
    // More than is needed, so that the copy begins at a huge page.
    void* mapping = mmap(nullptr, bytes + storage::kPageBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return;
    mapping_ = static_cast<std::byte*>(mapping);
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    data_ = mapping_ + (align_up(address, storage::kPageBytes) - address);
    static_cast<void>(madvise(data_, bytes, MADV_HUGEPAGE));
  }
  ~HotBlock() {
    if (mapping_ != nullptr) munmap(mapping_, bytes_ + storage::kPageBytes);
    budget_.give_pages(bytes_ / storage::kPageBytes);
  }
  HotBlock(const HotBlock&) = delete;
  HotBlock& operator=(const HotBlock&) = delete;
  /// nullptr when there is no memory.
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  storage::HotBudget& budget_;
  std::uint64_t bytes_;
  std::byte* mapping_ = nullptr;
  std::byte* data_ = nullptr;
};

FieldCache::FieldCache(FieldStore& store, storage::HotBudget& budget, std::uint64_t bytes_max)
    : store_(store), budget_(budget), bytes_max_(bytes_max) {
  budget_.set_reclaimer([this] { return drop_oldest(); });
}

FieldCache::~FieldCache() {
  budget_.set_reclaimer({});
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

FieldCache::Entries::iterator FieldCache::find_locked(const ColumnKey& key) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.column->key == key; });
}

std::shared_ptr<const HotColumn> FieldCache::find(const FieldColumn& column) {
  const std::lock_guard lock(mutex_);
  const auto entry = find_locked(column.key);
  if (entry == entries_.end() || entry->column->run_version != column.run_version) return nullptr;
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->column;
}

void FieldCache::want(const FieldColumn& column) {
  if (bytes_of(column) > bytes_max_ || !on_one_grid(column)) return;
  {
    const std::lock_guard lock(mutex_);
    if (wanted_.size() >= kWantedMax || std::find(wanted_.begin(), wanted_.end(), column.key) != wanted_.end()) return;
    if (const auto entry = find_locked(column.key); entry != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, entry);
      if (entry->column->run_version == column.run_version) return;
    }
    wanted_.push_back(column.key);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  wake_.notify_one();
}

void FieldCache::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !wanted_.empty(); });
    if (stop_) return;
    const ColumnKey key = wanted_.front();
    wanted_.pop_front();
    busy_ = true;
    lock.unlock();
    copy(key);
    lock.lock();
    busy_ = false;
    if (wanted_.empty()) idle_.notify_all();
  }
}

void FieldCache::copy(const ColumnKey& key) {
  // The view keeps the pages in NVM as they are until the copy is made. Failures leave the column where it is.
  const Result<ReadView> view = store_.view();
  if (!view.is_ok()) return;
  const auto column = store_.column(*view, key);
  if (!column.is_ok() || !on_one_grid(**column)) return;
  // Who asks for a damaged field reads it where it is, and is told.
  for (const FieldRef& ref : (*column)->fields) {
    if (!store_.check(ref).is_ok()) return;
  }
  const std::uint64_t bytes = bytes_of(**column);
  const std::uint64_t pages = bytes / storage::kPageBytes;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      // Wanted again while it was being copied.
      const auto entry = find_locked(key);
      if (entry != entries_.end() && entry->column->run_version == (*column)->run_version) return;
      if (bytes_ + bytes <= bytes_max_) break;
    }
    if (!drop_oldest()) return;
  }
  if (!budget_.take_pages(pages)) return;
  const auto block = std::make_shared<HotBlock>(budget_, bytes);
  if (block->data() == nullptr) return;

  auto hot = std::make_shared<HotColumn>();
  auto* values = reinterpret_cast<float*>(block->data());
  if (!transpose(**column, values)) {
    (void)store_.unreadable((*column)->fields);
    return;
  }
  hot->key = key;
  hot->run_version = (*column)->run_version;
  hot->steps = (*column)->fields.size();
  hot->points = (*column)->fields.front().field.points;
  hot->values = values;
  hot->backing = block;
  const std::lock_guard lock(mutex_);
  if (const auto old = find_locked(key); old != entries_.end()) erase_locked(old);
  entries_.push_front({std::move(hot), bytes});
  bytes_ += bytes;
  ++copied_;
  generation_.fetch_add(1, std::memory_order_release);
}

void FieldCache::erase_locked(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  entries_.erase(entry);
  ++dropped_;
  generation_.fetch_add(1, std::memory_order_release);
}

bool FieldCache::drop_oldest() {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return false;
  erase_locked(std::prev(entries_.end()));
  return true;
}

void FieldCache::forget(RunId run) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->column->key.run == run) erase_locked(entry);
    entry = next;
  }
}

void FieldCache::settle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return stop_ || (wanted_.empty() && !busy_); });
}

FieldCacheStatistics FieldCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return {bytes_, bytes_max_, entries_.size(), copied_, dropped_};
}

}  // namespace nvmdb::engine
