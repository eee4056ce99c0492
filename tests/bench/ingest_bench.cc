// Ingest of a wrfout beside what the machine and netCDF's own tools do: classic against memcpy, deflated
// NetCDF-4 against `nccopy -k classic` of the same file, GRIB against what ecCodes takes to decode it. From
// the file (in the page cache) to durable and visible, through the sandboxed worker; pool on /dev/shm.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "ingest/ingestor.h"
#include "tests/bench/bench_support.h"
#include "tests/bench/grib_file.h"
#include "tests/bench/wrf_file.h"

namespace nvmdb::bench {
namespace {

void shell(const std::string& command) {
  NVMDB_CHECK(std::system(command.c_str()) == 0, "command failed: " + command);
}

/// Seconds of one ingest into a run of its own, which is dropped again.
double ingest_once(ingest::Ingestor& ingestor, engine::FieldStore& store, const std::filesystem::path& file) {
  ingest::IngestReport report;
  const double seconds = seconds_of([&] { report = must(ingestor.ingest_file(file, {})); });
  NVMDB_CHECK(report.rejections.empty() && report.fields_stored > 0, "the file was not stored whole");
  for (const engine::Run& run : must(store.catalogue().runs())) must(store.drop(run.id));
  store.database().reclaim();
  return seconds;
}

/// GRIB of one packing beside ecCodes on one core of the same run.
class GribRow {
 public:
  GribRow(const std::filesystem::path& folder, const std::string& packing, double goal)
      : packing_(packing), file_(folder / (packing + ".grib2")), goal_(goal) {
    write_grib_file(file_, packing);
    (void)decode_by_eccodes(file_);
  }
  void warm_up(ingest::Ingestor& ingestor, engine::FieldStore& store) {
    (void)ingest_once(ingestor, store, file_);
  }
  void round(ingest::Ingestor& ingestor, engine::FieldStore& store) {
    ours_.push_back(ingest_once(ingestor, store, file_));
    peer_.push_back(seconds_of([&] { values_ = decode_by_eccodes(file_); }));
  }
  void print() const {
    const double bytes = static_cast<double>(std::filesystem::file_size(file_));
    const double ratio = median(peer_) / median(ours_);
    print_row("ingest, GRIB2 " + packing_ + ", 40 fields, " + text("%.0f MB", bytes / 1e6),
              text("%.0f ms", median(ours_) * 1e3) +
                  text(", %.0f million values/s", static_cast<double>(values_) / median(ours_) / 1e6),
              text("decoding by ecCodes alone, one core, %.0f ms: ", median(peer_) * 1e3) +
                  text("%.1f times as fast", ratio),
              text("at least %.0f times", goal_), ratio >= goal_);
  }

 private:
  std::string packing_;
  std::filesystem::path file_;
  double goal_;
  std::size_t values_ = 0;
  std::vector<double> ours_, peer_;
};

void run() {
  print_machine("ingest: 300 x 250 x 20 wrfout of 4 frames and of 1, pool on /dev/shm");
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("nvmdb-ingest-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path classic = folder / "wrfout_d01_2024-01-15_00:00:00";
  const std::filesystem::path deflated = folder / "wrfout_d01_deflated";
  const std::filesystem::path one_frame = folder / "wrfout_d01_one_frame";
  write_wrf_file(classic, 4);
  write_wrf_file(one_frame, 1);
  GribRow simple(folder, "grid_simple", 4);
  GribRow ccsds(folder, "grid_ccsds", 1);
  shell("nccopy -k netCDF-4 -d 1 -s " + one_frame.string() + " " + deflated.string());
  const double one_frame_bytes = static_cast<double>(std::filesystem::file_size(one_frame));
  const double classic_bytes = static_cast<double>(std::filesystem::file_size(classic));
  const double deflated_bytes = static_cast<double>(std::filesystem::file_size(deflated));
  {
    BenchPool pool("/dev/shm", 512ULL << 20U);
    const std::unique_ptr<ingest::Ingestor> ingestor = must(
        ingest::Ingestor::start(pool.store(), {.worker_binary = NVMDB_BINARY_DIR "/nvmdb-ingest-worker"}));
    // The workers read ecCodes' definitions when they have no work: a server has long done so.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    (void)ingest_once(*ingestor, pool.store(), classic);
    (void)ingest_once(*ingestor, pool.store(), deflated);
    simple.warm_up(*ingestor, pool.store());
    ccsds.warm_up(*ingestor, pool.store());
    std::vector<double> classic_seconds, one_frame_seconds, deflated_seconds, nccopy_seconds, copy_rates;
    for (int round = 0; round < kRounds; ++round) {
      copy_rates.push_back(memcpy_bandwidth());
      touch_free_memory();
      classic_seconds.push_back(ingest_once(*ingestor, pool.store(), classic));
      one_frame_seconds.push_back(ingest_once(*ingestor, pool.store(), one_frame));
      deflated_seconds.push_back(ingest_once(*ingestor, pool.store(), deflated));
      nccopy_seconds.push_back(seconds_of(
          [&] { shell("nccopy -k classic " + deflated.string() + " " + (folder / "copy.nc").string()); }));
      simple.round(*ingestor, pool.store());
      ccsds.round(*ingestor, pool.store());
    }
    const double rate = classic_bytes / median(classic_seconds);
    print_row("ingest, NetCDF classic, 4 frames, " + text("%.0f MB", classic_bytes / 1e6),
              text("%.2f GB/s", rate / 1e9),
              text("memcpy %.2f GB/s: ", median(copy_rates) / 1e9) +
                  text("%.0f %%", 100 * rate / median(copy_rates)),
              "at least 30 % of memcpy", rate >= 0.3 * median(copy_rates));
    const double one_frame_rate = one_frame_bytes / median(one_frame_seconds);
    print_row("same, a file of one frame, " + text("%.0f MB", one_frame_bytes / 1e6),
              text("%.2f GB/s", one_frame_rate / 1e9),
              text("of memcpy: %.0f %%", 100 * one_frame_rate / median(copy_rates)), "none; shown", true);
    print_row("ingest, NetCDF-4 deflate 1, " + text("%.0f MB", deflated_bytes / 1e6),
              text("%.0f ms", median(deflated_seconds) * 1e3),
              text("nccopy -k classic %.0f ms: ", median(nccopy_seconds) * 1e3) +
                  text("%.1f times faster", median(nccopy_seconds) / median(deflated_seconds)),
              "faster than nccopy", median(deflated_seconds) < median(nccopy_seconds));
    simple.print();
    ccsds.print();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace nvmdb::bench

int main() {
  nvmdb::bench::run();
  return 0;
}
