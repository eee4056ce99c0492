// Goal:   a page is durable as its owner's before allocate() returns it, and as free before it is given out
// again;
//         whatever the cut, the directory reads back, and an operation cut short touches only its own pages.
// Method: a recorded random workload of three threads; the power is cut at each fence and acknowledgement;
// the oracle
//         is the history of each page kept by the test. Then each flush and fence of the allocator is taken
//         away in turn, and the explorer must notice.

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "storage/base/random.h"
#include "storage/page/page_allocator.h"
#include "tests/support/crash_states.h"
#include "tests/support/recorded_media.h"
#include "tests/support/trace_lint.h"

namespace nvmdb::test {
namespace {

using storage::PageAllocator;
using storage::PageEntry;
using storage::PageId;
using storage::PageKind;
using storage::PageRange;

constexpr std::uint64_t kPages = 24;
constexpr std::uint32_t kRegions = 2;

/// One value that a page's entry had, and the operation that gave it.
struct Step {
  PageEntry entry;
  std::uint64_t operation = 0;
};
using History = std::map<PageId, std::vector<Step>>;

/// Allocates and releases from three threads, one operation at a time, acknowledging each.
class Workload {
 public:
  Workload(RecordedMedia& media, std::uint64_t seed) : media_(media), seed_(seed) {
    auto opened = PageAllocator::open(media);
    allocator_ = std::move(opened).value();
    for (std::uint32_t region = 0; region < kRegions; ++region) {
      for (std::uint32_t index = 0; index < kPages; ++index) history_[{region, index}].push_back({});
    }
  }

  void run(int operations_per_thread) {
    std::vector<std::thread> threads;
    for (std::uint32_t owner = 1; owner <= 3; ++owner) {
      threads.emplace_back([this, owner, operations_per_thread] {
        SeededRandom random(seed_ * 16 + owner);
        std::vector<PageRange> held;
        for (int i = 0; i < operations_per_thread; ++i) one(owner, held, random);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  [[nodiscard]] const History& history() const { return history_; }

 private:
  void one(std::uint32_t owner, std::vector<PageRange>& held, SeededRandom& random) {
    // One at a time, so that the order of the history is the order of the operations.
    const std::lock_guard lock(mutex_);
    const std::uint64_t operation = ++operations_;
    if (!held.empty() && random.chance(0.4)) {
      const std::size_t victim = random.below(held.size());
      note(held[victim], {}, operation);
      ASSERT_TRUE(allocator_->release(held[victim]).is_ok());
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      const PageEntry entry{random.chance(0.5) ? PageKind::Field : PageKind::Log, owner};
      const auto most = static_cast<std::uint32_t>(1 + random.below(10));
      const auto pages = allocator_->allocate_up_to(1, most, entry.kind, owner);
      if (!pages.is_ok()) return;
      note(*pages, entry, operation);
      held.push_back(*pages);
    }
    media_.ack(operation);
  }
  void note(PageRange pages, PageEntry entry, std::uint64_t operation) {
    for (std::uint32_t i = 0; i < pages.count; ++i) {
      history_[{pages.first.region, pages.first.index + i}].push_back({entry, operation});
    }
  }

  RecordedMedia& media_;
  std::uint64_t seed_;
  std::unique_ptr<PageAllocator> allocator_;
  std::mutex mutex_;
  std::uint64_t operations_ = 0;
  History history_;
};

/// Each page must have a value that is as new as the last acknowledged operation on it, and at most one
/// newer.
std::string check_directory(const CrashState& state, const PageAllocator& allocator, const History& history) {
  const std::uint64_t acknowledged = state.acks.empty() ? 0 : state.acks.back();
  std::map<PageId, PageEntry> found;
  allocator.for_each([&](PageId page, PageEntry entry) { found[page] = entry; });
  std::set<std::uint64_t> newer;
  for (const auto& [page, steps] : history) {
    const auto entry = found.find(page);
    const PageEntry now = entry == found.end() ? PageEntry{} : entry->second;
    std::size_t last = 0;
    while (last + 1 < steps.size() && steps[last + 1].operation <= acknowledged) ++last;
    if (now == steps[last].entry) continue;
    if (last + 1 < steps.size() && now == steps[last + 1].entry) {
      newer.insert(steps[last + 1].operation);
      continue;
    }
    return "page " + std::to_string(page.index) + " of region " + std::to_string(page.region) +
           " lost what operation " + std::to_string(steps[last].operation) + " gave it";
  }
  if (newer.size() > 1) return "traces of more than one operation after the last acknowledged one";
  return {};
}

/// The pool must go on working: fill it, empty it.
std::string check_usable(PageAllocator& allocator) {
  std::set<PageId> taken;
  allocator.for_each([&](PageId page, PageEntry) { taken.insert(page); });
  while (allocator.free_pages() > 0) {
    const auto page = allocator.allocate(1, PageKind::Field, 99);
    if (!page.is_ok()) return page.status().to_string();
    if (!taken.insert(page->first).second) return "a page was given out twice";
  }
  for (const PageId page : taken) {
    if (const Status status = allocator.release({page, 1}); !status.is_ok()) return status.to_string();
  }
  return allocator.free_pages() == kPages * kRegions ? "" : "pages are missing";
}

CrashReport explore(const Recording& recording, const History& history, const CrashOptions& options) {
  return CrashStates(recording, options).explore([&](CrashState& state) -> std::string {
    auto allocator = PageAllocator::open(state.media);
    if (!allocator.is_ok()) return allocator.status().to_string();
    std::string wrong = check_directory(state, **allocator, history);
    return wrong.empty() ? check_usable(**allocator) : wrong;
  });
}

TEST(PageAllocation, SurvivesACutAnywhere) {
  const CrashOptions options = crash_options(10'000);
  RecordedMedia media({.regions = kRegions, .pages = kPages, .record = true});
  Workload workload(media, options.seed);
  workload.run(60);
  const Recording recording = media.take_recording();
  const CrashReport report = explore(recording, workload.history(), options);
  std::cout << report.to_string() << "\n";
  EXPECT_EQ(report.failures, 0U) << report.to_string();
  EXPECT_GE(report.states, 200U);
  const TraceLint lint = lint_trace(recording);
  EXPECT_TRUE(lint.errors.empty()) << lint.errors.front();
  EXPECT_EQ(lint.useless_flushes, 0U);
  EXPECT_EQ(lint.useless_fences, 0U);
}

TEST(PageAllocation, NeedsEachOfItsFlushesAndFences) {
  const CrashOptions options = crash_options(10'000);
  RecordedMedia probe({.regions = kRegions, .pages = kPages, .record = true});
  Workload(probe, options.seed).run(5);
  const std::vector<std::string> sites = probe.take_recording().fence_and_flush_sites;
  ASSERT_GE(sites.size(), 2U);
  for (const std::string& site : sites) {
    RecordedMedia media({.regions = kRegions, .pages = kPages, .record = true, .drop_sites = {site}});
    Workload workload(media, options.seed);
    workload.run(20);
    const Recording recording = media.take_recording();
    const CrashReport report = explore(recording, workload.history(), options);
    std::cout << "without " << site << ": " << report.states << " states, " << report.failures
              << " failures\n";
    EXPECT_GT(report.failures, 0U) << "nobody misses " << site;
    EXPECT_FALSE(lint_trace(recording).errors.empty()) << site;
  }
}

}  // namespace
}  // namespace nvmdb::test
