// What durability costs: commits with the log on beside commits with the log off, in one run; commits and their latency
// from 1 to 32 clients that each wait for their own; log bytes of a commit. Rows of 100 bytes, pool on /dev/shm.

#include <time.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "storage/base/random.h"
#include "tests/bench/bench_support.h"

namespace nvmdb::bench {
namespace {

constexpr std::uint64_t kRows = 100'000;
constexpr std::size_t kRowBytes = 100;
constexpr double kSeconds = 0.5;

engine::DatabaseOptions options_with_log(bool log_off) {
  engine::DatabaseOptions options;
  options.dram_bytes = 256ULL << 20U;
  options.log.off = log_off;
  return options;
}

void fill(engine::Database& database) {
  const Bytes row(kRowBytes, std::byte{7});
  for (std::uint64_t first = 0; first < kRows; first += 100) {
    must(database.run([&](engine::Transaction& t) -> Status {
      for (std::uint64_t key = first; key < first + 100; ++key) {
        NVMDB_TRY(t.put(EnginePool::kTable, index::make_key(key), row));
      }
      return Status::ok();
    }).status());
  }
}

/// Reads and replaces one row; the receipt, or nothing when another transaction was in the way.
std::optional<engine::CommitReceipt> update(engine::Database& database, engine::Session& session, SeededRandom& random) {
  engine::Transaction transaction = session.begin();
  const index::Key key = index::make_key(random.below(kRows));
  const auto old = transaction.read(EnginePool::kTable, key);
  if (!old.is_ok()) return std::nullopt;
  Bytes row(old->begin(), old->end());
  row[8] = static_cast<std::byte>(random.next());
  if (!transaction.put(EnginePool::kTable, key, row).is_ok()) return std::nullopt;
  const auto receipt = transaction.commit();
  if (receipt.status().code() == Code::OutOfSpace) must(database.make_room());
  if (!receipt.is_ok()) return std::nullopt;
  return *receipt;
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Rate {
  double a_second = 0;
  double a_cpu_second = 0;  ///< of the committing thread
};

/// One thread commits and does not wait: what the log takes from it.
Rate commit_rate(engine::Database& database) {
  auto session = must(database.session());
  SeededRandom random(1);
  std::uint64_t done = 0;
  const double cpu = thread_cpu_seconds();
  const double took = seconds_of([&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kSeconds);
    while (std::chrono::steady_clock::now() < until) {
      for (int i = 0; i < 100; ++i) done += update(database, session, random).has_value() ? 1U : 0U;
    }
  });
  return {static_cast<double>(done) / took, static_cast<double>(done) / (thread_cpu_seconds() - cpu)};
}

struct Latency {
  double a_second = 0;
  double p50_us = 0;
  double p99_us = 0;
};

/// Each client waits until its commit is durable before it begins the next.
Latency commit_latency(engine::Database& database, unsigned clients) {
  std::vector<std::vector<double>> waits(clients);
  std::vector<std::thread> threads;
  const double took = seconds_of([&] {
    for (unsigned id = 0; id < clients; ++id) {
      threads.emplace_back([&, id] {
        auto session = must(database.session());
        SeededRandom random(id);
        const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(kSeconds);
        for (auto begun = std::chrono::steady_clock::now(); begun < until;) {
          const auto receipt = update(database, session, random);
          if (receipt.has_value()) must(database.wait_durable(*receipt));
          const auto now = std::chrono::steady_clock::now();
          if (receipt.has_value()) waits[id].push_back(std::chrono::duration<double, std::micro>(now - begun).count());
          begun = now;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::vector<double> all;
  for (const auto& one : waits) all.insert(all.end(), one.begin(), one.end());
  return {static_cast<double>(all.size()) / took, median(all), percentile(all, 0.99)};
}

void run() {
  print_machine("log: rows of 100 bytes, pool on /dev/shm");
  EnginePool pool_on(1024ULL << 20U, "on");
  EnginePool pool_off(1024ULL << 20U, "off");
  std::vector<double> on_wall, off_wall, on_cpu, off_cpu;
  std::vector<std::vector<Latency>> latencies(4);
  constexpr unsigned kClients[] = {1, 2, 8, 32};
  wal::LogStatistics log;
  {
    const auto on = pool_on.open(options_with_log(false));
    const auto off = pool_off.open(options_with_log(true));
    fill(*on);
    fill(*off);
    for (int round = 0; round < kRounds; ++round) {
      const Rate with = commit_rate(*on);
      const Rate without = commit_rate(*off);
      on_wall.push_back(with.a_second);
      on_cpu.push_back(with.a_cpu_second);
      off_wall.push_back(without.a_second);
      off_cpu.push_back(without.a_cpu_second);
      for (std::size_t i = 0; i < latencies.size(); ++i) latencies[i].push_back(commit_latency(*on, kClients[i]));
    }
    log = on->statistics().log;
  }
  print_row("commits of one row, one thread, log on", text("%.0f a second", median(on_wall)),
            text("log off %.0f: ", median(off_wall)) + text("%.0f %%, ", median(on_wall) / median(off_wall) * 100) +
                text("per CPU second %.0f %%", median(on_cpu) / median(off_cpu) * 100),
            "none; shown", true);
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    std::vector<double> rates, p50, p99;
    for (const Latency& one : latencies[i]) {
      rates.push_back(one.a_second);
      p50.push_back(one.p50_us);
      p99.push_back(one.p99_us);
    }
    print_row(std::to_string(kClients[i]) + (kClients[i] == 1 ? " client" : " clients") + " that wait for durability",
              text("%.0f a second", median(rates)), text("p50 %.1f us, ", median(p50)) + text("p99 %.0f us", median(p99)),
              "none; shown", true);
  }
  print_row("log bytes of a commit of one row", text("%.0f payload", static_cast<double>(log.payload_bytes) / static_cast<double>(log.records)),
            text("%.0f written to NVM", static_cast<double>(log.media_bytes) / static_cast<double>(log.records)), "none; shown", true);
}

}  // namespace
}  // namespace nvmdb::bench

int main() {
  nvmdb::bench::run();
  return 0;
}
