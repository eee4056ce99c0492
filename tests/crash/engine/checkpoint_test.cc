// Goal:   whenever the power fails around checkpoints, garbage collection, adoption of overflow pages and reuse of log
//         segments, recovery brings back exactly a prefix of the history that holds all acknowledged transactions.
// Method: one thread runs transactions of several large rows and checkpoints on recorded media; the power is cut at
//         sampled points; each state is opened and compared with the models of all prefixes. One in eight goes on:
//         checkpoint, commit, crash, recovery.

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/random.h"
#include "tests/support/crash_states.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/trace_lint.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;
using Model = std::map<std::uint64_t, std::uint64_t>;

constexpr std::uint64_t kKeys = 24;
constexpr std::uint64_t kJournal = 1000;
constexpr RecordedOptions kMedia{.pages = 16};

struct Workload {
  const char* name;
  std::uint32_t tuple_percent;  ///< 0: all rows live in NVM
  std::size_t row_bytes;
  std::uint64_t transactions;
};

engine::DatabaseOptions options_of(const Workload& workload) {
  engine::DatabaseOptions options = small_options();
  options.dram_bytes = 10ULL << 20U;
  options.placement.tuple_percent = workload.tuple_percent;
  options.log.ring_bytes = 1ULL << 20U;
  options.log.log_bytes_max = 8ULL << 20U;
  options.recovery_threads = 1;
  options.checkpoint.space_percent_max = 100;
  options.checkpoint.spare_pages = 0;
  return options;
}

/// A row that says what it is in every part, so that a mixture of two is seen.
Bytes large_row(std::uint64_t value, std::size_t bytes) {
  Bytes row(bytes);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) std::memcpy(row.data() + at, &value, 8);
  return row;
}

std::string read_all(engine::Database& database, Model& rows) {
  std::string wrong;
  const auto receipt = database.run([&](Transaction& t) {
    rows.clear();
    return t.scan(1, key1(0), key1(~0ULL), [&](const index::Key& key, ByteSpan row) {
      std::uint64_t value = 0;
      std::memcpy(&value, row.data(), 8);
      for (std::size_t at = 0; at + 8 <= row.size(); at += 8) {
        if (std::memcmp(row.data() + at, &value, 8) != 0) wrong = "a row is a mixture";
      }
      rows[key.words[0]] = value;
      return true;
    });
  });
  if (!receipt.is_ok()) return receipt.status().to_string();
  if (database.statistics().rows != rows.size()) return "the row count is wrong";
  return wrong;
}

std::string go_on(RecordedMedia& media, engine::Database& database, const engine::DatabaseOptions& options,
                  const Model& rows) {
  if (Status status = database.checkpoint(); !status.is_ok()) return "no checkpoint after recovery: " + status.to_string();
  const Status status = database.run_durable([&](Transaction& t) { return put(t, 5000, rows.size()); });
  if (!status.is_ok()) return "no commit after recovery: " + status.to_string();
  if (Status second = database.checkpoint(); !second.is_ok()) return "no second checkpoint: " + second.to_string();
  const auto after = copy_media(media, kMedia);
  auto again = engine::Database::open(*after, small_tables(), options);
  if (!again.is_ok()) return "second recovery failed: " + again.status().to_string();
  Model found;
  if (std::string wrong = read_all(**again, found); !wrong.empty()) return wrong;
  Model expected = rows;
  expected[5000] = rows.size();
  return found == expected ? "" : "the second recovery gives other rows than the first";
}

struct History {
  std::vector<Model> prefixes{1};
  std::uint64_t pages_collected = 0;
  std::uint64_t adopted = 0;
  std::uint64_t tombstones = 0;
};

/// Runs the workload; acknowledges every third transaction and checkpoints every sixth.
void run_workload(RecordedMedia& media, const Workload& workload, std::uint64_t seed, History& history) {
  const auto database = open_database(media, options_of(workload));
  SeededRandom random(seed);
  for (std::uint64_t i = 1; i <= workload.transactions; ++i) {
    Model next;
    const auto receipt = database->run([&](Transaction& t) -> Status {
      next = history.prefixes.back();
      for (std::uint64_t step = 1 + random.below(3); step-- > 0;) {
        const std::uint64_t key = random.below(kKeys);
        if (random.chance(0.3)) {
          const Status erased = t.erase(1, key1(key));
          if (!erased.is_ok() && erased.code() != Code::NotFound) return erased;
          next.erase(key);
        } else {
          NVMDB_TRY(t.put(1, key1(key), large_row(i * 1000 + step, workload.row_bytes)));
          next[key] = i * 1000 + step;
        }
      }
      next[kJournal] = i;
      return put(t, kJournal, i);
    });
    ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
    history.prefixes.push_back(std::move(next));
    if (i % 3 == 0) {
      ASSERT_TRUE(database->wait_durable(*receipt).is_ok());
      media.ack(i);
    }
    if (i % 6 == 0) {
      media.phase("checkpoint");
      ASSERT_TRUE(database->checkpoint().is_ok());
      database->reclaim();
      media.phase("work");
    }
  }
  const auto statistics = database->statistics().checkpoint;
  history.pages_collected = statistics.pages_collected;
  history.adopted = statistics.tuples_adopted;
  history.tombstones = statistics.tombstones_written;
}

CrashReport explore(const Recording& recording, const Workload& workload, const History& history, std::uint64_t states) {
  const engine::DatabaseOptions options = options_of(workload);
  return CrashStates(recording, crash_options(states)).explore([&](CrashState& state) -> std::string {
    RecordedMedia& media = state.media;
    auto database = engine::Database::open(media, small_tables(), options);
    if (!database.is_ok()) return "recovery failed: " + database.status().to_string();
    Model rows;
    if (std::string wrong = read_all(**database, rows); !wrong.empty()) return wrong;
    const std::uint64_t last = rows.contains(kJournal) ? rows[kJournal] : 0;
    const std::uint64_t acknowledged = state.acks.empty() ? 0 : state.acks.back();
    if (last < acknowledged) return "transaction " + std::to_string(acknowledged) + " was acknowledged and is lost";
    if (last >= history.prefixes.size() || rows != history.prefixes[last]) return "the rows are those of no moment";
    return std::hash<std::string_view>{}(state.token) % 8 == 0 ? go_on(media, **database, options, rows) : "";
  });
}

constexpr Workload kInDram{"rows in DRAM", 60, 60'000, 90};
constexpr Workload kInNvm{"rows in NVM", 0, 60'000, 90};

TEST(CrashCheckpoint, NoStateLosesOrRevivesARow) {
  for (const Workload& workload : {kInDram, kInNvm}) {
    RecordedMedia media(kMedia);
    History history;
    media.start_recording();
    run_workload(media, workload, crash_options().seed, history);
    const Recording recording = media.take_recording();
    EXPECT_GT(history.pages_collected, 3U) << workload.name;
    EXPECT_GT(history.tombstones, 5U) << workload.name;
    EXPECT_EQ(history.adopted > 0, workload.tuple_percent == 0) << workload.name;
    const CrashReport report = explore(recording, workload, history, 1200);
    std::cout << workload.name << ": " << report.to_string() << "\n";
    EXPECT_EQ(report.failures, 0U);
    EXPECT_GT(report.states, 400U);
  }
}

/// Each flush and fence of the checkpoint is needed: without it some state fails.
TEST(CrashCheckpoint, EveryFlushAndFenceIsNeeded) {
  for (const Workload& workload : {kInDram, kInNvm}) {
    std::vector<std::string> sites;
    {
      RecordedMedia media(kMedia);
      History history;
      media.start_recording();
      run_workload(media, workload, crash_options().seed, history);
      const Recording recording = media.take_recording();
      for (const std::string& site : recording.fence_and_flush_sites) {
        if (site.find("engine/tuple_pages") != std::string::npos || site.find("engine/checkpointer") != std::string::npos) {
          sites.push_back(site);
        }
      }
    }
    for (const std::string& site : sites) {
      RecordedOptions dropping = kMedia;
      dropping.drop_sites = {site};
      RecordedMedia media(dropping);
      History history;
      media.start_recording();
      run_workload(media, workload, crash_options().seed, history);
      const Recording recording = media.take_recording();
      const CrashReport report = explore(recording, workload, history, 500);
      std::cout << workload.name << ", without " << site << ": " << report.states << " states, " << report.failures << " failures\n";
      EXPECT_GT(report.failures, 0U) << site;
    }
  }
}

}  // namespace
}  // namespace nvmdb::test
