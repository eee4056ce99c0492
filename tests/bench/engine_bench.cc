// The engine by itself: recovery beside the memory's speed, updates of rows for a long time and the space they take, a
// working set larger than the DRAM budget, a long scan beside writers. Pool on /dev/shm.
//
// Usage: engine_bench [seconds of updates, default 60]

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "engine/database.h"
#include "storage/base/random.h"
#include "tests/bench/bench_support.h"

namespace nvmdb::bench {
namespace {

constexpr engine::TableId kTable = EnginePool::kTable;
constexpr std::size_t kRowBytes = 1000;
constexpr std::size_t kSmallRowBytes = 200;

engine::DatabaseOptions options_with(std::uint64_t dram_bytes) {
  engine::DatabaseOptions options;
  options.dram_bytes = dram_bytes;
  options.log.ring_bytes = 4ULL << 20U;
  return options;
}

void fill(engine::Database& database, std::uint64_t rows, std::size_t row_bytes = kRowBytes) {
  const Bytes row(row_bytes, std::byte{7});
  for (std::uint64_t first = 0; first < rows; first += 100) {
    const std::uint64_t end = std::min(first + 100, rows);
    must(database.run([&](engine::Transaction& t) -> Status {
      for (std::uint64_t key = first; key < end; ++key) NVMDB_TRY(t.put(kTable, index::make_key(key), row));
      return Status::ok();
    }).status());
  }
}

/// One random row, read and replaced. False when the transaction met another one.
bool update(engine::Database& database, engine::Session& session, SeededRandom& random, std::uint64_t rows) {
  engine::Transaction transaction = session.begin();
  const index::Key key = index::make_key(random.below(rows));
  const auto old = transaction.read(kTable, key);
  if (!old.is_ok()) return false;
  Bytes row(old->begin(), old->end());
  row[8] = static_cast<std::byte>(random.next());
  Status status = transaction.put(kTable, key, row);
  if (status.is_ok()) {
    status = transaction.commit().status();
  } else {
    transaction.abort();
  }
  if (status.code() == Code::OutOfSpace) must(database.make_room());
  return status.is_ok();
}

/// Updates a second that `threads` threads make together in `seconds`.
double update_rate(engine::Database& database, std::uint64_t rows, unsigned threads, double seconds) {
  std::atomic<std::uint64_t> updates{0};
  std::vector<std::thread> workers;
  const auto work = [&](unsigned id) {
    auto session = must(database.session());
    SeededRandom random(id);
    std::uint64_t done = 0;
    const double took = seconds_of([&] {
      const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
      while (std::chrono::steady_clock::now() < until) {
        for (int i = 0; i < 100; ++i) done += update(database, session, random, rows) ? 1U : 0U;
      }
    });
    updates += static_cast<std::uint64_t>(static_cast<double>(done) / took);
  };
  for (unsigned id = 0; id < threads; ++id) workers.emplace_back(work, id);
  for (std::thread& worker : workers) worker.join();
  return static_cast<double>(updates);
}

void bench_recovery() {
  constexpr std::uint64_t kRows = 1'000'000;
  EnginePool pool(2600ULL << 20U);
  fill(*pool.open(options_with(512ULL << 20U)), kRows);
  std::vector<double> rates;
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    touch_free_memory();
    const auto database = pool.open(options_with(512ULL << 20U));
    const engine::RecoveryReport& report = database->recovery();
    NVMDB_CHECK(report.checkpoint_tuples >= kRows, "rows are missing");
    seconds.push_back(static_cast<double>(report.nanoseconds) / 1e9);
    rates.push_back(static_cast<double>(report.checkpoint_bytes) / seconds.back());
  }
  const double memory = memcpy_bandwidth();
  const double share = median(rates) / memory;
  print_row("recovery of 1,000,000 rows of 1000 bytes", text("%.2f s, ", median(seconds)) + text("%.2f GB/s", median(rates) / 1e9),
            text("memcpy %.2f GB/s: ", memory / 1e9) + text("%.0f %%", share * 100), "at least half of memory bandwidth",
            share >= 0.5);
}

void bench_space(double seconds) {
  constexpr std::uint64_t kRows = 200'000;
  EnginePool pool(1400ULL << 20U);
  const auto database = pool.open(options_with(512ULL << 20U));
  fill(*database, kRows);
  must(database->checkpoint());
  constexpr int kParts = 10;
  std::atomic<bool> stop{false};
  std::vector<double> ratios;
  std::thread watcher([&] {
    while (!stop) {
      const auto statistics = database->statistics().checkpoint;
      ratios.push_back(static_cast<double>(statistics.pages + statistics.overflow_pages) *
                       static_cast<double>(storage::kPageBytes) / static_cast<double>(statistics.live_bytes));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  std::vector<double> rates;
  for (int part = 0; part < kParts; ++part) rates.push_back(update_rate(*database, kRows, 1, seconds / kParts));
  stop = true;
  watcher.join();
  const double worst = *std::max_element(ratios.begin(), ratios.end());
  const auto log = database->statistics().log;
  print_row(text("updates for %.0f s, one thread", seconds), text("%.0f updates/s, space at most ", median(rates)) + text("%.2f of live bytes (looked at every 10 ms; ", worst) + text("median %.2f)", median(ratios)),
            text("last tenth %.0f %% of the second", rates.back() / rates[1] * 100) +
                text(", log at most %.0f MiB", static_cast<double>(log.log_bytes_max >> 20U)),
            "at most 1.5", worst <= 1.5);
}

void bench_larger_than_dram() {
  constexpr std::uint64_t kDram = 192ULL << 20U;
  std::vector<double> rates;
  for (const unsigned times : {1U, 2U, 5U}) {
    EnginePool pool(3000ULL << 20U);
    const auto database = pool.open(options_with(kDram));
    const std::uint64_t rows = kDram / kRowBytes * times * 62 / 100;
    fill(*database, rows);
    must(database->checkpoint());
    rates.push_back(update_rate(*database, rows, 1, 4));
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    constexpr const char* kNames[] = {"working set 1x the DRAM for tuples", "2x", "5x"};
    print_row(kNames[i], text("%.0f updates/s", rates[i]), text("%.2f of 1x", rates[i] / rates[0]), "none; shown", true);
  }
}

/// Threads that the caller starts from now on, and the caller, run on this processor.
void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  NVMDB_CHECK(sched_setaffinity(0, sizeof(set), &set) == 0, "cannot choose a processor");
}

/// The writer has a processor of its own; the engine's threads and the scan share the other one.
void bench_scan() {
  constexpr std::uint64_t kRows = 500'000;
  EnginePool pool(1400ULL << 20U);
  const auto database = pool.open(options_with(512ULL << 20U));
  fill(*database, kRows, kSmallRowBytes);
  must(database->checkpoint());
  const auto writer = [&] {
    double rate = 0;
    std::thread thread([&] {
      run_on(0);
      rate = update_rate(*database, kRows, 1, 1);
    });
    thread.join();
    return rate;
  };
  std::vector<double> alone;
  std::vector<double> beside;
  std::uint64_t scans = 0;
  for (int round = 0; round < kRounds; ++round) {
    alone.push_back(writer());
    std::atomic<bool> stop{false};
    std::thread scanner([&] {
      auto session = must(database->session());
      while (!stop) {
        engine::Transaction transaction = session.begin();
        std::uint64_t seen = 0;
        // It may meet a row that is being written and be told to try again: nobody waits for it.
        (void)transaction.scan(kTable, index::make_key(0), index::make_key(~0ULL), [&](const index::Key&, ByteSpan) {
          ++seen;
          return !stop.load(std::memory_order_relaxed);
        });
        transaction.abort();
        scans += seen >= kRows ? 1U : 0U;
      }
    });
    beside.push_back(writer());
    stop = true;
    scanner.join();
  }
  const double share = median(beside) / median(alone);
  print_row("writer of 200-byte rows beside a scan of all", text("%.0f updates/s", median(beside)),
            text("alone %.0f: ", median(alone)) + text("%.0f %%", share * 100) + text(", %.0f whole scans", static_cast<double>(scans)),
            "at least 90 % of alone", share >= 0.9);
}

}  // namespace
}  // namespace nvmdb::bench

int main(int argc, char** argv) {
  using namespace nvmdb::bench;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  print_machine("engine: rows of 1000 bytes, pool on /dev/shm");
  bench_recovery();
  // Its threads are bound to processors.
  std::thread([] {
    run_on(1);
    bench_scan();
  }).join();
  bench_larger_than_dram();
  bench_space(seconds);
  return 0;
}
