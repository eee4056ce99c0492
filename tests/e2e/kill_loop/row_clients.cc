#include "tests/e2e/kill_loop/row_clients.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "storage/base/fail_point.h"
#include "storage/base/random.h"
#include "storage/nvm/pool.h"
#include "tests/support/engine_fixture.h"

namespace nvmdb::test {

namespace {

constexpr engine::TableId kTable = 2;  // keys of two words: client, key
/// The row in which a client stores the stamp of each of its transactions.
constexpr std::uint64_t kStampKey = 1'000'000;
constexpr std::size_t kRowWordsMin = 8;
constexpr std::size_t kRowWordsMax = 1500;
constexpr std::size_t kRowsPerTransactionMax = 4;
constexpr int kRefusalsMax = 100;
/// The rows take 4 MiB, the log up to 12 MiB; checkpoints and garbage have the rest.
constexpr std::uint64_t kPoolBytes = 64ULL << 20U;

engine::DatabaseOptions database_options() {
  engine::DatabaseOptions options;
  options.dram_bytes = 8ULL << 20U;
  options.log.ring_bytes = 128ULL << 10U;
  options.log.log_bytes_max = 12ULL << 20U;
  options.checkpoint.interval_ms = 5;
  options.checkpoint.spare_pages = 1;
  options.checkpoint.space_percent_max = 110;
  return options;
}

index::Key key_of(std::uint32_t client, std::uint64_t key) {
  return index::make_key(client, key);
}

/// The stamp tells the length too.
std::size_t words_of(std::uint64_t stamp) {
  return kRowWordsMin + stamp * 0x9E3779B97F4A7C15ULL % (kRowWordsMax - kRowWordsMin);
}

Bytes row_with(std::uint64_t stamp) {
  const std::vector<std::uint64_t> words(words_of(stamp), stamp);
  Bytes row(words.size() * 8);
  std::memcpy(row.data(), words.data(), row.size());
  return row;
}

RowState state_of(ByteSpan row) {
  std::vector<std::uint64_t> words(row.size() / 8);
  NVMDB_CHECK(words.size() >= kRowWordsMin, "a row that no client wrote");
  std::memcpy(words.data(), row.data(), words.size() * 8);
  const bool whole =
      std::all_of(words.begin() + 1, words.end(), [&](std::uint64_t word) { return word == words[1]; });
  NVMDB_CHECK(whole && words.size() == words_of(words[1]), "a row is a mixture");
  return {words[0], words[1]};
}

void find_rows(engine::Database& database, std::uint32_t number, RowJournal::Client& client) {
  const Status status = database.run_durable([&](engine::Transaction& t) -> Status {
    std::fill(std::begin(client.found), std::end(client.found), RowState{});
    client.found_stamp = 0;
    return t.scan(kTable, key_of(number, 0), key_of(number, ~0ULL), [&](const index::Key& key, ByteSpan row) {
      if (key.words[1] == kStampKey) {
        client.found_stamp = value_of(row);
      } else {
        NVMDB_CHECK(key.words[1] < kRowKeys, "a row that no client wrote");
        client.found[key.words[1]] = state_of(row);
      }
      return true;
    });
  });
  NVMDB_CHECK(status.is_ok(), status.to_string());
}

class RowClient {
 public:
  RowClient(engine::Database& database, RowJournal& journal, std::uint32_t number, const RowLife& life)
      : database_(database),
        journal_(journal),
        client_(journal.clients[number]),
        number_(number),
        commits_(life.commits),
        random_(life.seed * kRowClients + number) {
    for (std::uint32_t key = 0; key < kRowKeys; ++key) present_[key] = client_.known[key] != RowState{};
  }

  void run() {
    while (journal_.commits.fetch_add(1) < commits_) {
      change_rows();
      if (random_.below(8) == 0) acknowledge();
    }
    acknowledge();
  }

 private:
  std::vector<RowChange> plan() {
    std::vector<RowChange> changes;
    const std::uint64_t stamp = client_.next_stamp++;
    for (std::uint64_t count = 1 + random_.below(kRowsPerTransactionMax); count-- > 0;) {
      const auto key = static_cast<std::uint32_t>(random_.below(kRowKeys));
      const bool known =
          std::any_of(changes.begin(), changes.end(), [&](const RowChange& c) { return c.key == key; });
      if (known) continue;
      const std::uint64_t kind = present_[key] ? random_.below(20) : 0;
      const auto action = kind < 11   ? RowChange::Action::Put
                          : kind < 17 ? RowChange::Action::Patch
                                      : RowChange::Action::Erase;
      changes.push_back({stamp, key, action});
      present_[key] = action != RowChange::Action::Erase;
    }
    return changes;
  }
  void change_rows() {
    const std::vector<RowChange> changes = plan();
    std::uint64_t at = client_.change_count.load();
    NVMDB_CHECK(at + changes.size() <= RowJournal::kChangesMax, "the journal is full: ask for fewer commits");
    for (const RowChange& change : changes) client_.changes[at++] = change;
    client_.change_count = at;
    const auto commit = [&] {
      return database_.run([&](engine::Transaction& t) -> Status {
        for (const RowChange& change : changes) NVMDB_TRY(apply(t, change));
        return t.put(kTable, key_of(number_, kStampKey), row_of(changes.front().stamp));
      });
    };
    auto receipt = commit();
    // A pool that many deaths left full of garbage may refuse for a while; it must heal by itself.
    for (int attempt = 0; receipt.status().code() == Code::OutOfSpace && attempt < kRefusalsMax; ++attempt) {
      usleep(1000);
      receipt = commit();
    }
    NVMDB_CHECK(receipt.is_ok(), receipt.status().to_string());
    receipt_ = *receipt;
    stamp_ = changes.front().stamp;
  }
  Status apply(engine::Transaction& t, const RowChange& change) const {
    const index::Key key = key_of(number_, change.key);
    switch (change.action) {
      case RowChange::Action::Put:
        return t.put(kTable, key, row_with(change.stamp));
      case RowChange::Action::Patch: {
        std::array<engine::RecordRef, 1> found;
        NVMDB_TRY(t.find(kTable, std::span(&key, 1), found));
        return t.patch(found[0], 0, row_of(change.stamp));
      }
      case RowChange::Action::Erase:
        break;
    }
    return t.erase(kTable, key);
  }
  void acknowledge() {
    if (stamp_ == 0) return;
    const Status durable = database_.wait_durable(receipt_);
    NVMDB_CHECK(durable.is_ok(), durable.to_string());
    client_.acknowledged = stamp_;
  }

  engine::Database& database_;
  RowJournal& journal_;
  RowJournal::Client& client_;
  const std::uint32_t number_;
  const std::uint64_t commits_;
  SeededRandom random_;
  std::array<bool, kRowKeys> present_{};
  engine::CommitReceipt receipt_{};
  std::uint64_t stamp_ = 0;  ///< of receipt_
};

}  // namespace

void live(const std::filesystem::path& pool, RowJournal& journal, const RowLife& life) {
  const Status armed = FailPoint::arm(life.armed);
  NVMDB_CHECK(armed.is_ok(), armed.to_string());
  {
    const auto opened = storage::Pool::open(pool, {.create = true, .nvm_bytes = kPoolBytes});
    NVMDB_CHECK(opened.is_ok(), opened.status().to_string());
    const auto database = open_database(**opened, database_options());
    for (std::uint32_t i = 0; i < kRowClients; ++i) find_rows(*database, i, journal.clients[i]);
    const engine::Table* table = engine::EngineTestAccess::state(*database).tables.find(kTable);
    const auto sound = table->index->verify();
    NVMDB_CHECK(sound.is_ok(), sound.status().to_string());
    journal.found_all = true;
    while (!journal.go_on.load()) usleep(50);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kRowClients; ++i) {
      threads.emplace_back([&, i] { RowClient(*database, journal, i, life).run(); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  _exit(0);
}

}  // namespace nvmdb::test
