#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "storage/base/cancellation.h"
#include "tests/e2e/ingest/ingest_pool.h"
#include "tests/unit/ingest_worker/scripted_decoder.h"
#include "tests/unit/ingest_worker/temporary_directory.h"

namespace nvmdb::ingest {
namespace {

using Clock = std::chrono::steady_clock;

class CancelledIngest : public testing::Test {
 protected:
  std::filesystem::path script(const std::string& commands) {
    return directory_.write("script.grib", kScriptHeader + commands);
  }

  TemporaryDirectory directory_;
  // A hang would be noticed after a minute only.
  IngestPool pool_{IngestPool::Worker::Crash, 64ULL << 20U, {.workers = 1, .hang_seconds = 60}};
  Cancellation cancellation_;
};

TEST_F(CancelledIngest, EndsSoonAndKeepsAcknowledgedStepsOnly) {
  // The first step that is ever stored also makes tables of the catalogue, which stay.
  ASSERT_TRUE(pool_.ingest(script("run m 0\ngrid 4 4\nfield t 0 1\n")).is_ok());
  pool_.drop_all();
  const std::uint64_t free = pool_.free_pages();
  const auto file = script(
      "run m 0\ngrid 200 200\nfield t 0 1\nstep 0\nfield t 3600 2\nfield u 3600 3\nspin\n");
  Clock::time_point cancelled;
  std::thread canceller;
  const auto report = pool_.ingestor().ingest_file(
      file, {.cancellation = &cancellation_}, [&](const IngestedStep&) {
        canceller = std::thread([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          cancelled = Clock::now();
          cancellation_.cancel();
        });
      });
  const auto end = Clock::now();
  ASSERT_TRUE(canceller.joinable());
  canceller.join();
  EXPECT_EQ(report.status().code(), Code::DeadlineExceeded) << report.status().to_string();
  EXPECT_LT(end - cancelled, std::chrono::milliseconds(500));
  EXPECT_EQ(pool_.visible_steps(), 1U);
  EXPECT_EQ(pool_.verified_fields(), 1U);
  pool_.drop_all();
  EXPECT_EQ(pool_.free_pages(), free);
}

TEST_F(CancelledIngest, LeavesNoRunWithoutASingleStep) {
  const std::uint64_t free = pool_.free_pages();
  const auto file = script("run m 0\ngrid 200 200\nfield t 0 1\nspin\n");
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    cancellation_.cancel();
  });
  const auto report = pool_.ingestor().ingest_file(file, {.cancellation = &cancellation_});
  canceller.join();
  EXPECT_EQ(report.status().code(), Code::DeadlineExceeded) << report.status().to_string();
  EXPECT_EQ(pool_.run_count(), 0U);
  EXPECT_EQ(pool_.free_pages(), free);
  // A file cancelled is no file that crashes decoders: it is taken the next time.
  EXPECT_TRUE(pool_.ingest(script("run m 0\ngrid 4 4\nfield t 0 1\n")).is_ok());
}

TEST_F(CancelledIngest, EndsAlsoWhileItWaitsForAWorker) {
  const auto busy = script("run m 0\ngrid 4 4\nfield t 0 1\nspin\n");
  std::thread other([&] {
    const auto report = pool_.ingestor().ingest_file(busy, {.cancellation = &cancellation_});
    EXPECT_FALSE(report.is_ok());
  });
  while (!pool_.ingestor().idle_workers().empty()) std::this_thread::yield();
  const Cancellation soon(system_clock().monotonic_ns() + 200'000'000);
  const auto begin = Clock::now();
  const auto waiting = pool_.ingestor().ingest_file(directory_.write("next.grib", kScriptHeader + std::string("run n 0\n")),
                                                    {.cancellation = &soon});
  EXPECT_EQ(waiting.status().code(), Code::DeadlineExceeded) << waiting.status().to_string();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1));
  cancellation_.cancel();
  other.join();
}

}  // namespace
}  // namespace nvmdb::ingest
