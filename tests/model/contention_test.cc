// Goal:   transactions that all want the same few rows lose no update, and each of them gets through.
// Method: several threads add to one counter through Database::run, which retries conflicts.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/engine_fixture.h"

namespace nvmdb::test {
namespace {

using engine::Transaction;

constexpr std::uint64_t kThreads = 4;

TEST(Contention, CountersLoseNothing) {
  RecordedMedia media({.pages = 32});
  engine::DatabaseOptions options = small_options(true);
  options.log.log_bytes_max = 60ULL << 20U;
  const auto database = open_database(media, options);
  constexpr std::uint64_t kAdds = 5000;
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kAdds; ++i) {
        const auto receipt =
            database->run([](Transaction& t) { return put(t, 1, get(t, 1).value_or(0) + 1); });
        ASSERT_TRUE(receipt.is_ok()) << receipt.status().to_string();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(database
                  ->run([](Transaction& t) {
                    EXPECT_EQ(get(t, 1), kThreads * kAdds);
                    return Status::ok();
                  })
                  .is_ok());
}

}  // namespace
}  // namespace nvmdb::test
