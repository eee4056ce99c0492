#include "wal/epoch_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace nvmdb::wal {
namespace {

TEST(EpochClock, ClosesTheCurrentEpochAndOpensTheNext) {
  EpochClock clock(Epoch{7});
  EXPECT_EQ(clock.current(), Epoch{7});
  EXPECT_EQ(clock.close_current(), Epoch{7});
  EXPECT_EQ(clock.current(), Epoch{8});
}

TEST(EpochClock, GivesEachSlotToOneUserUntilAllAreTaken) {
  EpochClock clock(Epoch{1});
  std::vector<EpochClock::Slot*> slots;
  for (std::size_t i = 0; i < EpochClock::kMaxSlots; ++i) {
    slots.push_back(clock.acquire_slot());
    ASSERT_NE(slots.back(), nullptr);
    for (std::size_t j = 0; j < i; ++j) ASSERT_NE(slots[j], slots[i]);
  }
  EXPECT_EQ(clock.acquire_slot(), nullptr);
  clock.release_slot(*slots[100]);
  EXPECT_EQ(clock.acquire_slot(), slots[100]);
}

TEST(EpochClock, NeedsNoSlotOfACommitThatIsInALaterEpochToClose) {
  EpochClock clock(Epoch{1});
  EpochClock::Slot& slot = *clock.acquire_slot();
  (void)clock.close_current();
  EXPECT_EQ(clock.enter_commit(slot), Epoch{2});
  EXPECT_EQ(slot.committing.load(), 2U);
  clock.leave_commit(slot);
  EXPECT_EQ(clock.close_current(), Epoch{2});
}

TEST(EpochClock, WaitsForTheCommitSectionsOfTheEpochItCloses) {
  EpochClock clock(Epoch{1});
  EpochClock::Slot& slot = *clock.acquire_slot();
  EXPECT_EQ(clock.enter_commit(slot), Epoch{1});
  std::atomic<bool> closed{false};
  std::thread leader([&] {
    (void)clock.close_current();
    closed.store(true);
  });
  while (clock.current() == Epoch{1}) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(closed.load());
  clock.leave_commit(slot);
  leader.join();
  EXPECT_TRUE(closed.load());
}

TEST(EpochClock, KeepsMemoryThatAPinnedThreadMayHold) {
  EpochClock clock(Epoch{5});
  EpochClock::Slot& slot = *clock.acquire_slot();
  clock.pin(slot);
  const Epoch retired = clock.retirement_epoch();
  (void)clock.close_current();
  (void)clock.close_current();
  EXPECT_FALSE(retired < clock.oldest_pinned());
  clock.unpin(slot);
  EXPECT_TRUE(retired < clock.oldest_pinned());
  EXPECT_EQ(clock.oldest_pinned(), Epoch{7});
}

// No commit of an epoch may begin or end after that epoch was closed.
TEST(EpochClock, HasNoCommitInAClosedEpoch) {
  EpochClock clock(Epoch{1});
  std::atomic<std::uint64_t> closed{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      EpochClock::Slot& slot = *clock.acquire_slot();
      std::uint64_t commits = 0;
      while (!stop.load()) {
        const Epoch epoch = clock.enter_commit(slot);
        for (int i = 0; i < 30; ++i) {
          if (closed.load() >= epoch.value) late.fetch_add(1);
          __builtin_ia32_pause();
        }
        clock.leave_commit(slot);
        rounds.fetch_add(1);
        if (++commits % 16 == 0) std::this_thread::yield();  // else it is put off inside the section, always
      }
    });
  }
  while (rounds.load() < 20'000) closed.store(clock.close_current().value);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(late.load(), 0U);
}

// A thread that pins may use what is not yet freed; who retires frees only below oldest_pinned().
TEST(EpochClock, NeverFreesUnderAPin) {
  EpochClock clock(Epoch{1});
  struct Thing {
    std::atomic<bool> freed{false};
  };
  constexpr std::size_t kThings = 4096;
  std::vector<Thing> things(kThings);
  std::atomic<Thing*> link{things.data()};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> bad{0};
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      EpochClock::Slot& slot = *clock.acquire_slot();
      std::uint64_t pins = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        clock.pin(slot);
        const Thing* thing = link.load(std::memory_order_acquire);
        for (int i = 0; i < 30; ++i) {
          if (thing->freed.load(std::memory_order_relaxed)) bad.fetch_add(1);
          __builtin_ia32_pause();
        }
        clock.unpin(slot);
        rounds.fetch_add(1);
        if (++pins % 16 == 0) std::this_thread::yield();
      }
    });
  }
  std::vector<std::pair<Epoch, Thing*>> retired;
  std::size_t next_free = 0;
  for (std::size_t i = 1; rounds.load() < 20'000; ++i) {
    // Each thing is used again a whole round later, long after nobody can hold it.
    things[i % kThings].freed.store(false, std::memory_order_relaxed);
    link.store(&things[i % kThings], std::memory_order_release);
    retired.emplace_back(clock.retirement_epoch(), &things[(i - 1) % kThings]);
    (void)clock.close_current();
    do {
      const Epoch oldest = clock.oldest_pinned();
      for (; next_free < retired.size() && retired[next_free].first < oldest; ++next_free) {
        retired[next_free].second->freed.store(true, std::memory_order_relaxed);
      }
    } while (retired.size() - next_free > kThings / 2);
  }
  stop.store(true);
  for (std::thread& thread : readers) thread.join();
  EXPECT_EQ(bad.load(), 0U);
}

}  // namespace
}  // namespace nvmdb::wal
