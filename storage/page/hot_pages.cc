#include "storage/page/hot_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "storage/base/bytes.h"
#include "storage/base/check.h"

namespace nvmdb::storage {

namespace {
constexpr unsigned kFirstClassBits = 5;  // the smallest class is 32 bytes
constexpr std::size_t kSpanBytes = 64ULL << 10U;
constexpr std::size_t kBatchBytes = 16ULL << 10U;
}  // namespace

bool HotBudget::try_take(std::uint64_t count) {
  std::uint64_t used = pages_used_.load(std::memory_order_relaxed);
  while (used + count <= pages_max_) {
    if (pages_used_.compare_exchange_weak(used, used + count, std::memory_order_relaxed)) return true;
  }
  return false;
}

bool HotBudget::take_pages(std::uint64_t count) {
  while (!try_take(count)) {
    const MutexLock lock(reclaimer_mutex_);
    if (!reclaim_ || !reclaim_()) return try_take(count);
  }
  return true;
}

void HotBudget::set_reclaimer(std::function<bool()> reclaim) {
  const MutexLock lock(reclaimer_mutex_);
  reclaim_ = std::move(reclaim);
}

unsigned HotPages::class_of(std::size_t bytes) {
  NVMDB_CHECK(bytes <= kBlockBytesMax, "a block is larger than the largest size class");
  if (bytes <= (1ULL << kFirstClassBits)) return 0;
  const auto bits = static_cast<unsigned>(std::bit_width(bytes - 1));
  const std::size_t half = 1ULL << (bits - 1);
  const unsigned full_class = 2 * (bits - kFirstClassBits);
  return bytes <= half + half / 2 ? full_class - 1 : full_class;
}

std::size_t HotPages::class_bytes(unsigned size_class) {
  const std::size_t power = 1ULL << (kFirstClassBits + size_class / 2);
  return size_class % 2 == 0 ? power : power + power / 2;
}

HotPages::HotPages(std::uint64_t bytes_max, HotBudget* budget, int backing_fd)
    : bytes_max_(align_up(bytes_max, kPageBytes)), budget_(budget) {
  mapping_bytes_ = bytes_max_ + kPageBytes;
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
  if (mapping == MAP_FAILED) {
    // No address space: every allocation will say that the budget is reached.
    mapping_bytes_ = 0;
    bytes_max_ = 0;
    return;
  }
  mapping_ = static_cast<std::byte*>(mapping);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  first_page_ = mapping_ + (align_up(address, kPageBytes) - address);
  if (backing_fd >= 0) {
    const void* mapped = mmap(first_page_, bytes_max_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, backing_fd, 0);
    if (mapped == MAP_FAILED) bytes_max_ = 0;
  }
  // Only a wish: without huge pages everything works, slower.
  static_cast<void>(madvise(first_page_, bytes_max_, MADV_HUGEPAGE));
}

HotPages::~HotPages() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

std::byte* HotPages::take_span(std::size_t bytes) {
  const MutexLock lock(page_mutex_);
  if (static_cast<std::size_t>(page_end_ - page_cursor_) < bytes) {
    const std::uint64_t used = pages_used_.load(std::memory_order_relaxed);
    if (used * kPageBytes >= bytes_max_) return nullptr;
    if (budget_ != nullptr && !budget_->take_pages(1)) return nullptr;
    page_cursor_ = first_page_ + used * kPageBytes;
    page_end_ = page_cursor_ + kPageBytes;
    pages_used_.store(used + 1, std::memory_order_relaxed);
  }
  page_cursor_ += bytes;
  return page_cursor_ - bytes;
}

HotPages::FreeBlock* HotPages::take(unsigned size_class, std::uint32_t& count) {
  SizeClass& central = classes_[size_class];
  const std::size_t bytes = class_bytes(size_class);
  const MutexLock lock(central.mutex);
  FreeBlock* first = nullptr;
  std::uint32_t taken = 0;
  for (; taken < count && central.free != nullptr; ++taken) {
    FreeBlock* block = central.free;
    central.free = block->next;
    block->next = first;
    first = block;
  }
  for (; taken < count; ++taken) {
    if (static_cast<std::size_t>(central.span_end - central.span) < bytes) {
      const std::size_t span_bytes = bytes > kPageBytes / 8 ? bytes : std::max(kSpanBytes, 4 * bytes);
      std::byte* span = taken == 0 || bytes <= kSpanBytes / 4 ? take_span(span_bytes) : nullptr;
      if (span == nullptr) break;
      central.span = span;
      central.span_end = span + span_bytes;
    }
    auto* block = reinterpret_cast<FreeBlock*>(central.span);
    central.span += bytes;
    block->next = first;
    first = block;
  }
  count = taken;
  allocated_.fetch_add(taken * bytes, std::memory_order_relaxed);
  return first;
}

void HotPages::give_back(unsigned size_class, FreeBlock* first, FreeBlock* last, std::uint32_t count) {
  allocated_.fetch_sub(count * class_bytes(size_class), std::memory_order_relaxed);
  SizeClass& central = classes_[size_class];
  const MutexLock lock(central.mutex);
  last->next = central.free;
  central.free = first;
}

std::uint32_t HotPages::Cache::batch_of(unsigned size_class) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(kBatchBytes / class_bytes(size_class), 1, 64));
}

std::byte* HotPages::Cache::allocate(std::size_t bytes) {
  const unsigned size_class = class_of(bytes);
  Stock& stock = stock_[size_class];
  if (stock.first == nullptr) {
    std::uint32_t count = batch_of(size_class);
    stock.first = pages_.take(size_class, count);
    stock.count = count;
    if (stock.first == nullptr) return nullptr;
  }
  FreeBlock* block = stock.first;
  stock.first = block->next;
  --stock.count;
  return reinterpret_cast<std::byte*>(block);
}

void HotPages::Cache::free(void* block, std::size_t bytes) {
  const unsigned size_class = class_of(bytes);
  Stock& stock = stock_[size_class];
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = stock.first;
  stock.first = free_block;
  ++stock.count;
  const std::uint32_t batch = batch_of(size_class);
  if (stock.count > 2 * batch) give_back(size_class, batch);
}

void HotPages::Cache::give_back(unsigned size_class, std::uint32_t count) {
  Stock& stock = stock_[size_class];
  if (count == 0 || stock.first == nullptr) return;
  FreeBlock* first = stock.first;
  FreeBlock* last = first;
  for (std::uint32_t i = 1; i < count; ++i) last = last->next;
  stock.first = last->next;
  stock.count -= count;
  pages_.give_back(size_class, first, last, count);
}

void HotPages::Cache::flush() {
  for (unsigned size_class = 0; size_class < kClassCount; ++size_class) {
    give_back(size_class, stock_[size_class].count);
  }
}

}  // namespace nvmdb::storage
