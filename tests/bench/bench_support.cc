#include "tests/bench/bench_support.h"

#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

namespace nvmdb::bench {

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(p * static_cast<double>(values.size() - 1) + 0.5);
  return values[at];
}

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

std::string text(const char* format, double value) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), format, value);
  return out.data();
}

void print_machine(const std::string& configuration) {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      processor = line.substr(line.find(':') + 2);
      break;
    }
  }
  utsname kernel{};
  uname(&kernel);
  std::printf("machine: %s, %u cores, Linux %s, gcc %s\n", processor.c_str(), std::thread::hardware_concurrency(),
              kernel.release, __VERSION__);
  std::printf("configuration: %s (hash %016zx), medians of %d rounds, interleaved\n", configuration.c_str(),
              std::hash<std::string>{}(configuration), kRounds);
}

void print_row(const std::string& what, const std::string& measured, const std::string& beside, const std::string& goal,
               bool reached) {
  std::printf("%-46s | %-22s | %-44s | %-28s | %s\n", what.c_str(), measured.c_str(), beside.c_str(), goal.c_str(),
              reached ? "reached" : "MISSED");
  std::fflush(stdout);
}

double memcpy_bandwidth() {
  constexpr std::size_t kBytes = 256U << 20U;
  static std::vector<std::byte> from(kBytes, std::byte{1});
  static std::vector<std::byte> to(kBytes, std::byte{2});
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    rates.push_back(static_cast<double>(kBytes) / seconds_of([&] { std::memcpy(to.data(), from.data(), kBytes); }));
  }
  return median(rates);
}

void touch_free_memory() {
  constexpr std::size_t kBytes = 512U << 20U;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NVMDB_CHECK(memory != MAP_FAILED, "no memory to touch");
  static_cast<void>(madvise(memory, kBytes, MADV_HUGEPAGE));
  std::memset(memory, 1, kBytes);
  munmap(memory, kBytes);
}

void must(const Status& status) { NVMDB_CHECK(status.is_ok(), status.to_string()); }

BenchPool::BenchPool(const std::filesystem::path& parent, std::uint64_t nvm_bytes)
    : directory_(parent / ("nvmdb-bench-" + std::to_string(getpid()))) {
  std::filesystem::remove_all(directory_);
  storage::PoolOptions options;
  options.create = true;
  options.nvm_bytes = nvm_bytes;
  pool_ = must(storage::Pool::open(directory_, options));
  database_ = must(engine::Database::open(*pool_, engine::Catalogue::tables(), {}));
  catalogue_ = std::make_unique<engine::Catalogue>(*database_);
  store_ = std::make_unique<engine::FieldStore>(*database_, *catalogue_);
  must(store_->recover());
}

BenchPool::~BenchPool() {
  store_.reset();
  catalogue_.reset();
  database_.reset();
  pool_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void store_global_run(engine::FieldStore& store, const std::string& name, int steps, std::uint32_t cells) {
  const double degrees = 1.0 / cells;
  met::Grid grid;
  grid.type = met::GridType::RegularLatLon;
  grid.columns = 360 * cells;
  grid.rows = 180 * cells + 1;
  grid.points = std::uint64_t{grid.columns} * grid.rows;
  grid.first_latitude = 90;
  grid.last_latitude = -90;
  grid.last_longitude = 360.0 - degrees;
  grid.column_step = grid.row_step = degrees;
  engine::RunDescription run;
  run.key = {"bench", "global", 1'700'000'000 / 3600 * 3600, ""};
  run.format = "grib";
  const std::unique_ptr<engine::RunWriter> writer = must(store.write(run));
  engine::FieldHeader header;
  header.parameter.short_name = name;
  header.parameter.units = "K";
  header.parameter.origin = "grib";
  header.level = {"surface", 0, 0};
  header.grid = must(writer->grid(grid));
  header.points = grid.points;
  std::vector<float> values(grid.points);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 280.0F + 20.0F * std::sin(0.001F * static_cast<float>(i) + 0.1F * static_cast<float>(step));
    }
    header.step = met::Step::instant(step * 3600LL);
    must(writer->begin_field(header));
    must(writer->write(0, std::as_bytes(std::span(values))));
    must(writer->end_field({260, 300, 280, 0}));
    (void)must(writer->commit_step(step * 3600LL));
  }
}

EnginePool::EnginePool(std::uint64_t nvm_bytes, const std::string& name)
    : directory_(std::filesystem::path("/dev/shm") / ("nvmdb-bench-" + name + "-" + std::to_string(getpid()))) {
  std::filesystem::remove_all(directory_);
  storage::PoolOptions options;
  options.create = true;
  options.nvm_bytes = nvm_bytes;
  pool_ = must(storage::Pool::open(directory_, options));
}

EnginePool::~EnginePool() {
  pool_.reset();
  std::filesystem::remove_all(directory_);
}

std::unique_ptr<engine::Database> EnginePool::open(const engine::DatabaseOptions& options) {
  return must(engine::Database::open(*pool_, {{kTable, "rows", 1}}, options));
}

}  // namespace nvmdb::bench
