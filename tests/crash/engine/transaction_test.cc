// Goal:   whenever the power fails, recovery brings back every acknowledged transaction, and of the others each whole
//         or not at all, in commit order; and it can be repeated and gone on from.
// Method: transactions of several rows, each writing its number to a journal row of its thread, are run on recorded
//         media and acknowledged when durable. The power is cut at sampled points; a database is opened on each state
//         and compared with the models of all prefixes of the history (one thread), or with invariants that hold in
//         every serial order (several threads). Then the crash repeats after recovery and after new commits.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "storage/base/random.h"
#include "tests/support/crash_states.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;
using Model = std::map<std::uint64_t, std::uint64_t>;

constexpr std::uint64_t kAccounts = 20;
constexpr std::uint64_t kJournal = 1000;  ///< key of a thread's journal row, + thread
constexpr RecordedOptions kMedia{.pages = 12};

engine::DatabaseOptions options(bool threads, std::uint32_t streams) {
  engine::DatabaseOptions result = small_options(threads);
  result.dram_bytes = 8ULL << 20U;
  result.log.ring_bytes = 64ULL << 10U;
  result.log.log_bytes_max = 20ULL << 20U;
  result.log.streams = streams;
  result.recovery_threads = 1;
  return result;
}

std::string read_all(engine::Database& database, Model& rows) {
  const auto receipt = database.run([&](Transaction& t) {
    rows.clear();
    return t.scan(1, key1(0), key1(~0ULL), [&](const index::Key& key, ByteSpan row) {
      rows[key.words[0]] = value_of(row);
      return true;
    });
  });
  if (!receipt.is_ok()) return receipt.status().to_string();
  if (database.statistics().rows != rows.size()) return "the row count is wrong";
  const auto keys = engine::EngineTestAccess::state(database).tables.find(1)->index->verify();
  return keys.is_ok() ? "" : keys.status().to_string();
}

/// Commits something, dies without closing, opens again: the state must be the same plus the commit.
std::string go_on_and_crash_again(RecordedMedia& media, engine::Database& database,
                                  const engine::DatabaseOptions& database_options, const Model& rows) {
  const Status status = database.run_durable([&](Transaction& t) { return put(t, 5000, rows.size()); });
  if (!status.is_ok()) return "no commit after recovery: " + status.to_string();
  const auto after = copy_media(media, kMedia);
  auto again = engine::Database::open(*after, small_tables(), database_options);
  if (!again.is_ok()) return "second recovery failed: " + again.status().to_string();
  Model found;
  if (std::string wrong = read_all(**again, found); !wrong.empty()) return wrong;
  Model expected = rows;
  expected[5000] = rows.size();
  return found == expected ? "" : "the second recovery gives other rows than the first";
}

/// Recovers a state and reads it; one in eight, chosen by its token, is gone on from and crashes once more.
std::string recover(CrashState& state, std::uint32_t streams, Model& rows) {
  RecordedMedia& media = state.media;
  const engine::DatabaseOptions database_options = options(false, streams);
  auto database = engine::Database::open(media, small_tables(), database_options);
  if (!database.is_ok()) return "recovery failed: " + database.status().to_string();
  if (std::string wrong = read_all(**database, rows); !wrong.empty()) return wrong;
  return std::hash<std::string_view>{}(state.token) % 8 == 0 ? go_on_and_crash_again(media, **database, database_options, rows) : "";
}

TEST(CrashTransaction, OneThreadRecoversAPrefixThatHoldsAllAcknowledged) {
  RecordedMedia media(kMedia);
  std::vector<Model> prefixes(1);
  const engine::DatabaseOptions database_options = options(false, 2);
  media.start_recording();
  {
    const auto database = open_database(media, database_options);
    SeededRandom random(crash_options().seed);
    for (std::uint64_t i = 1; i <= 60; ++i) {
      Model next = prefixes.back();
      const auto receipt = database->run([&](Transaction& t) -> Status {
        for (std::uint64_t step = 1 + random.below(4); step-- > 0;) {
          const std::uint64_t key = random.below(kAccounts);
          if (random.chance(0.3)) {
            const Status erased = t.erase(1, key1(key));
            if (erased.code() != Code::NotFound) NVMDB_TRY(erased);
            next.erase(key);
          } else {
            NVMDB_TRY(put(t, key, i));
            next[key] = i;
          }
        }
        next[kJournal] = i;
        return put(t, kJournal, i);
      });
      ASSERT_TRUE(receipt.is_ok());
      prefixes.push_back(next);
      if (random.chance(0.4)) {
        ASSERT_TRUE(database->wait_durable(*receipt).is_ok());
        media.ack(i);
      }
      if (i % 20 == 0) database->reclaim();
    }
  }
  const Recording recording = media.take_recording();
  const CrashReport report = CrashStates(recording, crash_options(1500)).explore([&](CrashState& state) -> std::string {
    Model rows;
    if (std::string wrong = recover(state, 3, rows); !wrong.empty()) return wrong;
    const std::uint64_t last = rows.contains(kJournal) ? rows[kJournal] : 0;
    const std::uint64_t acknowledged = state.acks.empty() ? 0 : state.acks.back();
    if (last < acknowledged) return "transaction " + std::to_string(acknowledged) + " was acknowledged and is lost";
    if (last >= prefixes.size() || rows != prefixes[last]) return "the rows are those of no moment";
    return "";
  });
  std::cout << report.to_string() << "\n";
  EXPECT_EQ(report.failures, 0U);
  EXPECT_GT(report.states, 500U);
}

TEST(CrashTransaction, ThreadsMovingMoneyLoseNothing) {
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kMoves = 25;
  constexpr std::uint64_t kMoney = 100;
  RecordedMedia media(kMedia);
  const engine::DatabaseOptions database_options = options(true, 3);
  {
    const auto database = open_database(media, database_options);
    ASSERT_TRUE(database->run_durable([](Transaction& t) -> Status {
      for (std::uint64_t i = 0; i < kAccounts; ++i) NVMDB_TRY(put(t, i, kMoney));
      return Status::ok();
    }).is_ok());
  }
  media.start_recording();
  {
    const auto database = open_database(media, database_options);
    std::vector<std::thread> threads;
    for (std::uint64_t id = 0; id < kThreads; ++id) {
      threads.emplace_back([&, id] {
        SeededRandom random(id + 1);
        for (std::uint64_t i = 1; i <= kMoves; ++i) {
          const std::uint64_t from = random.below(kAccounts);
          const std::uint64_t to = random.below(kAccounts);
          const auto receipt = database->run([&](Transaction& t) -> Status {
            const std::uint64_t have = get(t, from).value_or(0);
            const std::uint64_t amount = std::min<std::uint64_t>(have, 7);
            NVMDB_TRY(put(t, from, have - amount));
            const auto target = get(t, to);
            NVMDB_TRY(put(t, to, target.value_or(0) + amount));
            return put(t, kJournal + id, i);
          });
          ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
          if (i % 2 == 0) {
            ASSERT_TRUE(database->wait_durable(*receipt).is_ok());
            media.ack(id * 1000 + i);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const Recording recording = media.take_recording();
  const CrashReport report = CrashStates(recording, crash_options(1500)).explore([&](CrashState& state) -> std::string {
    Model rows;
    if (std::string wrong = recover(state, 3, rows); !wrong.empty()) return wrong;
    std::uint64_t money = 0;
    for (std::uint64_t i = 0; i < kAccounts; ++i) money += rows[i];
    if (money != kAccounts * kMoney) return "the sum is " + std::to_string(money);
    for (const std::uint64_t ack : state.acks) {
      if (rows[kJournal + ack / 1000] < ack % 1000) {
        return "transaction " + std::to_string(ack) + " was acknowledged and is lost";
      }
    }
    return "";
  });
  std::cout << report.to_string() << "\n";
  EXPECT_EQ(report.failures, 0U);
  EXPECT_GT(report.states, 500U);
}

/// Commits and acknowledges; `wait`: as it must be. Returns the number of states that lost an acknowledged transaction.
std::uint64_t lost_acknowledgements(wal::PlantedBug bug, bool wait) {
  RecordedMedia media(kMedia);
  engine::DatabaseOptions database_options = options(false, 1);
  database_options.log.planted_bug = bug;
  media.start_recording();
  {
    const auto database = open_database(media, database_options);
    for (std::uint64_t i = 1; i <= 20; ++i) {
      const auto receipt = database->run([&](Transaction& t) { return put(t, kJournal, i); });
      EXPECT_TRUE(receipt.is_ok());
      if (wait) {
        EXPECT_TRUE(database->wait_durable(*receipt).is_ok());
      }
      media.ack(i);
    }
  }
  const Recording recording = media.take_recording();
  return CrashStates(recording, crash_options(200)).explore([&](CrashState& state) -> std::string {
    Model rows;
    if (std::string wrong = recover(state, 1, rows); !wrong.empty()) return wrong;
    const std::uint64_t acknowledged = state.acks.empty() ? 0 : state.acks.back();
    return rows[kJournal] >= acknowledged ? "" : "lost";
  }).failures;
}

/// The check can fail: it finds who tells of a commit before it is durable, and a log that forgets its fence.
TEST(CrashTransaction, FindsEarlyAcknowledgements) {
  EXPECT_EQ(lost_acknowledgements(wal::PlantedBug::None, true), 0U);
  EXPECT_GT(lost_acknowledgements(wal::PlantedBug::None, false), 0U);
  EXPECT_GT(lost_acknowledgements(wal::PlantedBug::MissingFence, true), 0U);
}

}  // namespace
}  // namespace nvmdb::test
