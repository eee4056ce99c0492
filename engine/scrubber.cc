#include "engine/scrubber.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "engine/catalogue_rows.h"
#include "storage/base/clock.h"

namespace nvmdb::engine {
namespace {

constexpr std::chrono::minutes kBetweenPasses{10};
constexpr int kNice = 10;
/// Fields looked up at a time, and bytes read before the scrubber lets go of what it pins.
constexpr std::size_t kFieldsAtOnce = 64;
constexpr std::uint64_t kBytesAtOnce = 4ULL << 20U;

/// The key behind `key`, in its order.
index::Key next_key(index::Key key) {
  for (std::uint32_t word = key.count; word-- > 0;) {
    if (++key.words[word] != 0) break;
  }
  return key;
}

}  // namespace

Scrubber::Scrubber(FieldStore& store, std::uint64_t bytes_per_second)
    : store_(store), bytes_per_second_(bytes_per_second) {}

Scrubber::~Scrubber() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Scrubber::start() {
  if (!thread_.joinable() && bytes_per_second_ > 0) thread_ = std::thread([this] { run(); });
}

void Scrubber::run() {
  // A tenth of a processor's time where others want it. Not less: a checkpoint must not wait long for the page that is
  // being read. Where it cannot be had this is one thread among others.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    // What it cannot read now it reads the next time.
    (void)pass();
    lock.lock();
    wake_.wait_for(lock, kBetweenPasses, [this] { return stop_; });
  }
}

Status Scrubber::pass() {
  const std::lock_guard one(pass_mutex_);
  for (auto* count : {&fields_, &checkpoint_pages_, &bytes_}) count->store(0, std::memory_order_relaxed);
  NVMDB_TRY(scrub_fields());
  NVMDB_TRY(scrub_grids());
  NVMDB_TRY(scrub_checkpoint());
  last_end_.store(system_clock().wall_seconds(), std::memory_order_relaxed);
  passes_.fetch_add(1, std::memory_order_relaxed);
  return Status::ok();
}

Status Scrubber::scrub_fields() {
  index::Key low = rows::field_low(0);
  const index::Key high = rows::field_high(~0U);
  storage::PoolMedia& media = store_.database().media();
  for (bool more = true; more;) {
    // The view keeps in place what was looked up under it.
    NVMDB_ASSIGN(const ReadView view, store_.view());
    std::vector<Field> fields;
    index::Key after = low;
    NVMDB_TRY(store_.database().run_durable([&](Transaction& transaction) -> Status {
      fields.clear();
      return transaction.scan(rows::kFieldTable, low, high, [&](const index::Key& key, ByteSpan row) {
        const Result<Field> field = rows::decode_field(key, row);
        if (field.is_ok()) fields.push_back(*field);
        after = next_key(key);
        return fields.size() < kFieldsAtOnce;
      });
    }));
    more = fields.size() == kFieldsAtOnce;
    low = after;
    std::uint64_t bytes = 0;
    for (const Field& field : fields) {
      const storage::Extent& at = field.extent;
      // Damage goes on the list.
      if (at.bytes > 0)
        (void)store_.verify(view, {field, media.region(at.region).bytes(at.offset, at.bytes)});
      fields_.fetch_add(1, std::memory_order_relaxed);
      bytes += at.bytes;
      if (bytes < kBytesAtOnce) continue;
      low = next_key(rows::field_key(field.key));
      more = true;
      break;
    }
    NVMDB_TRY(pay(bytes));
  }
  return Status::ok();
}

Status Scrubber::scrub_grids() {
  std::vector<GridId> grids;
  NVMDB_TRY(store_.database().run_durable([&](Transaction& transaction) -> Status {
    grids.clear();
    return transaction.scan(rows::kGridTable, index::make_key(0), index::make_key(~0ULL),
                            [&](const index::Key& key, ByteSpan) {
                              grids.push_back(static_cast<GridId>(key.words[0]));
                              return true;
                            });
  }));
  for (const GridId grid : grids) {
    NVMDB_ASSIGN(const std::uint64_t bytes, store_.verify_grid(grid));
    NVMDB_TRY(pay(bytes));
  }
  return Status::ok();
}

Status Scrubber::scrub_checkpoint() {
  storage::PageId next;
  for (;;) {
    NVMDB_ASSIGN(const std::uint64_t bytes, store_.verify_checkpoint_page(next));
    if (bytes == 0) return Status::ok();
    checkpoint_pages_.fetch_add(1, std::memory_order_relaxed);
    NVMDB_TRY(pay(bytes));
  }
}

Status Scrubber::pay(std::uint64_t bytes) {
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  if (bytes_per_second_ > 0) {
    constexpr std::uint64_t kMicroseconds = 1'000'000;
    wake_.wait_for(lock, std::chrono::microseconds(bytes * kMicroseconds / bytes_per_second_),
                   [this] { return stop_; });
  }
  return stop_ ? Status::conflict("the scrubber was stopped") : Status::ok();
}

ScrubProgress Scrubber::progress() const {
  return {.bytes_per_second = bytes_per_second_,
          .passes = passes_.load(std::memory_order_relaxed),
          .fields = fields_.load(std::memory_order_relaxed),
          .checkpoint_pages = checkpoint_pages_.load(std::memory_order_relaxed),
          .bytes = bytes_.load(std::memory_order_relaxed),
          .last_end = last_end_.load(std::memory_order_relaxed)};
}

}  // namespace nvmdb::engine
