#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/e2e/server/processes.h"

namespace nvmdb::e2e {
namespace {

const std::string kWrf = "wrf_tip_d1.nc";
constexpr std::size_t kSteps = 2;  // of that file

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    data_ = shared_data();
    if (data_.empty()) GTEST_SKIP() << "the folder of real files is absent (NVMDB_SHARED_DATA)";
    std::filesystem::create_directory(run());
  }

  std::filesystem::path run() const { return folder_.path() / "run"; }
  std::filesystem::path pool() const { return folder_.path() / "pool"; }
  std::filesystem::path given(const std::string& name) const { return data_ / "given" / name; }
  /// As a model's scripts do: under another name first.
  void put(const std::filesystem::path& from, const std::string& name) const {
    std::filesystem::copy_file(from, run() / (".part-" + name));
    std::filesystem::rename(run() / (".part-" + name), run() / name);
  }
  static std::size_t steps(const std::string& server) {
    const Finished listed = run_nvmdb({"steps", "--server", server, "--format", "csv"});
    return listed.exit_code != 0 ? 0 : static_cast<std::size_t>(std::ranges::count(listed.out, '\n')) - 1;
  }
  static bool comes_true(const std::function<bool()>& holds) {
    for (int i = 0; i < 300; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  TemporaryFolder folder_;
  std::filesystem::path data_;
};

TEST_F(Watch, StoresFilesThatAreMovedInAndGoesOnWhereItStopped) {
  ServerProcess server(pool());
  const std::vector<std::string> words = {"watch", run().string(), "--server", server.address(), "--model", "wrf", "--quiet", "1"};
  {
    BackgroundNvmdb watch(words);
    put(given(kWrf), "wrfout_d01_a");
    EXPECT_TRUE(comes_true([&] { return steps(server.address()) == kSteps; })) << watch.output();
    EXPECT_TRUE(comes_true([&] { return watch.output().find("0 not stored\n") != std::string::npos; }));
    EXPECT_EQ(watch.stop(SIGTERM), 0) << watch.output();
  }
  put(given("wrf_mercator.nc"), "wrfout_d01_b");
  BackgroundNvmdb watch(words);
  EXPECT_TRUE(comes_true([&] { return watch.output().find("wrfout_d01_b") != std::string::npos; })) << watch.output();
  EXPECT_EQ(watch.output().find("wrfout_d01_a"), std::string::npos) << watch.output();
}

TEST_F(Watch, WaitsForTheServer) {
  std::string address;
  {
    ServerProcess server(pool());
    address = server.address();
    server.stop();
  }
  put(given(kWrf), "wrfout_d01_a");
  BackgroundNvmdb watch({"watch", run().string(), "--server", address, "--quiet", "0"});
  ASSERT_TRUE(comes_true([&] { return watch.output().find("is tried again") != std::string::npos; })) << watch.output();
  ServerProcess server(pool(), {"--listen", address});
  ASSERT_EQ(server.address(), address);
  EXPECT_TRUE(comes_true([&] { return steps(address) == kSteps; })) << watch.output();
}

TEST_F(Watch, TellsABadFileOnceAndTakesItWhenItIsReplaced) {
  ServerProcess server(pool());
  const std::vector<std::string> words = {"watch", run().string(), "--server", server.address(), "--once", "--quiet", "0"};
  std::ofstream(run() / "wrfout_d01_a") << "CDF\001 this is no file";
  const Finished bad = run_nvmdb(words);
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_NE(bad.err.find("wrfout_d01_a"), std::string::npos) << bad.err;
  const Finished again = run_nvmdb(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err + again.out, "");
  put(given(kWrf), "wrfout_d01_a");
  EXPECT_EQ(run_nvmdb(words).exit_code, 0);
  EXPECT_EQ(steps(server.address()), kSteps);
}

TEST_F(Watch, ListsWhatItWouldDo) {
  ServerProcess server(pool());
  put(given(kWrf), "wrfout_d01_a");
  const Finished listed =
      run_nvmdb({"watch", run().string(), "--server", server.address(), "--dry-run", "--quiet", "3600", "--json"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find("\"wrfout_d01_a\""), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("may still be written"), std::string::npos) << listed.out;
  EXPECT_EQ(steps(server.address()), 0U);
}

}  // namespace
}  // namespace nvmdb::e2e
