#include "storage/page/hot_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "storage/base/random.h"

namespace nvmdb::storage {
namespace {

TEST(HotPages, SizeClassesCoverEverySizeWithLittleWaste) {
  for (std::size_t bytes = 1; bytes <= HotPages::kBlockBytesMax; bytes += 1 + bytes / 64) {
    const unsigned size_class = HotPages::class_of(bytes);
    ASSERT_LT(size_class, HotPages::kClassCount);
    ASSERT_GE(HotPages::class_bytes(size_class), bytes);
    ASSERT_TRUE(size_class == 0 || HotPages::class_bytes(size_class - 1) < bytes);
  }
  EXPECT_EQ(HotPages::class_bytes(HotPages::kClassCount - 1), HotPages::kBlockBytesMax);
}

/// Blocks that are out must not overlap, must be aligned and must keep what was written to them.
TEST(HotPages, BlocksDoNotOverlap) {
  HotPages pages(64ULL << 20U);
  HotPages::Cache cache(pages);
  SeededRandom random(3);
  std::map<std::byte*, std::pair<std::size_t, int>> out;
  for (int step = 0; step < 20000; ++step) {
    if (out.size() < 500 && random.chance(0.6)) {
      const std::size_t bytes = 1 + random.below(random.chance(0.02) ? 200000 : 2000);
      std::byte* block = cache.allocate(bytes);
      ASSERT_NE(block, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
      std::memset(block, step & 0xff, bytes);
      const auto place = out.emplace(block, std::pair{bytes, step & 0xff}).first;
      ASSERT_TRUE(place == out.begin() || std::prev(place)->first + std::prev(place)->second.first <= block);
      ASSERT_TRUE(std::next(place) == out.end() || block + bytes <= std::next(place)->first);
    } else if (!out.empty()) {
      const auto place = std::next(out.begin(), static_cast<std::ptrdiff_t>(random.below(out.size())));
      for (std::size_t i = 0; i < place->second.first; ++i) {
        ASSERT_EQ(place->first[i], static_cast<std::byte>(place->second.second));
      }
      cache.free(place->first, place->second.first);
      out.erase(place);
    }
  }
}

TEST(HotPages, StopsAtTheBudgetAndGoesOnAfterFree) {
  HotPages pages(4ULL << 20U);
  HotPages::Cache cache(pages);
  std::vector<std::byte*> blocks;
  while (std::byte* block = cache.allocate(1024)) blocks.push_back(block);
  EXPECT_EQ(pages.bytes_used(), 4ULL << 20U);
  EXPECT_EQ(blocks.size(), 4096U);
  EXPECT_EQ(std::set<std::byte*>(blocks.begin(), blocks.end()).size(), blocks.size());
  EXPECT_EQ(cache.allocate(1024), nullptr);
  cache.free(blocks.back(), 1024);
  EXPECT_EQ(cache.allocate(1000), blocks.back());
}

/// What one thread frees another can use: the budget is for all.
TEST(HotPages, BlocksTravelBetweenThreads) {
  HotPages pages(2ULL << 20U);
  std::vector<std::byte*> blocks;
  HotPages::Cache first(pages);
  while (std::byte* block = first.allocate(4096)) blocks.push_back(block);
  ASSERT_EQ(blocks.size(), 512U);
  std::thread([&] {
    HotPages::Cache second(pages);
    ASSERT_EQ(second.allocate(4096), nullptr);
    for (std::byte* block : blocks) second.free(block, 4096);
  }).join();
  std::size_t again = 0;
  while (first.allocate(4096) != nullptr) ++again;
  EXPECT_EQ(again, 512U);
}

}  // namespace
}  // namespace nvmdb::storage
