#include "storage/base/cancellation.h"

#include <gtest/gtest.h>

namespace nvmdb {
namespace {

TEST(Cancellation, EndsWorkWhenSomebodyCancels) {
  Cancellation cancellation;
  EXPECT_TRUE(cancellation.check().is_ok());
  cancellation.cancel();
  EXPECT_EQ(cancellation.check().code(), Code::DeadlineExceeded);
}

TEST(Cancellation, EndsWorkAtItsDeadline) {
  const std::uint64_t now = system_clock().monotonic_ns();
  EXPECT_EQ(Cancellation(now).check().code(), Code::DeadlineExceeded);
  EXPECT_TRUE(Cancellation(now + 3'600'000'000'000).check().is_ok());
  EXPECT_TRUE(still_wanted(nullptr).is_ok());
}

}  // namespace
}  // namespace nvmdb
