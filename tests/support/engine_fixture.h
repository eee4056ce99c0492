#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/database.h"
#include "engine/database_state.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::engine {

/// The seam of tests into the engine.
struct EngineTestAccess {
  static Database::State& state(Database& database) { return *database.state_; }
  static PlantedFaults& faults(Database& database) { return database.state_->planted_faults; }
};

}  // namespace nvmdb::engine

namespace nvmdb::test {

inline std::vector<engine::TableSpec> small_tables() {
  return {{1, "one", 1}, {2, "two", 2}, {4, "four", 4}, {6, "six", 6}};
}

/// No threads of its own: what happens is what the test does. `threads` for tests that commit from several threads.
inline engine::DatabaseOptions small_options(bool threads = false) {
  engine::DatabaseOptions options;
  options.dram_bytes = 64ULL << 20U;
  options.log.ring_bytes = 256ULL << 10U;
  options.log.log_bytes_max = 24ULL << 20U;
  options.log.writer_threads = threads;
  return options;
}

inline std::unique_ptr<engine::Database> open_database(storage::PoolMedia& media, const engine::DatabaseOptions& options) {
  auto database = engine::Database::open(media, small_tables(), options);
  NVMDB_CHECK(database.is_ok(), database.status().to_string());
  return std::move(database).value();
}

/// The media as they are now, in other memory: what a crash of the process leaves.
inline std::unique_ptr<RecordedMedia> copy_media(const RecordedMedia& media, const RecordedOptions& options) {
  auto copy = std::make_unique<RecordedMedia>(options);
  for (std::uint32_t area = 0; area <= options.regions; ++area) {
    const ByteSpan bytes = media.bytes(area);
    AreaMemory content(bytes.size());
    std::memcpy(content.data(), bytes.data(), bytes.size());
    copy->load(area, content);
  }
  return copy;
}

inline Bytes row_of(std::uint64_t value) {
  Bytes row(sizeof(value));
  std::memcpy(row.data(), &value, sizeof(value));
  return row;
}
inline std::uint64_t value_of(ByteSpan row) {
  std::uint64_t value = 0;
  NVMDB_CHECK(row.size() == sizeof(value), "a row has a wrong size");
  std::memcpy(&value, row.data(), sizeof(value));
  return value;
}

inline index::Key key1(std::uint64_t number) { return index::make_key(number); }

/// Value of a row in table 1 as a transaction sees it; empty when it is not there.
inline std::optional<std::uint64_t> get(engine::Transaction& transaction, std::uint64_t key) {
  const auto row = transaction.read(1, key1(key));
  if (!row.is_ok()) return std::nullopt;
  return value_of(*row);
}
inline Status put(engine::Transaction& transaction, std::uint64_t key, std::uint64_t value) {
  return transaction.put(1, key1(key), row_of(value));
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
/// Rows of table 1 with low <= key <= high; empty optional when the scan failed.
inline std::optional<Pairs> range(engine::Transaction& transaction, std::uint64_t low, std::uint64_t high,
                                  bool reverse = false) {
  Pairs rows;
  const Status status = transaction.scan(
      1, key1(low), key1(high),
      [&](const index::Key& key, ByteSpan row) {
        rows.emplace_back(key.words[0], value_of(row));
        return true;
      },
      reverse);
  if (!status.is_ok()) return std::nullopt;
  return rows;
}

}  // namespace nvmdb::test
