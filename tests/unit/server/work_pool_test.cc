#include "server/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace nvmdb::server {
namespace {

TEST(WorkPool, RunsAllThatItAcceptedBeforeItEnds) {
  std::atomic<int> count{0};
  {
    WorkPool pool(2, 100);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.submit([&count] { ++count; }));
  }
  EXPECT_EQ(count.load(), 100);
}

TEST(WorkPool, RefusesBeyondItsQueue) {
  std::latch started(1);
  std::latch release(1);
  WorkPool pool(1, 2);
  ASSERT_TRUE(pool.submit([&] {
    started.count_down();
    release.wait();
  }));
  started.wait();
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_FALSE(pool.submit([] {}));
  release.count_down();
}

}  // namespace
}  // namespace nvmdb::server
