#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "index_fixture.h"
#include "storage/base/random.h"

namespace nvmdb::index {
namespace {

constexpr std::uint64_t kWriters = 3;
constexpr std::uint64_t kKeys = 3000;

struct ThreadsCase {
  OrderedIndex& index;
  NodeMemory& memory;
  std::uint32_t words;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> failures{0};
};

/// Looks up `number` and other keys of the writer, alone and side by side.
void check(ThreadsCase& test, std::uint64_t writer, std::uint64_t number, const std::set<std::uint64_t>& own,
           SeededRandom& random) {
  std::array<std::uint64_t, 8> numbers{number};
  std::array<Key, 8> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) numbers[i] = random.below(kKeys) * (kWriters + 1) + writer;
    keys[i] = spread_key(test.words, numbers[i]);
  }
  std::array<Lookup, 9> lookups;
  test.index.find_all(keys, {lookups.data(), keys.size()});
  lookups[8] = test.index.find(keys[0]);
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    const std::uint64_t wanted = numbers[i % numbers.size()];
    if (lookups[i].found != own.contains(wanted) || (lookups[i].found && lookups[i].value != wanted)) ++test.failures;
  }
}

/// Works on the keys that are `writer` modulo kWriters + 1 only, so that it knows what every call must answer, while
/// the other writers change the same leaves.
void write(ThreadsCase& test, std::uint64_t writer, std::set<std::uint64_t>& own) {
  SeededRandom random(writer);
  for (int step = 0; step < 100000; ++step) {
    const std::uint64_t number = random.below(kKeys) * (kWriters + 1) + writer;
    const Key key = spread_key(test.words, number);
    const bool growing = (step / 12000) % 2 == 0;
    if (random.chance(growing ? 0.6 : 0.2)) {
      const bool fresh = own.insert(number).second;
      const Insertion insertion = test.index.insert(key, number, test.memory);
      if ((insertion.outcome == Insertion::Outcome::Inserted) != fresh) ++test.failures;
    } else if (random.chance(0.6)) {
      if (test.index.erase(key, test.memory) != (own.erase(number) == 1)) ++test.failures;
    } else {
      check(test, writer, number, own, random);
    }
  }
}

/// Keys that are kWriters modulo kWriters + 1 are never erased: every scan must see all of them, in order.
void watch(ThreadsCase& test, bool reverse) {
  while (!test.stop.load(std::memory_order_acquire)) {
    std::uint64_t pillars = 0;
    Key last;
    bool ordered = true;
    scan(test.index, spread_key(test.words, 0), spread_key(test.words, kKeys * (kWriters + 1)), reverse,
         [&](const Key& key, std::uint64_t value) {
           if (last.count != 0) ordered = ordered && (reverse ? key < last : last < key);
           last = key;
           if (value % (kWriters + 1) == kWriters) ++pillars;
           return true;
         });
    if (!ordered || pillars != kKeys) ++test.failures;
  }
}

class OrderedIndexThreads : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Widths, OrderedIndexThreads, ::testing::Values(1U, 4U));

TEST_P(OrderedIndexThreads, EveryAnswerIsRightWhileOthersChangeTheSameLeaves) {
  TestNodeMemory memory(256ULL << 20U);
  const auto index = make_index(GetParam(), memory);
  ThreadsCase test{*index, memory, GetParam()};
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::uint64_t number = i * (kWriters + 1) + kWriters;
    (void)index->insert(spread_key(GetParam(), number), number, memory);
  }
  std::vector<std::set<std::uint64_t>> own(kWriters);
  std::vector<std::thread> writers;
  for (std::uint64_t i = 0; i < kWriters; ++i) writers.emplace_back([&, i] { write(test, i, own[i]); });
  std::thread forward([&] { watch(test, false); });
  std::thread backward([&] { watch(test, true); });
  for (std::thread& writer : writers) writer.join();
  test.stop.store(true, std::memory_order_release);
  forward.join();
  backward.join();
  EXPECT_EQ(test.failures.load(), 0U);
  std::uint64_t expected = kKeys;
  for (const auto& set : own) expected += set.size();
  const auto keys = index->verify();
  ASSERT_TRUE(keys.is_ok()) << keys.status().to_string();
  EXPECT_EQ(*keys, expected);
}

/// All threads insert the same keys: each key must be won by exactly one of them.
TEST(OrderedIndexRace, OneOfSeveralInsertersWins) {
  TestNodeMemory memory(64ULL << 20U);
  const auto index = make_index(2, memory);
  std::atomic<std::uint64_t> wins{0};
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      for (std::uint64_t i = 0; i < 20000; ++i) {
        if (index->insert(make_key(i / 100, i % 100), id, memory).outcome == Insertion::Outcome::Inserted) ++wins;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wins.load(), 20000U);
  EXPECT_EQ(*index->verify(), 20000U);
}

}  // namespace
}  // namespace nvmdb::index
