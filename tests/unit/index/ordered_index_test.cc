#include "index/ordered_index.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <vector>

#include "index_fixture.h"
#include "storage/base/random.h"

namespace nvmdb::index {
namespace {

constexpr std::uint64_t kMemory = 64ULL << 20U;
using Model = std::map<Key, std::uint64_t>;
using Rows = std::vector<std::pair<Key, std::uint64_t>>;

Rows model_range(const Model& model, const Key& low, const Key& high, bool reverse, std::size_t limit) {
  Rows rows;
  if (high < low) return rows;
  Rows all(model.lower_bound(low), model.upper_bound(high));
  if (reverse) all = Rows(all.rbegin(), all.rend());
  for (std::size_t i = 0; i < all.size() && i < limit; ++i) rows.push_back(all[i]);
  return rows;
}

Rows index_range(const OrderedIndex& index, const Key& low, const Key& high, bool reverse, std::size_t limit,
                 std::vector<LeafVersion>* leaves = nullptr) {
  Rows rows;
  auto seen = scan(index, low, high, reverse, [&](const Key& key, std::uint64_t value) {
    rows.emplace_back(key, value);
    return rows.size() < limit;
  });
  if (leaves != nullptr) *leaves = std::move(seen);
  return rows;
}

class OrderedIndexModel : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Widths, OrderedIndexModel, ::testing::Values(1U, 2U, 4U, 6U));

/// find_all() answers as find() does, and as the model.
void check_together(const OrderedIndex& index, const Model& model, const Key& first, SeededRandom& random) {
  std::vector<Key> keys{first};
  for (std::uint64_t more = random.below(40); more > 0; --more) {
    keys.push_back(spread_key(first.count, random.below(20000)));
  }
  std::vector<Lookup> lookups(keys.size());
  index.find_all(keys, lookups);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto place = model.find(keys[i]);
    ASSERT_EQ(lookups[i].found, place != model.end());
    ASSERT_TRUE(!lookups[i].found || lookups[i].value == place->second);
    const LeafVersion leaf = index.find(keys[i]).leaf;
    ASSERT_EQ(lookups[i].leaf.leaf, leaf.leaf);
    ASSERT_EQ(lookups[i].leaf.version, leaf.version);
  }
}

/// Random insertions, erasures, look-ups and scans, against std::map. The share of erasures swings, so that the tree
/// grows to several levels and shrinks to nothing, twice.
TEST_P(OrderedIndexModel, AgreesWithAnOrderedMap) {
  TestNodeMemory memory(kMemory);
  const auto index = make_index(GetParam(), memory);
  Model model;
  SeededRandom random(42 + GetParam());
  for (int step = 0; step < 120000; ++step) {
    const bool growing = (step / 30000) % 2 == 0;
    const Key key = spread_key(GetParam(), random.below(20000));
    const std::uint64_t dice = random.below(100);
    if (dice < (growing ? 60U : 20U)) {
      const auto [place, fresh] = model.try_emplace(key, static_cast<std::uint64_t>(step));
      const Insertion insertion = index->insert(key, static_cast<std::uint64_t>(step), memory);
      ASSERT_EQ(insertion.outcome == Insertion::Outcome::Inserted, fresh);
      ASSERT_TRUE(fresh || insertion.value == place->second);
    } else if (dice < 85) {
      ASSERT_EQ(index->erase(key, memory), model.erase(key) == 1) << step;
    } else if (dice < 95) {
      const auto place = model.find(key);
      const Lookup lookup = index->find(key);
      ASSERT_EQ(lookup.found, place != model.end());
      ASSERT_TRUE(!lookup.found || lookup.value == place->second);
      check_together(*index, model, key, random);
    } else {
      const Key other = spread_key(GetParam(), random.below(20000));
      const std::size_t limit = random.chance(0.5) ? 1 + random.below(50) : 1000000;
      const bool reverse = random.chance(0.5);
      ASSERT_EQ(index_range(*index, key, other, reverse, limit), model_range(model, key, other, reverse, limit)) << step;
    }
    if (step % 10000 == 9999) {
      const auto keys = index->verify();
      ASSERT_TRUE(keys.is_ok()) << keys.status().to_string();
      ASSERT_EQ(*keys, model.size());
    }
  }
  EXPECT_GT(memory.retired(), 10U) << "merging was not exercised";
  while (!model.empty()) {
    ASSERT_TRUE(index->erase(model.begin()->first, memory));
    model.erase(model.begin());
  }
  EXPECT_EQ(*index->verify(), 0U);
}

/// The promise that transactions build on: when a range that was scanned gains or loses a key, a leaf of the scan
/// has changed; and one's own insertion can be told from another's.
TEST_P(OrderedIndexModel, LeafVersionsTellOfEveryPhantom) {
  TestNodeMemory memory(kMemory);
  const auto index = make_index(GetParam(), memory);
  SeededRandom random(7 + GetParam());
  const auto key_of = [&](std::uint64_t number) { return spread_key(GetParam(), number); };
  for (int i = 0; i < 2000; ++i) (void)index->insert(key_of(random.below(8000)), 1, memory);
  std::uint64_t undisturbed = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t low = random.below(8000);
    const std::uint64_t high = low + random.below(200);
    std::vector<LeafVersion> leaves;
    const bool reverse = random.chance(0.5);
    const Rows before = index_range(*index, key_of(low), key_of(high), reverse, 1000000, &leaves);
    std::vector<LeafVersion> own = leaves;
    const std::uint64_t number = random.below(8000);
    if (random.chance(0.5)) {
      const Insertion insertion = index->insert(key_of(number), 1, memory);
      if (insertion.outcome == Insertion::Outcome::Inserted) {
        bool split_seen = false;
        for (LeafVersion& leaf : own) {
          if (leaf.leaf != insertion.before.leaf) continue;
          ASSERT_EQ(leaf.version, insertion.before.version);
          leaf = insertion.after;
          split_seen = insertion.split.leaf != nullptr;
        }
        if (split_seen) own.push_back(insertion.split);
        for (const LeafVersion& leaf : own) ASSERT_TRUE(OrderedIndex::unchanged(leaf)) << "own insertion disturbs";
      }
    } else {
      index->erase(key_of(number), memory);
    }
    bool changed = false;
    for (const LeafVersion& leaf : leaves) changed = changed || !OrderedIndex::unchanged(leaf);
    const Rows after = index_range(*index, key_of(low), key_of(high), reverse, 1000000);
    if (before != after) {
      ASSERT_TRUE(changed) << "a phantom was missed in round " << round;
    }
    if (!changed) ++undisturbed;
  }
  EXPECT_GT(undisturbed, 1500U) << "versions change without need";
}

TEST_P(OrderedIndexModel, MissReportsTheLeafThatWouldHoldTheKey) {
  TestNodeMemory memory(kMemory);
  const auto index = make_index(GetParam(), memory);
  for (std::uint64_t i = 0; i < 500; ++i) (void)index->insert(spread_key(GetParam(), i * 10), i, memory);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Lookup miss = index->find(spread_key(GetParam(), i * 10 + 5));
    ASSERT_FALSE(miss.found);
    ASSERT_TRUE(OrderedIndex::unchanged(miss.leaf));
    (void)index->insert(spread_key(GetParam(), i * 10 + 5), i, memory);
    ASSERT_FALSE(OrderedIndex::unchanged(miss.leaf));
  }
}

TEST(OrderedIndex, ExtremeKeysAreOrdinaryKeys) {
  TestNodeMemory memory(kMemory);
  const auto index = make_index(2, memory);
  for (const Key& key : {make_key(0, 0), make_key(~0ULL, ~0ULL), make_key(0, ~0ULL), make_key(~0ULL, 0)}) {
    EXPECT_EQ(index->insert(key, 1, memory).outcome, Insertion::Outcome::Inserted);
  }
  EXPECT_EQ(index_range(*index, make_key(0, 0), make_key(~0ULL, ~0ULL), false, 10).size(), 4U);
  EXPECT_EQ(index_range(*index, make_key(0, 0), make_key(~0ULL, ~0ULL), true, 10).size(), 4U);
}

TEST(OrderedIndex, SaysWhenThereIsNoMemoryAndStaysSound) {
  TestNodeMemory memory(2ULL << 20U);
  const auto index = make_index(6, memory);
  std::uint64_t inserted = 0;
  Insertion::Outcome outcome = Insertion::Outcome::Inserted;
  while (outcome == Insertion::Outcome::Inserted && inserted < 1000000) {
    outcome = index->insert(spread_key(6, inserted), inserted, memory).outcome;
    inserted += outcome == Insertion::Outcome::Inserted ? 1 : 0;
  }
  ASSERT_EQ(outcome, Insertion::Outcome::NoMemory);
  EXPECT_EQ(*index->verify(), inserted);
  EXPECT_TRUE(index->find(spread_key(6, inserted - 1)).found);
}

TEST(OrderedIndex, RefusesOtherKeyWidths) {
  TestNodeMemory memory(kMemory);
  for (const std::uint32_t words : {0U, 3U, 5U, 7U}) {
    EXPECT_EQ(OrderedIndex::create(words, memory).status().code(), Code::InvalidArgument);
  }
}

}  // namespace
}  // namespace nvmdb::index
