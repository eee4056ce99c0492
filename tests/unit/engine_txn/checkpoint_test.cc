// Goal:   checkpoints keep every row, bound the log, let rows live in NVM, and give space back.
// Method: databases on memory in place of media; a crash is a copy of the media; the oracle is a std::map.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;
using Rows = std::map<std::uint64_t, std::string>;

Bytes bytes_of(const std::string& text) {
  const auto span = std::as_bytes(std::span(text));
  return {span.begin(), span.end()};
}

Rows read_all(engine::Database& database) {
  Rows rows;
  const auto receipt = database.run([&](Transaction& t) {
    rows.clear();
    return t.scan(1, key1(0), key1(~0ULL), [&](const index::Key& key, ByteSpan row) {
      rows[key.words[0]] = std::string(reinterpret_cast<const char*>(row.data()), row.size());
      return true;
    });
  });
  EXPECT_TRUE(receipt.is_ok()) << receipt.status().to_string();
  return rows;
}

void put_row(engine::Database& database, Rows& rows, std::uint64_t key, std::string text) {
  const auto receipt = database.run([&](Transaction& t) { return t.put(1, key1(key), bytes_of(text)); });
  ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string() << " at key " << key;
  rows[key] = std::move(text);
}

void erase_row(engine::Database& database, Rows& rows, std::uint64_t key) {
  const auto receipt = database.run([&](Transaction& t) -> Status {
    const Status erased = t.erase(1, key1(key));
    return erased.code() == Code::NotFound ? Status::ok() : erased;
  });
  ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
  rows.erase(key);
}

/// A database on a copy of the media, as after a crash of the process.
struct Reopened {
  Reopened(const RecordedMedia& old, const RecordedOptions& media_options, const engine::DatabaseOptions& options)
      : media(copy_media(old, media_options)), database(open_database(*media, options)) {}
  std::unique_ptr<RecordedMedia> media;
  std::unique_ptr<engine::Database> database;
};

TEST(Checkpoint, RowsComeBackFromPagesAlone) {
  const RecordedOptions media_options{.pages = 24};
  RecordedMedia media(media_options);
  const auto options = small_options();
  Rows rows;
  const auto database = open_database(media, options);
  for (std::uint64_t i = 0; i < 500; ++i) put_row(*database, rows, i, std::string(i % 300, 'a'));
  for (std::uint64_t i = 0; i < 500; i += 7) erase_row(*database, rows, i);
  ASSERT_TRUE(database->wait_durable({{}, {1}}).is_ok());
  ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 9999, 1); }).is_ok());
  ASSERT_TRUE(database->checkpoint().is_ok());
  const Rows expected = read_all(*database);
  const auto statistics = database->statistics().checkpoint;
  EXPECT_GT(statistics.tuples_written, 400U);
  EXPECT_EQ(statistics.tombstones_written, 0U) << "rows that no checkpoint had need no tombstone";

  Reopened again(media, media_options, options);
  EXPECT_EQ(again.database->recovery().records_applied, 0U) << "the log was covered";
  EXPECT_EQ(again.database->recovery().checkpoint_tuples, expected.size());
  EXPECT_EQ(read_all(*again.database), expected);
  EXPECT_EQ(again.database->statistics().rows, expected.size());
}

TEST(Checkpoint, DeletionsOfCheckpointedRowsStayDeleted) {
  const RecordedOptions media_options{.pages = 24};
  RecordedMedia media(media_options);
  const auto options = small_options();
  Rows rows;
  const auto database = open_database(media, options);
  for (std::uint64_t i = 0; i < 200; ++i) put_row(*database, rows, i, "first");
  ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 9999, 1); }).is_ok());
  ASSERT_TRUE(database->checkpoint().is_ok());
  for (std::uint64_t i = 0; i < 200; i += 2) erase_row(*database, rows, i);
  ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 9999, 2); }).is_ok());
  ASSERT_TRUE(database->checkpoint().is_ok());
  EXPECT_EQ(database->statistics().checkpoint.tombstones_written, 100U);
  database->reclaim();
  EXPECT_EQ(*engine::EngineTestAccess::state(*database).tables.find(1)->index->verify(), 101U)
      << "a deletion that is in the checkpoint leaves the index";
  const Rows expected = read_all(*database);
  {
    Reopened again(media, media_options, options);
    EXPECT_EQ(again.database->recovery().records_applied, 0U);
    EXPECT_EQ(read_all(*again.database), expected);
    // A key that comes back wins over its tombstone.
    Rows more = expected;
    put_row(*again.database, more, 4, "again");
    ASSERT_TRUE(again.database->run_durable([](Transaction& t) { return put(t, 9999, 2); }).is_ok());
    ASSERT_TRUE(again.database->checkpoint().is_ok());
    Reopened third(*again.media, media_options, options);
    EXPECT_EQ(read_all(*third.database), more);
  }
}

TEST(Checkpoint, TheLogIsReusedForEver) {
  const RecordedOptions media_options{.pages = 32};
  RecordedMedia media(media_options);
  engine::DatabaseOptions options = small_options();
  options.log.log_bytes_max = 8ULL << 20U;
  Rows rows;
  const auto database = open_database(media, options);
  SeededRandom random(4);
  // About 100 MB of log through 8 MiB.
  for (std::uint64_t i = 0; i < 25000; ++i) put_row(*database, rows, random.below(300), std::string(4000, static_cast<char>('a' + i % 26)));
  const auto statistics = database->statistics();
  EXPECT_GT(statistics.log.media_bytes, 90ULL << 20U);
  EXPECT_LE(statistics.log.log_bytes, 8ULL << 20U);
  EXPECT_GT(statistics.checkpoint.pages_collected, 0U);
  EXPECT_LE(database->pages().pages_of(storage::PageKind::Checkpoint) + database->pages().pages_of(storage::PageKind::Overflow), 10U);
  EXPECT_EQ(read_all(*database), rows);
  ASSERT_TRUE(database->run_durable([](Transaction&) { return Status::ok(); }).is_ok());
  ASSERT_TRUE(database->wait_durable({{}, engine::EngineTestAccess::state(*database).clock->current()}).is_ok());
  Reopened again(media, media_options, options);
  EXPECT_EQ(read_all(*again.database), rows);
}

/// Six times the DRAM for tuples: rows overflow into NVM, are adopted there, leave DRAM, and are read from NVM.
TEST(Checkpoint, AWorkingSetLargerThanDramWorks) {
  const RecordedOptions media_options{.pages = 80};
  RecordedMedia media(media_options);
  engine::DatabaseOptions options = small_options();
  options.dram_bytes = 12ULL << 20U;
  options.log.log_bytes_max = 16ULL << 20U;
  Rows rows;
  const auto database = open_database(media, options);
  for (std::uint64_t i = 0; i < 40000; ++i) put_row(*database, rows, i, std::string(1000, static_cast<char>('a' + i % 26)));
  SeededRandom random(5);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::uint64_t key = random.below(40000);
    if (random.chance(0.2)) {
      erase_row(*database, rows, key);
    } else {
      put_row(*database, rows, key, std::string(random.below(1500), 'z'));
    }
  }
  const auto statistics = database->statistics();
  EXPECT_GT(statistics.checkpoint.tuples_adopted, 1000U);
  EXPECT_GT(statistics.checkpoint.tuples_evicted, 1000U);
  EXPECT_LE(statistics.dram_bytes, options.dram_bytes);
  EXPECT_EQ(read_all(*database), rows);
  ASSERT_TRUE(database->wait_durable({{}, engine::EngineTestAccess::state(*database).clock->current()}).is_ok());
  Reopened again(media, media_options, options);
  EXPECT_EQ(read_all(*again.database), rows);
  EXPECT_EQ(again.database->statistics().rows, rows.size());
}

/// Insert and delete for ever: neither rows nor tombstones nor pages may pile up, though one old page stays alive.
TEST(Checkpoint, TombstonesAreForgotten) {
  const RecordedOptions media_options{.pages = 32};
  RecordedMedia media(media_options);
  engine::DatabaseOptions options = small_options();
  Rows rows;
  const auto database = open_database(media, options);
  for (std::uint64_t i = 0; i < 500; ++i) put_row(*database, rows, 1'000'000 + i, std::string(800, 'k'));
  for (std::uint64_t round = 0; round < 60; ++round) {
    for (std::uint64_t i = 0; i < 1000; ++i) put_row(*database, rows, round * 1000 + i, "short");
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 999'999, 2); }).is_ok());
    ASSERT_TRUE(database->checkpoint().is_ok());
    for (std::uint64_t i = 0; i < 1000; ++i) erase_row(*database, rows, round * 1000 + i);
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 999'999, 3); }).is_ok());
    ASSERT_TRUE(database->checkpoint().is_ok());
    database->reclaim();
  }
  const auto statistics = database->statistics().checkpoint;
  EXPECT_EQ(statistics.tombstones_written, 60000U);
  EXPECT_LT(statistics.live_bytes, 3ULL << 20U) << "60,000 tombstones of 48 bytes would be 2.9 MB by themselves";
  EXPECT_LE(statistics.pages, 6U);
  EXPECT_EQ(*engine::EngineTestAccess::state(*database).tables.find(1)->index->verify(), 501U);
  const Rows expected = read_all(*database);
  Reopened again(media, media_options, options);
  EXPECT_EQ(read_all(*again.database), expected);
}

/// Writers in threads, checkpoints in the background, a reader that sums up all the time.
TEST(Checkpoint, RunsBesideWritersAndReaders) {
  const RecordedOptions media_options{.pages = 64};
  RecordedMedia media(media_options);
  engine::DatabaseOptions options = small_options(true);
  options.dram_bytes = 8ULL << 20U;
  options.log.log_bytes_max = 12ULL << 20U;
  options.checkpoint.interval_ms = 5;
  constexpr std::uint64_t kAccounts = 8000;
  {
    const auto database = open_database(media, options);
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
      ASSERT_TRUE(database->run([&](Transaction& t) { Bytes row(1000); row[0] = std::byte{100}; return t.put(1, key1(i), row); }).is_ok());
    }
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> sums{0};
    std::thread reader([&] {
      while (!stop) {
        std::uint64_t sum = 0;
        const auto receipt = database->run([&](Transaction& t) {
          sum = 0;
          return t.scan(1, key1(0), key1(~0ULL), [&](const index::Key&, ByteSpan row) {
            sum += static_cast<std::uint64_t>(row[0]);
            return true;
          });
        });
        if (receipt.is_ok()) {
          EXPECT_EQ(sum, kAccounts * 100);
          ++sums;
        }
      }
    });
    std::vector<std::thread> writers;
    for (std::uint64_t id = 0; id < 3; ++id) {
      writers.emplace_back([&, id] {
        SeededRandom random(id);
        for (int i = 0; i < 6000; ++i) {
          const std::uint64_t from = random.below(kAccounts);
          const std::uint64_t to = random.below(kAccounts);
          if (from == to) continue;
          const auto receipt = database->run([&](Transaction& t) -> Status {
            NVMDB_ASSIGN(const ByteSpan a, t.read(1, key1(from)));
            NVMDB_ASSIGN(const ByteSpan b, t.read(1, key1(to)));
            if (a[0] == std::byte{0} || b[0] == std::byte{255}) return Status::ok();
            Bytes left(a.begin(), a.end());
            Bytes right(b.begin(), b.end());
            left[0] = static_cast<std::byte>(static_cast<unsigned>(left[0]) - 1U);
            right[0] = static_cast<std::byte>(static_cast<unsigned>(right[0]) + 1U);
            NVMDB_TRY(t.put(1, key1(from), left));
            return t.put(1, key1(to), right);
          });
          ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    stop = true;
    reader.join();
    const auto statistics = database->statistics();
    EXPECT_GT(statistics.checkpoint.cycles, 3U);
    EXPECT_EQ(statistics.checkpoint.failures, 0U);
  }
  const auto database = open_database(media, options);
  EXPECT_EQ(database->recovery().records_applied, 0U) << "a clean close leaves nothing to redo";
  EXPECT_TRUE(database->recovery().clean_shutdown);
  EXPECT_EQ(read_all(*database).size(), kAccounts);
}

TEST(Checkpoint, DamageIsFoundAndNamed) {
  const RecordedOptions media_options{.pages = 24};
  RecordedMedia media(media_options);
  const auto options = small_options();
  {
    Rows rows;
    const auto database = open_database(media, options);
    for (std::uint64_t i = 0; i < 300; ++i) put_row(*database, rows, i, std::string(500, 'x'));
    ASSERT_TRUE(database->run_durable([](Transaction& t) { return put(t, 9999, 1); }).is_ok());
    ASSERT_TRUE(database->checkpoint().is_ok());
  }
  storage::PageId checkpoint_page;
  std::uint64_t used = 0;
  {
    const auto pages = std::move(storage::PageAllocator::open(media)).value();
    pages->for_each([&](storage::PageId page, storage::PageEntry entry) {
      if (entry.kind == storage::PageKind::Checkpoint) checkpoint_page = page;
    });
    used = media.region(0).load8(checkpoint_page.offset() + 64) & 0xffffffU;
  }
  SeededRandom random(9);
  std::uint64_t found = 0;
  std::uint64_t harmless = 0;
  for (int i = 0; i < 400; ++i) {
    const auto copy = copy_media(media, media_options);
    const std::uint64_t at = random.below(used);
    const std::byte flipped = copy->bytes(1)[checkpoint_page.offset() + at] ^ static_cast<std::byte>(1U << random.below(8));
    copy->poke(1, checkpoint_page.offset() + at, ByteSpan(&flipped, 1));
    const auto database = engine::Database::open(*copy, small_tables(), options);
    if (database.is_ok()) {
      ++harmless;
      EXPECT_EQ(read_all(**database).size(), 301U) << "offset " << at;
      continue;
    }
    ++found;
    EXPECT_EQ(database.status().code(), Code::Corruption);
    EXPECT_NE(database.status().message().find("region 0 offset"), std::string::npos) << database.status().to_string();
  }
  EXPECT_GT(found, 380U);
  // Bytes between the used word and the first slot, and padding, say nothing.
  EXPECT_LT(harmless, 20U);
}

}  // namespace
}  // namespace nvmdb::test
