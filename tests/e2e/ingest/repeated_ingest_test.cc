#include <gtest/gtest.h>
#include <netcdf.h>

#include <thread>

#include "tests/e2e/ingest/ingest_pool.h"
#include "tests/e2e/ingest/wrfout_writer.h"
#include "tests/unit/ingest_worker/temporary_directory.h"

namespace nvmdb::ingest {
namespace {

constexpr std::int64_t kHour = 3600;
/// XLAT and XLONG are stored beside T2.
constexpr std::uint64_t kFieldsPerFrame = 3;

class RepeatedIngest : public testing::TestWithParam<int> {
 protected:
  IngestReport ingest(const WrfoutContent& content) {
    write_wrfout(path(), GetParam(), content);
    std::vector<std::int64_t> told;
    const auto report = pool_.ingestor().ingest_file(
        path(), {}, [&told](const IngestedStep& step) { told.push_back(step.end_seconds); });
    EXPECT_TRUE(report.is_ok()) << report.status().to_string();
    if (!report.is_ok()) return {};
    std::vector<std::int64_t> reported;
    for (const IngestedStep& step : report->steps) reported.push_back(step.end_seconds);
    EXPECT_EQ(told, reported);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    return *report;
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "wrfout_d01"; }

  TemporaryDirectory directory_;
  IngestPool pool_;
};

TEST_P(RepeatedIngest, OfTheSameFileChangesNothing) {
  EXPECT_EQ(ingest({.frames = 3}).fields_stored, 3 * kFieldsPerFrame);
  const IngestReport second = ingest({.frames = 3});
  EXPECT_EQ(second.fields_stored, 0U);
  EXPECT_EQ(second.fields_unchanged, 3 * kFieldsPerFrame);
  EXPECT_EQ(pool_.visible_steps(), 3U);
}

TEST_P(RepeatedIngest, OfAGrownFileAddsItsFrames) {
  ingest({.frames = 2});
  const IngestReport grown = ingest({.frames = 5});
  EXPECT_EQ(grown.fields_stored, 3 * kFieldsPerFrame);
  EXPECT_EQ(grown.fields_unchanged, 2 * kFieldsPerFrame);
  EXPECT_EQ(pool_.visible_steps(), 5U);
  EXPECT_EQ(pool_.value("wrf", "T2", 4 * kHour, 7), 280.0F + 40 + 7);
}

TEST_P(RepeatedIngest, OfAChangedFileReplacesItsSteps) {
  ingest({.frames = 3});
  const IngestReport changed = ingest({.frames = 3, .offset = 0.5F, .changed_from = 1});
  EXPECT_EQ(changed.fields_stored, 2U);
  EXPECT_EQ(pool_.value("wrf", "T2", 0, 3), 283.0F);
  EXPECT_EQ(pool_.value("wrf", "T2", kHour, 3), 293.5F);
  EXPECT_EQ(pool_.value("wrf", "T2", 2 * kHour, 3), 303.5F);
  EXPECT_EQ(pool_.verified_fields(), 3 * kFieldsPerFrame);
}

TEST_P(RepeatedIngest, TakesModelAndDomainFromTheUser) {
  write_wrfout(path(), GetParam(), {.frames = 1});
  ASSERT_TRUE(pool_.ingest(path(), {.model = "mine", .domain = "d07"}).is_ok());
  const auto runs = pool_.store().catalogue().runs();
  ASSERT_TRUE(runs.is_ok());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().key.model, "mine");
  EXPECT_EQ(runs->front().key.domain, "d07");
}

TEST_P(RepeatedIngest, WorksFromSeveralThreadsAtOnce) {
  constexpr int kThreads = 6;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const auto file = directory_.path() / ("wrfout_" + std::to_string(i));
    write_wrfout(file, GetParam(), {.frames = 4, .offset = static_cast<float>(i) / 4, .changed_from = 0});
    threads.emplace_back([this, file, i] {
      const auto report = pool_.ingest(file, {.model = "m" + std::to_string(i)});
      EXPECT_TRUE(report.is_ok()) << report.status().to_string();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool_.verified_fields(), kThreads * 4 * kFieldsPerFrame);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(pool_.value("m" + std::to_string(i), "T2", kHour, 0), 290.0F + static_cast<float>(i) / 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RepeatedIngest, testing::Values(0, NC_NETCDF4));

}  // namespace
}  // namespace nvmdb::ingest
