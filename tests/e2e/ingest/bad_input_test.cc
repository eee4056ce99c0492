#include <gtest/gtest.h>
#include <netcdf.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "tests/e2e/ingest/ingest_pool.h"
#include "tests/e2e/ingest/wrfout_writer.h"
#include "tests/unit/ingest_worker/scripted_decoder.h"
#include "tests/unit/ingest_worker/temporary_directory.h"

namespace nvmdb::ingest {
namespace {

/// A pool whose workers run scripts, see scripted_decoder.h.
class BadInput : public testing::Test {
 protected:
  std::filesystem::path script(const std::string& commands) {
    return directory_.write("script.grib", kScriptHeader + commands);
  }
  Status ingest(const std::filesystem::path& file) { return pool_.ingest(file).status(); }
  void expect_error(const std::filesystem::path& file, Code code, const std::string& words) {
    const Status status = ingest(file);
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.to_string();
    EXPECT_NE(status.message().find(file.filename().string()), std::string::npos) << status.to_string();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
  void expect_healthy() {
    write_wrfout(directory_.path() / "good.nc", 0, {.frames = 1});
    const Status status = ingest(directory_.path() / "good.nc");
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_EQ(pool_.value("wrf", "T2", 0, 5), 285.0F);
  }

  TemporaryDirectory directory_;
  IngestPool pool_{IngestPool::Worker::Crash, 64ULL << 20U, {.workers = 1, .hang_seconds = 2}};
};

TEST_F(BadInput, IsNamedWithTheReason) {
  expect_error(directory_.path() / "absent.grib", Code::NotFound, "no such file");
  expect_error(directory_.path(), Code::InvalidArgument, "is a directory");
  expect_error(directory_.write("empty.nc", ""), Code::InvalidArgument, "is empty");
  expect_error(directory_.write("letter.txt", "Dear forecaster"), Code::InvalidArgument,
               "neither GRIB nor NetCDF");
  expect_error(directory_.write("word.txt", "It says GRIB, no more"), Code::InvalidArgument,
               "no GRIB message");
  expect_error(directory_.write("cut.nc", "CDF\x01"), Code::InvalidArgument, "only 4 bytes");
  write_wrfout(directory_.path() / "whole.nc", NC_NETCDF4, {.frames = 2});
  const std::string whole = read_whole_file(directory_.path() / "whole.nc");
  expect_error(directory_.write("half.nc", whole.substr(0, whole.size() / 2)), Code::Corruption, "");
  expect_healthy();
}

TEST_F(BadInput, ThatCrashesTheDecoderIsQuarantinedAfterThreeTimes) {
  const auto bad = script("run m 0\ngrid 4 4\nfield t 0 1\nsignal 11\n");
  for (int i = 0; i < 3; ++i) {
    expect_error(bad, Code::Corruption, "decoder crashed (signal 11");
    expect_healthy();
  }
  expect_error(bad, Code::InvalidArgument, "is quarantined");
  EXPECT_EQ(pool_.value("m", "t", 0, 0), std::nullopt) << "nothing of it is visible";
  expect_healthy();
}

TEST_F(BadInput, ThatHangsTheDecoderIsStopped) {
  expect_error(script("run m 0\nspin\n"), Code::Corruption, "no progress for 2 s");
  expect_healthy();
}

TEST_F(BadInput, ThatAsksForForbiddenThingsIsStopped) {
  expect_error(script("try exec /bin/sh\n"), Code::Corruption, "forbidden system call (number 59)");
  expect_error(script("packet 00\n"), Code::Corruption, "decoder was stopped");
  expect_healthy();
}

TEST_F(BadInput, KeepsTheStepsThatCameBeforeTheDamage) {
  expect_error(script("run m 0\ngrid 4 4\nfield t 3600 1\nstep 3600\nfield t 7200 2\nfail damaged\n"),
               Code::Corruption, "1 step was stored before");
  EXPECT_EQ(pool_.value("m", "t", 3600, 2), 3.0F);
  EXPECT_EQ(pool_.value("m", "t", 7200, 2), std::nullopt);
  EXPECT_EQ(pool_.visible_steps(), 1U);
}

TEST_F(BadInput, DoesNotSpoilAGoodFileInTheSameWorker) {
  // The worker has served a file before: a crash is tried once more in a fresh one, and each step is told of
  // once.
  expect_healthy();
  int told = 0;
  const auto file = script("run m 0\ngrid 4 4\nfield t 3600 1\nstep 3600\nsignal 11\n");
  const auto report = pool_.ingestor().ingest_file(file, {}, [&told](const IngestedStep&) { ++told; });
  EXPECT_EQ(report.status().code(), Code::Corruption);
  EXPECT_EQ(told, 1);
}

TEST_F(BadInput, OfASecondRunStillCommitsInTimeOrder) {
  std::vector<std::string> order;
  const auto file = script(
      "run late 7200\ngrid 4 4\nfield t 3600 1\nfield t 0 1\nrun early 3600\nfield t 7200 1\nfield t 3600 "
      "2\n");
  const auto report = pool_.ingestor().ingest_file(file, {}, [&order](const IngestedStep& step) {
    order.push_back(step.run.model + " " + std::to_string(step.end_seconds));
  });
  ASSERT_TRUE(report.is_ok()) << report.status().to_string();
  EXPECT_EQ(order, (std::vector<std::string>{"early 3600", "early 7200", "late 0", "late 3600"}));
}

TEST_F(BadInput, ThatChangesWhileItIsReadIsRefused) {
  const auto signal = directory_.write("signal", "x");
  const auto file = script("run m 0\ngrid 4 4\nfield t 3600 1\nstep 3600\nwait " + signal.string() +
                           "\nfield t 7200 2\nstep 7200\n");
  std::thread writer;
  const auto report = pool_.ingestor().ingest_file(file, {}, [&](const IngestedStep&) {
    std::ofstream(file, std::ios::app) << "reject more\n";
    directory_.write("signal", "");
  });
  EXPECT_EQ(report.status().code(), Code::InvalidArgument) << report.status().to_string();
  EXPECT_NE(report.status().message().find("changed while it was read"), std::string::npos);
  EXPECT_EQ(pool_.value("m", "t", 3600, 0), 1.0F) << "acknowledged before the change";
  EXPECT_EQ(pool_.value("m", "t", 7200, 0), std::nullopt);
}

TEST_F(BadInput, LargerThanThePoolRunsOutOfSpaceAndHarmsNothing) {
  std::string commands = "run big 0\ngrid 1000 1000\n";
  for (int i = 0; i < 40; ++i) commands += "field t" + std::to_string(i) + " 0 1\n";
  expect_error(script(commands), Code::OutOfSpace, "");
  EXPECT_EQ(pool_.visible_steps(), 0U);
  expect_healthy();
}

TEST_F(BadInput, IsAnsweredAfterWorkersWereKilled) {
  for (int i = 0; i < 3; ++i) {
    for (const int pid : pool_.ingestor().idle_workers()) {
      ::kill(pid, SIGKILL);
      siginfo_t state{};
      ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &state, WEXITED | WNOWAIT), 0);
    }
    expect_healthy();
  }
}

}  // namespace
}  // namespace nvmdb::ingest
