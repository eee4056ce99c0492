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

TEST(WorkPool, LetsAJobLeaveItsQueue) {
  std::latch started(1);
  std::latch release(1);
  std::atomic<bool> ran{false};
  WorkPool::Ticket running{0};
  WorkPool::Ticket waiting{0};
  const WorkPool::Ticket never{0};
  {
    WorkPool pool(1, 1);
    ASSERT_TRUE(pool.submit(
        [&] {
          started.count_down();
          release.wait();
        },
        &running));
    started.wait();
    ASSERT_TRUE(pool.submit([&] { ran = true; }, &waiting));
    EXPECT_FALSE(pool.submit([] {}));
    EXPECT_FALSE(pool.withdraw(running));
    EXPECT_FALSE(pool.withdraw(never));
    EXPECT_TRUE(pool.withdraw(waiting));
    EXPECT_FALSE(pool.withdraw(waiting));
    EXPECT_TRUE(pool.submit([] {}));  // its place is free again
    release.count_down();
  }
  EXPECT_FALSE(ran.load());
}

}  // namespace
}  // namespace nvmdb::server
