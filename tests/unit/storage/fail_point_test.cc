#include "storage/base/fail_point.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "storage/base/result.h"

namespace nvmdb {
namespace {

#ifdef NVMDB_FAIL_POINTS

Status pass(int& passed) {
  NVMDB_FAIL_POINT_TRY("test.status");
  ++passed;
  return Status::ok();
}

void pass_silently() {
  NVMDB_FAIL_POINT("test.void");
}

class FailPoints : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(FailPoint::arm("").is_ok()); }
};

TEST_F(FailPoints, AreKnownBeforeTheyAreReached) {
  const std::vector<std::string> names = FailPoint::names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "test.never"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "test.status"), 1);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  if (names.empty()) NVMDB_FAIL_POINT("test.never");
}

TEST_F(FailPoints, FailTheNthTimeAndOnlyThen) {
  int passed = 0;
  ASSERT_TRUE(FailPoint::arm("test.status:3:error").is_ok());
  EXPECT_TRUE(pass(passed).is_ok());
  EXPECT_TRUE(pass(passed).is_ok());
  EXPECT_EQ(pass(passed).code(), Code::IoError);
  EXPECT_TRUE(pass(passed).is_ok());
  EXPECT_EQ(passed, 3);
}

TEST_F(FailPoints, ThrowWhatANewWouldThrow) {
  ASSERT_TRUE(FailPoint::arm("test.void:1:bad_alloc").is_ok());
  EXPECT_THROW(pass_silently(), std::bad_alloc);
  EXPECT_NO_THROW(pass_silently());
}

TEST_F(FailPoints, Wait) {
  ASSERT_TRUE(FailPoint::arm("test.void:1:delay").is_ok());
  const auto begin = std::chrono::steady_clock::now();
  pass_silently();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
}

TEST_F(FailPoints, KillTheProcess) {
  EXPECT_EXIT(
      {
        static_cast<void>(FailPoint::arm("test.void:2:kill"));
        pass_silently();
        pass_silently();
      },
      ::testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailPoints, ArmSeveralAndDisarmTheOthers) {
  int passed = 0;
  ASSERT_TRUE(FailPoint::arm("test.status:1:error,test.void:1:bad_alloc").is_ok());
  EXPECT_THROW(pass_silently(), std::bad_alloc);
  ASSERT_TRUE(FailPoint::arm("test.void:1:bad_alloc").is_ok());
  EXPECT_TRUE(pass(passed).is_ok());
}

TEST_F(FailPoints, RefuseWhatIsNotThere) {
  int passed = 0;
  ASSERT_TRUE(FailPoint::arm("test.status:1:error").is_ok());
  for (const char* text : {"test.stat:1:error", "test.status:0:error", "test.status:x:kill",
                           "test.status:1:explode", "test.status:1", "test.status",
                           "test.status:1:kill,"
                           "nothing:1:kill",
                           ":1:kill", "test.status:99999999999999999999:kill"}) {
    EXPECT_EQ(FailPoint::arm(text).code(), Code::InvalidArgument) << text;
  }
  EXPECT_FALSE(pass(passed).is_ok()) << "a refused order changed something";
}

#else

TEST(FailPoints, AreNotThereInThisBuild) {
  EXPECT_TRUE(FailPoint::names().empty());
  NVMDB_FAIL_POINT("test.void");
  EXPECT_TRUE(FailPoint::names().empty());
}

#endif

}  // namespace
}  // namespace nvmdb
