#include "storage/page/page_allocator.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::storage {
namespace {

using test::RecordedMedia;

/// The oracle: a map of used pages, and the most naive first fit.
class Model {
 public:
  explicit Model(std::vector<std::uint32_t> region_pages) : region_pages_(std::move(region_pages)) {}

  std::optional<PageRange> allocate(std::uint32_t least, std::uint32_t most, PageEntry entry) {
    PageRange best;
    for (std::uint32_t region = 0; region < region_pages_.size(); ++region) {
      for (std::uint32_t first = 0; first < region_pages_[region]; ++first) {
        if (first > 0 && used_.count({region, first - 1}) == 0 && used_.count({region, first}) == 0) continue;
        std::uint32_t count = 0;
        while (count < most && first + count < region_pages_[region] &&
               used_.count({region, first + count}) == 0) {
          ++count;
        }
        if (count == most) return mark({{region, first}, most}, entry);
        if (count > best.count) best = {{region, first}, count};
      }
    }
    if (best.count >= least) return mark(best, entry);
    return std::nullopt;
  }
  void release(PageRange pages) {
    for (std::uint32_t i = 0; i < pages.count; ++i) used_.erase({pages.first.region, pages.first.index + i});
  }
  const std::map<PageId, PageEntry>& used() const { return used_; }

 private:
  PageRange mark(PageRange pages, PageEntry entry) {
    for (std::uint32_t i = 0; i < pages.count; ++i)
      used_[{pages.first.region, pages.first.index + i}] = entry;
    return pages;
  }
  std::vector<std::uint32_t> region_pages_;
  std::map<PageId, PageEntry> used_;
};

std::map<PageId, PageEntry> pages_in(const PageAllocator& allocator) {
  std::map<PageId, PageEntry> used;
  allocator.for_each([&](PageId page, PageEntry entry) { used[page] = entry; });
  return used;
}

TEST(PageAllocator, AgreesWithANaiveFirstFitModel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    RecordedMedia media({.regions = 3, .pages = 24});
    auto allocator = PageAllocator::open(media);
    ASSERT_TRUE(allocator.is_ok()) << allocator.status().to_string();
    Model model({24, 24, 24});
    std::vector<PageRange> held;
    for (int step = 0; step < 400; ++step) {
      if (!held.empty() && random.chance(0.45)) {
        const std::size_t victim = random.below(held.size());
        ASSERT_TRUE((*allocator)->release(held[victim]).is_ok());
        model.release(held[victim]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
      } else {
        const auto least = static_cast<std::uint32_t>(1 + random.below(4));
        const auto most = static_cast<std::uint32_t>(least + random.below(6));
        const PageEntry entry{static_cast<PageKind>(1 + random.below(4)),
                              static_cast<std::uint32_t>(random.next())};
        const auto expected = model.allocate(least, most, entry);
        const auto got = (*allocator)->allocate_up_to(least, most, entry.kind, entry.owner);
        ASSERT_EQ(expected.has_value(), got.is_ok());
        if (got.is_ok()) {
          ASSERT_EQ(*expected, got.value());
          held.push_back(got.value());
        } else {
          ASSERT_EQ(got.status().code(), Code::OutOfSpace);
        }
      }
      ASSERT_EQ((*allocator)->free_pages(), 72 - model.used().size());
    }
    EXPECT_EQ(pages_in(**allocator), model.used());
    auto again = PageAllocator::open(media);
    ASSERT_TRUE(again.is_ok());
    EXPECT_EQ(pages_in(**again), model.used());
    EXPECT_EQ((*again)->total_pages(), 72U);
  }
}

TEST(PageAllocator, FencesOncePerCall) {
  RecordedMedia media;
  auto allocator = PageAllocator::open(media);
  ASSERT_TRUE(allocator.is_ok());
  const auto pages = (*allocator)->allocate(9, PageKind::Field, 7);
  ASSERT_TRUE(pages.is_ok());
  EXPECT_EQ(media.fence_count(), 1U);
  ASSERT_TRUE((*allocator)->release(*pages).is_ok());
  EXPECT_EQ(media.fence_count(), 2U);
}

TEST(PageAllocator, SaysWhatIsMissingWhenFull) {
  RecordedMedia media({.pages = 4});
  auto allocator = PageAllocator::open(media);
  ASSERT_TRUE(allocator.is_ok());
  ASSERT_TRUE((*allocator)->allocate(1, PageKind::Log, 0).is_ok());
  const auto middle = (*allocator)->allocate(1, PageKind::Log, 0);
  ASSERT_TRUE((*allocator)->allocate(1, PageKind::Log, 0).is_ok());
  ASSERT_TRUE((*allocator)->release(*middle).is_ok());
  const auto refused = (*allocator)->allocate(2, PageKind::Log, 0);
  ASSERT_EQ(refused.status().code(), Code::OutOfSpace);
  EXPECT_EQ(refused.status().message(),
            "pool: 2 neighbouring pages of 2 MiB wanted, longest free run 1, free in all 2; drop a run "
            "or make a larger pool");
  EXPECT_EQ((*allocator)->allocate(0, PageKind::Log, 0).status().code(), Code::InvalidArgument);
}

TEST(PageAllocator, RefusesUnknownKindsAndNamesThePage) {
  const std::vector<std::uint64_t> damaged{PageEntry{static_cast<PageKind>(5), 1}.encode(),
                                           PageEntry{static_cast<PageKind>(255), 0}.encode(), 1,
                                           PageEntry{PageKind::Log, 1}.encode() | std::uint64_t{1} << 40U};
  for (const std::uint64_t word : damaged) {
    RecordedMedia media({.regions = 2, .pages = 4});
    media.root_words().store8((kPageDirectoryWord + 6) * 8, word);
    const auto allocator = PageAllocator::open(media);
    ASSERT_EQ(allocator.status().code(), Code::Corruption);
    EXPECT_NE(allocator.status().message().find("region 1 page 2"), std::string::npos)
        << allocator.status().message();
  }
}

TEST(PageAllocator, KeepsPagesOutOfUseWhenTheFenceFails) {
  RecordedMedia media({.pages = 4});
  auto allocator = PageAllocator::open(media);
  ASSERT_TRUE(allocator.is_ok());
  const auto first = (*allocator)->allocate(1, PageKind::Log, 0);
  ASSERT_TRUE(first.is_ok());
  media.fail_fences(0, 2);
  EXPECT_EQ((*allocator)->release(*first).code(), Code::IoError);
  EXPECT_EQ((*allocator)->allocate(1, PageKind::Log, 0).status().code(), Code::IoError);
  const auto next = (*allocator)->allocate(1, PageKind::Log, 0);
  ASSERT_TRUE(next.is_ok());
  EXPECT_EQ(next->first.index, 2U);
}

TEST(PageAllocatorDeathTest, StopsOnDoubleRelease) {
  RecordedMedia media({.pages = 4});
  auto allocator = PageAllocator::open(media);
  const auto pages = (*allocator)->allocate(2, PageKind::Log, 0);
  ASSERT_TRUE((*allocator)->release(*pages).is_ok());
  EXPECT_DEATH((void)(*allocator)->release(*pages), "release of a free page: region 0 page 0");
}

TEST(PageAllocator, GivesNoPageTwiceToManyThreads) {
  RecordedMedia media({.regions = 2, .pages = 32});
  auto allocator = PageAllocator::open(media);
  ASSERT_TRUE(allocator.is_ok());
  std::array<std::atomic<int>, 64> holders{};
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      SeededRandom random(id);
      for (int i = 0; i < 300; ++i) {
        const auto pages =
            (*allocator)->allocate(static_cast<std::uint32_t>(1 + random.below(5)), PageKind::Field, 1);
        if (!pages.is_ok()) continue;
        for (std::uint32_t p = 0; p < pages->count; ++p) {
          if (holders[pages->first.region * 32 + pages->first.index + p].fetch_add(1) != 0) shared = true;
        }
        for (std::uint32_t p = 0; p < pages->count; ++p)
          holders[pages->first.region * 32 + pages->first.index + p]--;
        if (!(*allocator)->release(*pages).is_ok()) shared = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(shared);
  EXPECT_EQ((*allocator)->free_pages(), 64U);
}

TEST(PageAllocator, QuarantinedPagesAreGivenToNobody) {
  RecordedMedia media(test::RecordedOptions{1, 8, false});
  const auto pages = std::move(PageAllocator::open(media)).value();
  const PageRange used = pages->allocate(4, PageKind::Field, 7).value();
  ASSERT_EQ(used.first.index, 0U);
  pages->quarantine({{0, 2}, 1});
  pages->quarantine({{0, 6}, 1});
  pages->quarantine({{0, 6}, 1});
  EXPECT_EQ(pages->quarantined_pages(), 2U);
  EXPECT_TRUE(pages->is_quarantined({0, 2}));
  EXPECT_EQ(pages->free_pages(), 3U);
  ASSERT_TRUE(pages->release(used).is_ok());
  EXPECT_EQ(pages->free_pages(), 6U);
  // What a page holds is told; a page that is withheld holds nothing.
  pages->for_each([](PageId page, PageEntry) { ADD_FAILURE() << "page " << page.index; });
  std::vector<std::uint32_t> given;
  for (auto next = pages->allocate(1, PageKind::Log, 0); next.is_ok(); next = pages->allocate(1, PageKind::Log, 0)) {
    given.push_back(next->first.index);
  }
  EXPECT_EQ(given, (std::vector<std::uint32_t>{0, 1, 3, 4, 5, 7}));
  // On the media they are free: a restart may try them again.
  const auto again = std::move(PageAllocator::open(media)).value();
  EXPECT_EQ(again->free_pages(), 2U);
  EXPECT_EQ(again->quarantined_pages(), 0U);
}

}  // namespace
}  // namespace nvmdb::storage
