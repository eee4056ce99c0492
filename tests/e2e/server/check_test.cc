#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>

#include "storage/base/crc32c.h"
#include "tests/e2e/server/processes.h"

namespace nvmdb::e2e {
namespace {

const std::string kFile = std::string(NVMDB_SOURCE_DIR) + "/tests/data/wrf_cropped.nc";

/// CRC of each file of the pool.
std::map<std::string, std::uint32_t> content_of(const std::filesystem::path& pool) {
  std::map<std::string, std::uint32_t> content;
  for (const auto& entry : std::filesystem::directory_iterator(pool)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const std::string bytes = text.str();
    content[entry.path().filename().string()] = crc32c(std::as_bytes(std::span(bytes)));
  }
  return content;
}

class CheckEndToEnd : public testing::Test {
 protected:
  void SetUp() override {
    // A small pool: the tests read all of it.
    ServerProcess server(pool_);
    ASSERT_FALSE(server.address().empty()) << server.output();
    const auto ingested = run_nvmdb({"ingest", "--server", server.address(), kFile});
    ASSERT_EQ(ingested.exit_code, 0) << ingested.err;
    ASSERT_EQ(server.stop(), 0);
  }
  TemporaryFolder folder_;
  std::filesystem::path pool_ = folder_.path() / "pool";
};

TEST_F(CheckEndToEnd, AWholePoolIsWholeAndKeepsAllItsBytes) {
  const auto before = content_of(pool_);
  const Finished text = run_nvmdb({"check", "--pool", pool_.string()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("1 runs, 4 steps, 324 fields"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("\nwhole\n"), std::string::npos) << text.out;
  const Finished json = run_nvmdb({"check", "--pool", pool_.string(), "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["pool"]["whole"], "yes");
  EXPECT_EQ(report["pool"]["fields"], 324);
  EXPECT_TRUE(report["damage"].empty());
  EXPECT_EQ(content_of(pool_), before);
}

TEST_F(CheckEndToEnd, NamesADamagedField) {
  // The first value of T2 at the last step is looked for in the region, as it is stored.
  const Finished series =
      run_nvmdb({"slab", "--pool", pool_.string(), "--param", "T2", "--step", "9h", "--format", "csv"});
  ASSERT_EQ(series.exit_code, 0) << series.err;
  std::istringstream lines(series.out);
  std::string wanted;
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#' || line.starts_with("lat")) continue;
    const float value = std::stof(line.substr(line.rfind(',') + 1));
    wanted.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  std::ostringstream region;
  region << std::ifstream(pool_ / "region.0", std::ios::binary).rdbuf();
  const std::size_t at = region.str().find(wanted);
  ASSERT_NE(at, std::string::npos) << "a slab of " << wanted.size() << " bytes";
  {
    std::fstream file(pool_ / "region.0", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at + 5));
    file.put(static_cast<char>(region.str()[at + 5] ^ 4));
  }
  const Finished check = run_nvmdb({"check", "--pool", pool_.string()});
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_NE(check.out.find("damaged: field T2, surface 0, step 9h, run wrf d01 2008-10-26T12Z"),
            std::string::npos)
      << check.out;
  EXPECT_NE(check.out.find("NOT whole"), std::string::npos) << check.out;
  const auto report = nlohmann::json::parse(run_nvmdb({"check", "--pool", pool_.string(), "--json"}).out);
  EXPECT_EQ(report["pool"]["whole"], "no");
  EXPECT_EQ(report["damage"].size(), 1U);

  // A server answers everything else, says what is wrong, and takes the file again.
  ServerProcess server(pool_);
  ASSERT_FALSE(server.address().empty()) << server.output();
  const auto slab = [&](const char* step) {
    return run_nvmdb(
        {"slab", "--server", server.address(), "--param", "T2", "--step", step, "--format", "csv"});
  };
  EXPECT_EQ(slab("6h").exit_code, 0);
  const Finished damaged = slab("9h");
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_NE(damaged.err.find("field T2, surface 0, step 9h"), std::string::npos) << damaged.err;
  const auto info = run_nvmdb({"info", "--server", server.address(), "--json"}).out;
  EXPECT_NE(info.find("field T2, surface 0, step 9h"), std::string::npos) << info;
  const Finished again = run_nvmdb({"ingest", "--server", server.address(), kFile});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(slab("9h").out, series.out);
  EXPECT_EQ(run_nvmdb({"check", "--pool", pool_.string()}).exit_code, 6) << "a server has it open";
  EXPECT_EQ(server.stop(), 0);
  const Finished mended = run_nvmdb({"check", "--pool", pool_.string()});
  EXPECT_EQ(mended.exit_code, 0) << mended.out;
}

TEST_F(CheckEndToEnd, ARequestThatFindsNoMemoryFailsAlone) {
  ::setenv("NVMDB_FAIL_POINT_ARM", "drop.hide:1:bad_alloc", 1);
  ServerProcess server(pool_);
  ::unsetenv("NVMDB_FAIL_POINT_ARM");
  ASSERT_FALSE(server.address().empty()) << server.output();
  const auto drop = [&] {
    return run_nvmdb({"drop", "--server", server.address(), "--yes", "wrf/d01/2008-10-26T12Z"});
  };
  const Finished failed = drop();
  EXPECT_EQ(failed.exit_code, 1) << failed.err;
  EXPECT_NE(failed.err.find("no memory"), std::string::npos) << failed.err;
  EXPECT_EQ(run_nvmdb({"runs", "--server", server.address()}).exit_code, 0);
  EXPECT_EQ(drop().exit_code, 0);
  EXPECT_EQ(run_nvmdb({"runs", "--server", server.address()}).exit_code, 7);
  EXPECT_EQ(server.stop(), 0);
}

TEST_F(CheckEndToEnd, RefusesWhatIsNoPool) {
  EXPECT_EQ(run_nvmdb({"check", "--pool", (folder_.path() / "none").string()}).exit_code, 6);
  std::filesystem::resize_file(pool_ / "region.0", 4096);
  const Finished cut = run_nvmdb({"check", "--pool", pool_.string()});
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_NE(cut.err.find("region.0"), std::string::npos) << cut.err;
}

}  // namespace
}  // namespace nvmdb::e2e
