#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "storage/nvm/pool.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::test {
namespace {

constexpr std::uint64_t kRows = 30'000;
constexpr std::size_t kRowBytes = 1000;

Bytes long_row(std::uint64_t value) {
  Bytes row(kRowBytes, std::byte{static_cast<unsigned char>(value)});
  std::memcpy(row.data(), &value, sizeof(value));
  return row;
}

/// A pool with three times the rows that DRAM holds: the rest lies in NVM.
class MediaFaultTest : public testing::Test {
 protected:
  void open() {
    const storage::PoolOptions create{.create = true, .nvm_bytes = 128ULL << 20U, .regions = 1};
    auto pool = storage::Pool::open(directory_.path() / "pool", create);
    ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
    pool_ = std::move(pool).value();
    engine::DatabaseOptions options = small_options();
    options.dram_bytes = 16ULL << 20U;
    database_ = open_database(*pool_, options);
  }
  void fill() {
    for (std::uint64_t key = 0; key < kRows;) {
      const auto receipt = database_->run([&](engine::Transaction& t) -> Status {
        for (std::uint64_t i = 0; i < 100; ++i) NVMDB_TRY(t.put(1, key1(key + i), long_row(key + i)));
        return Status::ok();
      });
      ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
      key += 100;
    }
  }
  /// From now on each read of the region raises SIGBUS.
  void lose_region() const { ASSERT_EQ(::truncate((directory_.path() / "pool" / "region.0").c_str(), 0), 0); }

  ScratchDirectory directory_;
  std::unique_ptr<storage::Pool> pool_;
  std::unique_ptr<engine::Database> database_;
};

/// Reads all rows by key, then by a scan. Exit code 0: what could not be read was a Corruption, the rest was
/// right.
int read_all(engine::Database& database) {
  std::uint64_t damaged = 0;
  for (std::uint64_t key = 0; key < kRows; ++key) {
    Status outcome;
    bool right = false;
    (void)database.run([&](engine::Transaction& t) -> Status {
      const auto row = t.read(1, key1(key));
      outcome = row.status();
      if (row.is_ok()) right = value_of(row->first(8)) == key;
      return Status::ok();
    });
    if (outcome.is_ok() && !right) return 1;
    if (outcome.is_ok()) continue;
    if (outcome.code() != Code::Corruption || outcome.message().find("region.0 offset") == std::string::npos)
      return 2;
    ++damaged;
  }
  // The fifth of the rows that fits is in DRAM.
  if (damaged < kRows / 2 || damaged == kRows) return 3;
  const auto scanned = database.run([&](engine::Transaction& t) {
    return t.scan(1, key1(0), key1(~0ULL), [](const index::Key&, ByteSpan) { return true; });
  });
  return scanned.status().code() == Code::Corruption ? 0 : 4;
}

// All in a child process: what a pool that lost its bytes still holds cannot even be closed.

TEST_F(MediaFaultTest, RowsThatCannotBeReadFailTheirTransactionsOnly) {
  EXPECT_EXIT(
      {
        open();
        fill();
        lose_region();
        ::_exit(read_all(*database_));
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(MediaFaultTest, ARecoveryFromMediaThatCannotBeReadIsRefused) {
  EXPECT_EXIT(
      {
        open();
        fill();
        database_.reset();
        lose_region();
        const auto opened = engine::Database::open(*pool_, small_tables(), small_options());
        ::_exit(opened.status().code() == Code::Corruption ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nvmdb::test
