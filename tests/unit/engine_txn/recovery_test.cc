#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <thread>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;
using Model = std::map<std::uint64_t, std::uint64_t>;

Model content(engine::Database& database) {
  Model found;
  const auto receipt = database.run([&](Transaction& t) {
    found.clear();
    return t.scan(1, key1(0), key1(~0ULL), [&](const index::Key& key, ByteSpan row) {
      found[key.words[0]] = value_of(row);
      return true;
    });
  });
  EXPECT_TRUE(receipt.is_ok()) << receipt.status().to_string();
  return found;
}

/// Random puts and deletes, one durable wait per round.
void change(engine::Database& database, Model& model, SeededRandom& random, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Model next = model;
    const Status status = database.run_durable([&](Transaction& t) -> Status {
      for (std::uint64_t i = 1 + random.below(5); i-- > 0;) {
        const std::uint64_t key = random.below(300);
        if (random.chance(0.3)) {
          const Status erased = t.erase(1, key1(key));
          if (erased.code() != Code::NotFound) NVMDB_TRY(erased);
          next.erase(key);
        } else {
          const std::uint64_t value = random.next();
          NVMDB_TRY(put(t, key, value));
          next[key] = value;
        }
      }
      return Status::ok();
    });
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    model = std::move(next);
  }
}

TEST(Recovery, AnEmptyPoolOpensEmpty) {
  RecordedMedia media;
  const auto database = open_database(media, small_options());
  EXPECT_EQ(content(*database), Model{});
  EXPECT_EQ(database->recovery().records_applied, 0U);
  EXPECT_FALSE(database->recovery().clean_shutdown);
}

TEST(Recovery, ACleanCloseKeepsAllCommitsAndSaysSo) {
  RecordedMedia media;
  Model model;
  SeededRandom random(1);
  for (int session = 0; session < 4; ++session) {
    const auto database = open_database(media, small_options());
    EXPECT_EQ(database->recovery().clean_shutdown, session > 0);
    EXPECT_EQ(content(*database), model);
    EXPECT_EQ(database->statistics().rows, model.size());
    EXPECT_EQ(media.root_words().load8(storage::kCleanShutdownWord * 8), 0U) << "open and marked clean";
    change(*database, model, random, 100);
    // Not waited for: the close does.
    ASSERT_TRUE(database->run([&](Transaction& t) { return put(t, 1000, 1); }).is_ok());
    model[1000] = 1;
  }
  EXPECT_EQ(media.root_words().load8(storage::kCleanShutdownWord * 8), 1U);
}

/// The process dies after each of many rounds; all that was acknowledged is there, through several generations of
/// recovery, with one and with several redo threads.
TEST(Recovery, WhatWasAcknowledgedSurvivesAKill) {
  const RecordedOptions media_options{.pages = 16};
  auto media = std::make_unique<RecordedMedia>(media_options);
  Model model;
  SeededRandom random(2);
  for (int generation = 0; generation < 12; ++generation) {
    engine::DatabaseOptions options = small_options();
    options.log.streams = 1 + static_cast<std::uint32_t>(generation % 3);
    options.recovery_threads = 1 + static_cast<std::uint32_t>(generation % 4);
    std::unique_ptr<RecordedMedia> left;
    {
      const auto database = open_database(*media, options);
      ASSERT_EQ(content(*database), model) << "generation " << generation;
      ASSERT_EQ(database->statistics().rows, model.size());
      EXPECT_FALSE(database->recovery().clean_shutdown);
      change(*database, model, random, 40);
      left = copy_media(*media, media_options);
    }
    media = std::move(left);
  }
}

/// Several threads commit to several streams; versions of one key lie in different streams.
TEST(Recovery, TheNewestVersionWinsOverStreams) {
  const RecordedOptions media_options{.pages = 32};
  RecordedMedia media(media_options);
  engine::DatabaseOptions options = small_options(true);
  options.log.streams = 4;
  options.log.log_bytes_max = 48ULL << 20U;
  Model before;
  std::unique_ptr<RecordedMedia> left;
  {
    const auto database = open_database(media, options);
    std::vector<std::thread> threads;
    for (std::uint64_t id = 0; id < 4; ++id) {
      threads.emplace_back([&, id] {
        SeededRandom random(id);
        for (int i = 0; i < 1500; ++i) {
          const std::uint64_t key = random.below(50);
          const auto receipt = database->run([&](Transaction& t) -> Status {
            if (random.chance(0.3)) {
              const Status erased = t.erase(1, key1(key));
              return erased.code() == Code::NotFound ? Status::ok() : erased;
            }
            return put(t, key, random.next());
          });
          ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
          if (i % 50 == 0) {
            ASSERT_TRUE(database->wait_durable(*receipt).is_ok());
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 999, 9); }).is_ok());
    before = content(*database);
    left = copy_media(media, media_options);
  }
  for (const std::uint32_t recovery_threads : {1U, 4U}) {
    const auto image = copy_media(*left, media_options);
    options.recovery_threads = recovery_threads;
    const auto database = open_database(*image, options);
    EXPECT_EQ(content(*database), before);
    EXPECT_EQ(database->statistics().rows, before.size());
    auto& table = *engine::EngineTestAccess::state(*database).tables.find(1);
    EXPECT_EQ(*table.index->verify(), before.size()) << "deleted keys are left in the index";
  }
}

TEST(Recovery, IsIdempotent) {
  const RecordedOptions media_options{.pages = 16};
  RecordedMedia media(media_options);
  Model model;
  SeededRandom random(3);
  std::unique_ptr<RecordedMedia> left;
  {
    const auto database = open_database(media, small_options());
    change(*database, model, random, 50);
    left = copy_media(media, media_options);
  }
  std::uint64_t floor = 0;
  for (int i = 0; i < 5; ++i) {
    std::unique_ptr<RecordedMedia> next;
    {
      const auto database = open_database(*left, small_options());
      EXPECT_EQ(content(*database), model);
      next = copy_media(*left, media_options);
    }
    left = std::move(next);
    const std::uint64_t now = storage::load_root_number(left->root_words(), storage::kEpochFloorWord).value();
    EXPECT_GE(now, floor);
    floor = now;
  }
}

/// A row that was deleted, forgotten and inserted again must win over its older deletion at the next start.
TEST(Recovery, ReinsertionAfterReclaimBeatsTheOldDeletion) {
  const RecordedOptions media_options{.pages = 16};
  RecordedMedia media(media_options);
  std::unique_ptr<RecordedMedia> left;
  {
    const auto database = open_database(media, small_options());
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 1, 1); }).is_ok());
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return t.erase(1, key1(1)); }).is_ok());
    database->reclaim();
    EXPECT_EQ(*engine::EngineTestAccess::state(*database).tables.find(1)->index->verify(), 0U);
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 1, 2); }).is_ok());
    left = copy_media(media, media_options);
  }
  const auto database = open_database(*left, small_options());
  EXPECT_EQ(content(*database), (Model{{1, 2}}));
}

TEST(Recovery, ATableThatIsNotDeclaredIsNamed) {
  RecordedMedia media;
  {
    const auto database = open_database(media, small_options());
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return t.put(6, index::make_key(1, 2, 3, 4, 5, 6), row_of(1)); }).is_ok());
  }
  const auto without = engine::Database::open(media, {{1, "one", 1}}, small_options());
  EXPECT_EQ(without.status().code(), Code::InvalidArgument);
  EXPECT_NE(without.status().message().find("table 6"), std::string::npos) << without.status().to_string();
  const auto narrower = engine::Database::open(media, {{6, "six", 4}}, small_options());
  EXPECT_EQ(narrower.status().code(), Code::InvalidArgument);
  const auto twice = engine::Database::open(media, {{6, "six", 6}, {6, "seven", 6}}, small_options());
  EXPECT_EQ(twice.status().code(), Code::InvalidArgument);
  EXPECT_TRUE(engine::Database::open(media, small_tables(), small_options()).is_ok()) << "a refusal must change nothing";
}

TEST(Recovery, ABudgetBelowTheDataIsAnError) {
  RecordedMedia media;
  {
    const auto database = open_database(media, small_options());
    for (std::uint64_t i = 0; i < 5000; ++i) {
      ASSERT_TRUE(database->run([&](Transaction& t) { return t.put(1, key1(i), Bytes(1000)); }).is_ok());
    }
  }
  engine::DatabaseOptions options = small_options();
  options.dram_bytes = 4ULL << 20U;
  options.placement.overflow = false;
  EXPECT_EQ(engine::Database::open(media, small_tables(), options).status().code(), Code::OutOfSpace);
}

TEST(Recovery, TellsOfItsProgressInOrder) {
  RecordedMedia media;
  {
    const auto database = open_database(media, small_options());
    for (std::uint64_t i = 0; i < 20000; ++i) {
      ASSERT_TRUE(database->run([&](Transaction& t) { return put(t, i % 100, i); }).is_ok());
    }
  }
  engine::DatabaseOptions options = small_options();
  std::vector<std::string> phases;
  bool sane = true;
  std::uint64_t redo_reports = 0;
  options.progress = [&](const char* phase, std::uint64_t done, std::uint64_t total) {
    if (phases.empty() || phases.back() != phase) phases.emplace_back(phase);
    sane = sane && done <= total;
    redo_reports += std::string(phase) == "redo" ? 1U : 0U;
  };
  const auto database = open_database(media, options);
  EXPECT_EQ(phases, (std::vector<std::string>{"analysis", "redo", "undo"}));
  EXPECT_TRUE(sane);
  EXPECT_GE(redo_reports, 2U);
  EXPECT_EQ(database->recovery().records_applied, 20000U);
  EXPECT_GT(database->recovery().log_bytes, 20000U * 20);
}

}  // namespace
}  // namespace nvmdb::test
