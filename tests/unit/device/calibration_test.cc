#include "storage/device/calibration.h"

#include <gtest/gtest.h>

#include "storage/device/calibration_choice.h"
#include "storage/device/disk_calibration.h"
#include "storage/nvm/pool.h"
#include "storage/page/page_allocator.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::storage {
namespace {

DeviceFigure write_figure(std::uint64_t bytes, std::uint32_t threads, double bandwidth) {
  return {.path = AccessPath::Nontemporal, .pattern = AccessPattern::Sequential, .threads = threads,
          .transfer_bytes = bytes, .bytes_per_second = bandwidth};
}

TEST(LogShape, TakesTheFewestWritersAndTheSmallestBlockAtTheKnee) {
  const std::vector<DeviceFigure> figures{
      write_figure(1024, 4, 99),   // below 4 KiB
      write_figure(4096, 1, 2),    write_figure(4096, 2, 4),    write_figure(4096, 4, 8),
      write_figure(16384, 1, 3),   write_figure(16384, 2, 9.6), write_figure(16384, 4, 9.9), write_figure(16384, 8, 7),
      write_figure(65536, 1, 3),   write_figure(65536, 2, 6),   write_figure(65536, 4, 10),
  };
  const LogShape shape = choose_log_shape(figures, 256, 16);
  EXPECT_EQ(shape.block_bytes, 16384U);
  EXPECT_EQ(shape.writers, 2U);
}

TEST(LogShape, NeedsNoMoreWritersThanProcessors) {
  const std::vector<DeviceFigure> figures{write_figure(4096, 1, 5), write_figure(4096, 2, 9),
                                          write_figure(4096, 8, 20)};
  EXPECT_EQ(choose_log_shape(figures, 256, 2).writers, 2U);
  EXPECT_EQ(choose_log_shape(figures, 256, 8).writers, 8U);
}

TEST(LogShape, CountsOnlyWholeUnitsOfSequentialNontemporalWrites) {
  DeviceFigure random = write_figure(8192, 1, 100);
  random.pattern = AccessPattern::Random;
  DeviceFigure stored = write_figure(8192, 1, 100);
  stored.path = AccessPath::StoreFlush;
  const std::vector<DeviceFigure> figures{random, stored, write_figure(4096, 1, 90), write_figure(16384, 1, 50)};
  EXPECT_EQ(choose_log_shape(figures, 256, 4).block_bytes, 4096U);
  EXPECT_EQ(choose_log_shape(figures, 16384, 4).block_bytes, 16384U);
  EXPECT_EQ(choose_log_shape({}, 8192, 4).block_bytes, 8192U);
}

TEST(MedianRound, TakesTheMiddleOfEachPoint) {
  const auto median = median_round({{write_figure(1, 1, 5), write_figure(2, 1, 1)},
                                    {write_figure(1, 1, 9), write_figure(2, 1, 2)},
                                    {write_figure(1, 1, 7), write_figure(2, 1, 9)}});
  ASSERT_EQ(median.size(), 2U);
  EXPECT_EQ(median[0].bytes_per_second, 7);
  EXPECT_EQ(median[1].bytes_per_second, 2);
}

class Calibration : public testing::TestWithParam<test::ScratchDirectory::Place> {};

TEST_P(Calibration, LeavesEveryPageInUseAsItWas) {
  const test::ScratchDirectory scratch(GetParam());
  PoolOptions options;
  options.create = true;
  options.nvm_bytes = 16ULL << 20U;
  auto pool = std::move(Pool::open(scratch.path() / "pool", options)).value();
  {
    auto pages = std::move(PageAllocator::open(*pool)).value();
    const auto range = pages->allocate(3, PageKind::Field, 7);
    ASSERT_TRUE(range.is_ok());
    // A calibration that was killed left this one.
    ASSERT_TRUE(pages->allocate(1, PageKind::Overflow, 0xca11b8a7U).is_ok());
    const Bytes marks(3 * kPageBytes, std::byte{0x77});
    pool->region(0).copy_nontemporal(0, marks);
    ASSERT_TRUE(pool->region(0).fence().is_ok());
  }
  std::uint64_t steps = 0;
  const auto synced = pool->synced_door(0);
  const auto profile = calibrate(*pool, {.quick = true,
                                         .synced = is_by_lines(pool->device()) ? synced.get() : nullptr,
                                         .processors = 2,
                                         .progress = [&](std::uint64_t, std::uint64_t) { ++steps; }});
  ASSERT_TRUE(profile.is_ok()) << profile.status().to_string();
  EXPECT_EQ(profile->origin, ProfileOrigin::Measured);
  EXPECT_EQ(steps, profile->figures.size());
  for (const DeviceFigure& figure : profile->figures) EXPECT_GT(figure.bytes_per_second, 0);
  EXPECT_GT(profile->read_latency_ns, 0);
  EXPECT_EQ(profile->log_block_bytes % profile->write_unit_bytes, 0U);

  const ByteSpan kept = pool->region(0).bytes(0, 3 * kPageBytes);
  EXPECT_TRUE(std::all_of(kept.begin(), kept.end(), [](std::byte b) { return b == std::byte{0x77}; }));
  auto pages = std::move(PageAllocator::open(*pool)).value();
  EXPECT_EQ(pages->free_pages(), pages->total_pages() - 3);
  ASSERT_TRUE(pool->store_profile(*profile).is_ok());
  EXPECT_EQ(pool->device().figures, profile->figures);
}

INSTANTIATE_TEST_SUITE_P(Places, Calibration,
                         testing::Values(test::ScratchDirectory::Memory, test::ScratchDirectory::Disk));

TEST(DiskCalibration, ShowsColdAndWarmApartAndLeavesNothing) {
  const test::ScratchDirectory scratch(test::ScratchDirectory::Disk);
  const auto figures = calibrate_disk(scratch.path(), {.quick = true, .progress = {}});
  ASSERT_TRUE(figures.is_ok()) << figures.status().to_string();
  bool cold = false;
  bool warm = false;
  for (const DiskFigure& figure : *figures) {
    cold = cold || (figure.access == "buffered" && figure.cache == "cold");
    warm = warm || figure.cache == "warm";
    EXPECT_GT(figure.bytes_per_second, 0);
  }
  EXPECT_TRUE(cold && warm);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
  EXPECT_EQ(calibrate_disk(scratch.path() / "absent", {.quick = true, .progress = {}}).status().code(),
            Code::NotFound);
}

}  // namespace
}  // namespace nvmdb::storage
