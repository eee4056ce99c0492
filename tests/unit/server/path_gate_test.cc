#include "server/path_gate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nvmdb::server {
namespace {

namespace fs = std::filesystem;

class PathGateTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "path_gate_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    fs::create_directories(base_ / "root" / "sub");
    fs::create_directories(base_ / "rootless");
    std::ofstream(base_ / "root" / "a.grib") << "a";
    std::ofstream(base_ / "root" / "sub" / "b.grib") << "b";
    std::ofstream(base_ / "secret") << "s";
    std::ofstream(base_ / "rootless" / "c.grib") << "c";
    fs::create_symlink(base_ / "secret", base_ / "root" / "link");
    fs::create_directory_symlink(base_, base_ / "root" / "up");
    ASSERT_EQ(::mkfifo((base_ / "root" / "fifo").c_str(), 0600), 0);
    fs::create_hard_link(base_ / "secret", base_ / "root" / "hard");
  }
  void TearDown() override { fs::remove_all(base_); }

  fs::path base_;
};

TEST_F(PathGateTest, OpensFilesUnderTheRoot) {
  const auto gate = PathGate::open({base_ / "root"});
  ASSERT_TRUE(gate.is_ok());
  EXPECT_TRUE(gate->open_file("a.grib").is_ok());
  EXPECT_TRUE(gate->open_file("sub/b.grib").is_ok());
  EXPECT_TRUE(gate->open_file((fs::canonical(base_) / "root" / "a.grib").string()).is_ok());
  EXPECT_TRUE(gate->open_file("./sub/../a.grib").is_ok());
}

TEST_F(PathGateTest, RefusesWhatLeadsOutside) {
  const auto gate = PathGate::open({base_ / "root"});
  ASSERT_TRUE(gate.is_ok());
  const std::vector<std::string> outside = {"../secret",
                                            "sub/../../secret",
                                            "link",
                                            "up/secret",
                                            "hard",
                                            (base_ / "secret").string(),
                                            (base_ / "rootless" / "c.grib").string(),
                                            "/etc/passwd",
                                            "/proc/self/environ"};
  for (const std::string& path : outside) {
    const auto file = gate->open_file(path);
    EXPECT_EQ(file.status().code(), Code::PermissionDenied) << path << ": " << file.status().to_string();
  }
}

TEST_F(PathGateTest, RefusesWhatIsNotAFile) {
  const auto gate = PathGate::open({base_ / "root"});
  ASSERT_TRUE(gate.is_ok());
  EXPECT_EQ(gate->open_file("sub").status().code(), Code::InvalidArgument);
  EXPECT_EQ(gate->open_file("fifo").status().code(), Code::InvalidArgument);
  EXPECT_EQ(gate->open_file("").status().code(), Code::InvalidArgument);
  EXPECT_EQ(gate->open_file(std::string("a.grib\0x", 8)).status().code(), Code::InvalidArgument);
  EXPECT_EQ(gate->open_file("nothing").status().code(), Code::NotFound);
}

TEST_F(PathGateTest, HasNoRootsByDefault) {
  const auto gate = PathGate::open({});
  ASSERT_TRUE(gate.is_ok());
  EXPECT_EQ(gate->open_file("a.grib").status().code(), Code::PermissionDenied);
  EXPECT_EQ(PathGate::open({base_ / "nothing"}).status().code(), Code::NotFound);
}

}  // namespace
}  // namespace nvmdb::server
