// Engine-level questions beside what the machine's memory can do: slab of a tenth of a 0.25 degree field against
// memcpy of as many bytes, series of 240 steps. In process, warm, one thread, pool on /dev/shm.

#include <cstdio>
#include <cstring>

#include "engine/scrubber.h"
#include "query/query_engine.h"
#include "storage/base/random.h"
#include "tests/bench/bench_support.h"

namespace nvmdb::bench {
namespace {

constexpr int kSteps = 240;
constexpr int kSeriesPerRound = 4000;

query::SeriesRequest series_request(SeededRandom& random) {
  query::SeriesRequest request;
  request.selection.parameter = "t2";
  request.points = {{random.unit() * 178 - 89, random.unit() * 358 - 179}};
  return request;
}

/// A box of 0.1 of the points: 456 x 228 of 1440 x 721.
query::SlabRequest slab_request(int step) {
  query::SlabRequest request;
  request.selection.parameter = "t2";
  request.selection.step = met::StepSelector{false, false, step * 3600LL, step * 3600LL};
  request.box = query::Box{10.0, 5.0, 10.0 + 455 * 0.25, 5.0 + 227 * 0.25};
  return request;
}

/// Many stations, many parameters, all steps: 10,000 x 10 x 73.
void run_stations() {
  constexpr int kParameters = 10;
  constexpr int kStationSteps = 73;
  BenchPool pool("/dev/shm", 1100ULL << 20U);
  std::vector<query::SeriesRequest> requests;
  for (int p = 0; p < kParameters; ++p) {
    query::SeriesRequest request;
    request.selection.parameter = "p" + std::to_string(p);
    store_global_run(pool.store(), request.selection.parameter, kStationSteps, 2);
    requests.push_back(std::move(request));
  }
  SeededRandom random(2);
  for (int i = 0; i < 10'000; ++i) {
    const query::Point place{random.unit() * 178 - 89, random.unit() * 358 - 179};
    for (query::SeriesRequest& request : requests) request.points.push_back(place);
  }
  query::QueryEngine engine(pool.store(), {});
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    seconds.push_back(seconds_of([&] {
      for (const query::SeriesRequest& request : requests) (void)must(engine.series(request));
    }));
  }
  print_row("10,000 stations x 10 parameters x 73 steps", text("%.0f ms, ", median(seconds) * 1e3) +
                text("%.0f million values/s", 7.3 / median(seconds)), "one thread", "0.5 s", median(seconds) < 0.5);
}

/// The check of what is stored, by itself, and series beside it at the rate a server has.
void run_scrub(BenchPool& pool, query::QueryEngine& engine, double memory_rate, double series_alone_us) {
  engine::Scrubber unbounded(pool.store(), 0);
  const double seconds = seconds_of([&] { NVMDB_CHECK(unbounded.pass().is_ok(), "a pass failed"); });
  const double rate = static_cast<double>(unbounded.progress().bytes) / seconds;
  print_row("scrub, one thread, no limit", text("%.2f GB/s", rate / 1e9),
            text("memcpy %.2f GB/s: ", memory_rate / 1e9) + text("%.0f %%", rate / memory_rate * 100), "1 GB/s", rate >= 1e9);
  engine::Scrubber background(pool.store(), 64ULL << 20U);
  background.start();
  SeededRandom random(3);
  std::vector<double> p50;
  std::vector<double> p99;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> each;
    for (int i = 0; i < kSeriesPerRound; ++i) {
      const query::SeriesRequest request = series_request(random);
      each.push_back(seconds_of([&] { (void)must(engine.series(request)); }) * 1e6);
    }
    p50.push_back(median(each));
    p99.push_back(percentile(each, 0.99));
  }
  print_row("series of 240 steps while a scrubber reads 64 MiB/s", text("p50 %.1f us, ", median(p50)) + text("p99 %.1f us", median(p99)),
            text("alone p50 %.1f us", series_alone_us), "none; shown", true);
}

void run() {
  print_machine("query: 240 x 1440 x 721 float32, pool on /dev/shm");
  BenchPool pool("/dev/shm", 1400ULL << 20U);
  store_global_run(pool.store(), "t2", kSteps);
  query::QueryEngine engine(pool.store(), {});

  std::vector<double> slab_rates;
  std::vector<double> copy_rates;
  std::vector<double> slab_us;
  std::vector<double> series_p50;
  std::vector<double> series_p99;
  SeededRandom random(1);
  const std::size_t slab_bytes = must(engine.slab(slab_request(0))).values.size() * sizeof(float);
  std::vector<std::byte> target(slab_bytes);
  const engine::ReadView view = must(pool.store().view());
  const engine::Run bench_run = must(pool.store().catalogue().runs()).front();
  const auto inventory = must(pool.store().catalogue().inventory(bench_run.id)).front();
  const auto column = must(pool.store().column(view, {bench_run.id, 0, inventory.parameter, inventory.level_type, 0, 0}));
  for (int round = 0; round < kRounds; ++round) {
    const double slab_seconds = seconds_of([&] {
      for (int step = 0; step < kSteps; ++step) (void)must(engine.slab(slab_request(step)));
    });
    slab_rates.push_back(static_cast<double>(slab_bytes) * kSteps / slab_seconds);
    slab_us.push_back(slab_seconds / kSteps * 1e6);
    const double copy_seconds = seconds_of([&] {
      for (const engine::FieldRef& field : column->fields) {
        std::memcpy(target.data(), field.extent.data() + (1U << 20U), slab_bytes);
        asm volatile("" : : "r"(target.data()) : "memory");
      }
    });
    copy_rates.push_back(static_cast<double>(slab_bytes) * kSteps / copy_seconds);
    std::vector<double> each;
    for (int i = 0; i < kSeriesPerRound; ++i) {
      const query::SeriesRequest request = series_request(random);
      each.push_back(seconds_of([&] { (void)must(engine.series(request)); }) * 1e6);
    }
    series_p50.push_back(median(each));
    series_p99.push_back(percentile(each, 0.99));
  }
  const double plain = memcpy_bandwidth();
  const double share = median(slab_rates) / plain;
  print_row("slab 456 x 228 of 1440 x 721", text("%.0f us, ", median(slab_us)) + text("%.2f GB/s", median(slab_rates) / 1e9),
            text("memcpy %.2f GB/s: ", plain / 1e9) + text("%.0f %%", share * 100), "at least 50 % of memcpy",
            share >= 0.5);
  const double cached = median(slab_rates) / median(copy_rates);
  print_row("same, beside a copy into a buffer in cache", text("%.2f GB/s", median(slab_rates) / 1e9),
            text("one block to one warm buffer %.2f GB/s: ", median(copy_rates) / 1e9) + text("%.0f %%", cached * 100),
            "none; shown", true);
  print_row("series of 240 steps, one point", text("p50 %.1f us, ", median(series_p50)) + text("p99 %.1f us", median(series_p99)),
            text("%.0f ns a step", median(series_p50) / kSteps * 1e3), "under 15 us warm", median(series_p50) < 15);
  run_scrub(pool, engine, plain, median(series_p50));
}

}  // namespace
}  // namespace nvmdb::bench

int main() {
  nvmdb::bench::run();
  nvmdb::bench::run_stations();
  return 0;
}
