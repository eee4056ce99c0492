#include "storage/device/calibration.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>

#include "storage/base/check.h"
#include "storage/base/clock.h"
#include "storage/base/narrow.h"
#include "storage/base/random.h"
#include "storage/device/calibration_choice.h"
#include "storage/device/read_hook.h"
#include "storage/device/tick_clock.h"
#include "storage/page/page_allocator.h"

namespace nvmdb::storage {
namespace {

/// Marks the pages of a calibration, so that those of one that was killed are known. No table or run has it.
constexpr std::uint32_t kOwner = 0xca11b8a7U;
constexpr std::uint32_t kPagesMax = 128;  ///< more than caches hold, so that reads are of memory
constexpr std::uint32_t kQuickPages = 4;
constexpr std::size_t kSamplesMax = 20'000;
constexpr std::uint64_t kLoadBytes = 64;

struct Plan {
  std::vector<std::uint64_t> write_sizes;
  std::vector<std::uint64_t> read_sizes;
  std::vector<std::uint32_t> threads;
  std::uint64_t slot_ns = 0;
  std::size_t rounds = 0;
};

Plan plan_of(const CalibrationOptions& options, bool by_lines) {
  // A sync takes milliseconds: longer slots, so that some of them fit.
  if (options.quick) return {{4096, 65536}, {kLoadBytes, 65536}, {1, 2}, by_lines ? 1'000'000ULL : 5'000'000ULL, 1};
  return {{256, 1024, 4096, 16384, 65536, 262144, 524288},
          {kLoadBytes, 256, 4096, 65536},
          {1, 2, 4, 8},
          by_lines ? 12'000'000ULL : 40'000'000ULL,
          3};
}

/// A path that bytes take to the pages of the calibration.
struct Route {
  AccessPath path;
  PersistentSpan span;
};

struct ThreadResult {
  std::vector<double> nanoseconds;
  std::uint64_t bytes = 0;
  Status status;
};

/// What one thread does at one point: operations in its own part of the pages, until the time is over.
class PointWorker {
 public:
  PointWorker(const Route& route, const DeviceFigure& point, std::uint32_t thread)
      : route_(route),
        point_(point),
        random_(thread + 1),
        part_bytes_(route.span.size() / point.threads / point.transfer_bytes * point.transfer_bytes),
        part_begin_(part_bytes_ * thread),
        source_(point.transfer_bytes, static_cast<std::byte>(thread + 1)) {}

  ThreadResult run(std::uint64_t slot_ns) {
    const TickClock& clock = tsc_clock();
    ThreadResult result;
    result.nanoseconds.reserve(kSamplesMax);
    const std::uint64_t end = clock.now_ns() + slot_ns;
    for (std::uint64_t before = clock.now_ns(); before < end;) {
      result.status = operate(next_place());
      if (!result.status.is_ok()) return result;
      const std::uint64_t after = clock.now_ns();
      if (result.nanoseconds.size() < kSamplesMax) result.nanoseconds.push_back(static_cast<double>(after - before));
      result.bytes += point_.transfer_bytes;
      before = after;
    }
    return result;
  }

 private:
  std::uint64_t next_place() {
    const std::uint64_t count = part_bytes_ / point_.transfer_bytes;
    // A read's place hangs on what was read before, so that loads do not overlap.
    const std::uint64_t index = point_.pattern == AccessPattern::Random ? (random_.next() + (carried_ & 1U)) % count
                                                                        : next_++ % count;
    return part_begin_ + index * point_.transfer_bytes;
  }

  Status operate(std::uint64_t at) {
    switch (route_.path) {
      case AccessPath::Nontemporal:
        route_.span.copy_nontemporal(at, source_);
        return route_.span.fence();
      case AccessPath::Read: {
        const ByteSpan bytes = route_.span.bytes().subspan(at, point_.transfer_bytes);
        charge_nvm_read(bytes.data(), bytes.size());
        for (std::size_t i = 0; i + sizeof carried_ <= bytes.size(); i += kLoadBytes) {
          std::uint64_t word = 0;
          std::memcpy(&word, bytes.data() + i, sizeof word);
          carried_ ^= word;
        }
        asm volatile("" : "+r"(carried_));
        return Status::ok();
      }
      default:
        route_.span.copy(at, source_);
        route_.span.flush(at, source_.size());
        return route_.span.fence();
    }
  }

  const Route& route_;
  const DeviceFigure& point_;
  SeededRandom random_;
  const std::uint64_t part_bytes_;
  const std::uint64_t part_begin_;
  const Bytes source_;
  std::uint64_t next_ = 0;
  std::uint64_t carried_ = 0;
};

double at_share(std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

Result<DeviceFigure> measure(const Route& route, DeviceFigure point, std::uint64_t slot_ns) {
  std::vector<ThreadResult> results(point.threads);
  std::barrier start(point.threads);
  const TickClock& clock = tsc_clock();
  std::vector<std::uint64_t> begins(point.threads);
  std::vector<std::uint64_t> ends(point.threads);
  const auto work = [&](std::uint32_t thread) {
    PointWorker worker(route, point, thread);
    start.arrive_and_wait();
    begins[thread] = clock.now_ns();
    results[thread] = worker.run(slot_ns);
    ends[thread] = clock.now_ns();
  };
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 1; thread < point.threads; ++thread) threads.emplace_back(work, thread);
  work(0);
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  std::uint64_t bytes = 0;
  for (ThreadResult& result : results) {
    NVMDB_TRY(result.status);
    all.insert(all.end(), result.nanoseconds.begin(), result.nanoseconds.end());
    bytes += result.bytes;
  }
  const std::uint64_t span = *std::max_element(ends.begin(), ends.end()) -
                             *std::min_element(begins.begin(), begins.end());
  std::sort(all.begin(), all.end());
  point.bytes_per_second = static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<std::uint64_t>(1, span));
  point.p50_ns = at_share(all, 0.50);
  point.p99_ns = at_share(all, 0.99);
  return point;
}

std::vector<DeviceFigure> points_of(const Plan& plan, const Route& route) {
  std::vector<DeviceFigure> points;
  const auto& sizes = route.path == AccessPath::Read ? plan.read_sizes : plan.write_sizes;
  for (const AccessPattern pattern : {AccessPattern::Sequential, AccessPattern::Random}) {
    for (const std::uint64_t bytes : sizes) {
      for (const std::uint32_t threads : plan.threads) {
        if (route.span.size() / threads < bytes) continue;
        points.push_back({.path = route.path, .pattern = pattern, .threads = threads, .transfer_bytes = bytes});
      }
    }
  }
  return points;
}

Result<std::vector<DeviceFigure>> sweep(const Plan& plan, const std::vector<Route>& routes,
                                        const CalibrationOptions& options) {
  std::uint64_t total = 0;
  for (const Route& route : routes) total += points_of(plan, route).size() * plan.rounds;
  std::uint64_t done = 0;
  std::vector<std::vector<DeviceFigure>> rounds(plan.rounds);
  for (std::vector<DeviceFigure>& round : rounds) {
    for (const Route& route : routes) {
      for (const DeviceFigure& point : points_of(plan, route)) {
        NVMDB_ASSIGN(const DeviceFigure figure, measure(route, point, plan.slot_ns));
        round.push_back(figure);
        if (options.progress) options.progress(++done, total);
      }
    }
  }
  return median_round(rounds);
}

/// Puts what the sweep says into the profile.
void conclude(DeviceProfile& profile, std::uint32_t processors) {
  const LogShape shape = choose_log_shape(profile.figures, profile.write_unit_bytes, processors);
  profile.best_log_writers = shape.writers;
  profile.log_block_bytes = shape.block_bytes;
  std::uint64_t smallest_write = ~0ULL;
  double read_latency_at = 0;
  for (const DeviceFigure& figure : profile.figures) {
    if (figure.path == AccessPath::Read) {
      if (figure.bytes_per_second > profile.read_bytes_per_second) {
        profile.read_bytes_per_second = figure.bytes_per_second;
        profile.best_readers = figure.threads;
      }
      const bool load = figure.transfer_bytes == kLoadBytes && figure.pattern == AccessPattern::Random;
      if (load && figure.threads == 1) read_latency_at = figure.p50_ns;
      continue;
    }
    if (figure.path != AccessPath::Nontemporal) continue;
    profile.write_bytes_per_second = std::max(profile.write_bytes_per_second, figure.bytes_per_second);
    if (figure.threads == 1 && figure.transfer_bytes < smallest_write) {
      smallest_write = figure.transfer_bytes;
      profile.fence_cost_ns = static_cast<std::uint64_t>(figure.p50_ns);
    }
  }
  profile.read_latency_ns = read_latency_at;
}

Status free_leftovers(PageAllocator& pages) {
  std::vector<PageId> left;
  pages.for_each([&](PageId page, PageEntry entry) {
    if (entry.kind == PageKind::Overflow && entry.owner == kOwner) left.push_back(page);
  });
  for (const PageId page : left) NVMDB_TRY(pages.release({page, 1}));
  return Status::ok();
}

}  // namespace

Result<DeviceProfile> calibrate(PoolMedia& media, const CalibrationOptions& options) {
  NVMDB_ASSIGN(const std::unique_ptr<PageAllocator> pages, PageAllocator::open(media));
  NVMDB_TRY(free_leftovers(*pages));
  NVMDB_ASSIGN(const PageRange range, pages->allocate_up_to(1, options.quick ? kQuickPages : kPagesMax,
                                                            PageKind::Overflow, kOwner));
  const PersistentSpan span(media.region(range.first.region), range.first.offset(), range.count * kPageBytes);
  std::vector<Route> routes{{AccessPath::Nontemporal, span}, {AccessPath::StoreFlush, span}};
  if (options.synced != nullptr && range.first.region == 0) {
    routes.push_back({AccessPath::Msync, {*options.synced, span.offset(), span.size()}});
  }
  routes.push_back({AccessPath::Read, span});
  auto figures = sweep(plan_of(options, is_by_lines(media.device())), routes, options);
  NVMDB_TRY(pages->release(range));
  if (!figures.is_ok()) return figures.status();
  DeviceProfile profile = media.device();
  const bool modelled = profile.origin == ProfileOrigin::Modelled;
  profile.origin = modelled ? ProfileOrigin::Modelled : ProfileOrigin::Measured;
  profile.measured_at = system_clock().wall_seconds();
  profile.note.clear();
  profile.read_bytes_per_second = 0;
  profile.write_bytes_per_second = 0;
  profile.figures = std::move(figures).value();
  conclude(profile, options.processors);
  return profile;
}

}  // namespace nvmdb::storage
