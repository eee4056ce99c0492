#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/calibration_plot.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/table.h"
#include "storage/base/narrow.h"
#include "storage/base/size_text.h"
#include "storage/device/calibration.h"
#include "storage/device/calibration_choice.h"
#include "storage/device/disk_calibration.h"
#include "storage/device/modelled_media.h"
#include "storage/device/topology.h"
#include "storage/nvm/pool.h"

namespace nvmdb::cli {
namespace {

/// A line on stderr that is written over, on a terminal, at most ten times a second.
class Progress {
 public:
  explicit Progress(const char* what) : what_(what), shown_(::isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (begun_) std::fprintf(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void operator()(std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    begun_ = true;
    std::fprintf(stderr, "\r%s: %llu of %llu points", what_, static_cast<unsigned long long>(done),
                 static_cast<unsigned long long>(total));
  }

 private:
  const char* what_;
  const bool shown_;
  bool begun_ = false;
  std::chrono::steady_clock::time_point last_{};
};

struct Outcome {
  storage::DeviceProfile profile;
  std::vector<storage::DiskFigure> disk;
  std::string machine;
  std::uint32_t processors = 1;
  bool stored = false;
};

std::string pattern_name(storage::AccessPattern pattern) {
  return pattern == storage::AccessPattern::Sequential ? "sequential" : "random";
}

Result<Outcome> measure(const Arguments& arguments) {
  const CalibrateArguments& wanted = arguments.calibrate;
  Outcome outcome;
  NVMDB_ASSIGN(const auto pool, storage::Pool::open(arguments.pool, {}));
  NVMDB_ASSIGN(const auto topology, storage::Topology::machine());
  outcome.machine = topology->words();
  outcome.processors = narrow<std::uint32_t>(topology->processors().size());
  std::unique_ptr<storage::ModelledMedia> modelled;
  storage::PoolMedia* media = pool.get();
  if (!wanted.device_model.empty()) {
    NVMDB_ASSIGN(const storage::DevicePreset preset, storage::find_preset(wanted.device_model));
    NVMDB_ASSIGN(modelled, storage::ModelledMedia::start(*pool, preset));
    media = modelled.get();
  }
  // A model knows nothing of msync, and on files the other paths use it already.
  const bool with_msync = modelled == nullptr && storage::is_by_lines(media->device());
  const auto synced = with_msync ? pool->synced_door(0) : nullptr;
  {
    Progress progress("calibrate");
    NVMDB_ASSIGN(outcome.profile,
                 storage::calibrate(*media, {.quick = wanted.quick,
                                             .synced = synced.get(),
                                             .processors = outcome.processors,
                                             .progress = [&](auto done, auto total) { progress(done, total); }}));
  }
  if (!wanted.archive.empty()) {
    Progress progress("archive disk");
    NVMDB_ASSIGN(outcome.disk,
                 storage::calibrate_disk(wanted.archive, {.quick = wanted.quick, .progress = [&](auto done, auto total) {
                                                            progress(done, total);
                                                          }}));
  }
  if (!wanted.quick && !wanted.no_store && modelled == nullptr) {
    NVMDB_TRY(pool->store_profile(outcome.profile));
    outcome.stored = true;
  }
  return outcome;
}

double rounded(double value, double unit) {
  return static_cast<double>(static_cast<std::uint64_t>(value / unit * 1000 + 0.5)) / 1000;
}

Table device_table(const storage::DeviceProfile& profile) {
  Table table({"path", "pattern", "transfer_bytes", "threads", "gb_per_s", "p50_us", "p99_us", "figures"});
  const std::string origin = storage::origin_words(profile);
  for (const storage::DeviceFigure& figure : profile.figures) {
    table.add({storage::path_name(figure.path, storage::is_by_lines(profile)), pattern_name(figure.pattern),
               figure.transfer_bytes, std::uint64_t{figure.threads}, rounded(figure.bytes_per_second, 1e9),
               rounded(figure.p50_ns, 1e3), rounded(figure.p99_ns, 1e3), origin});
  }
  return table;
}

Table disk_table(const std::vector<storage::DiskFigure>& figures) {
  Table table({"access", "cache", "pattern", "file_bytes", "transfer_bytes", "gb_per_s", "p50_us", "p99_us"});
  for (const storage::DiskFigure& figure : figures) {
    table.add({figure.access, figure.cache, figure.pattern, figure.file_bytes, figure.transfer_bytes,
               rounded(figure.bytes_per_second, 1e9), rounded(figure.p50_ns, 1e3), rounded(figure.p99_ns, 1e3)});
  }
  return table;
}

std::string conclusion(const Outcome& outcome) {
  const storage::DeviceProfile& profile = outcome.profile;
  return "machine: " + outcome.machine + "\ndevice: " + profile.kind + ", " +
         storage::durability_words(profile.durability) + "\nfigures: " + storage::origin_words(profile) +
         "\nchosen: " + std::to_string(profile.best_log_writers) + " log writers, blocks of " +
         format_size(profile.log_block_bytes) + ", aligned to " + format_size(profile.write_unit_bytes) +
         " (a fact of the kind of device)\nrule: " + storage::log_shape_rule() + "\n" +
         (outcome.stored ? "stored in the pool; the next start uses it\n" : "not stored\n");
}

Status report_text(const Outcome& outcome, Output& output) {
  NVMDB_TRY(device_table(outcome.profile).write(Format::Text, output));
  NVMDB_TRY(output.write("\nsequential non-temporal writes\n" + text_plot(outcome.profile) + "\n"));
  if (!outcome.disk.empty()) {
    NVMDB_TRY(disk_table(outcome.disk).write(Format::Text, output));
    NVMDB_TRY(output.write("\n"));
  }
  return output.write(conclusion(outcome));
}

Status report_json(const Outcome& outcome, Output& output) {
  const storage::DeviceProfile& profile = outcome.profile;
  JsonLine head;
  head.add("kind", profile.kind)
      .add("durability", storage::durability_words(profile.durability))
      .add("figures_are", storage::origin_words(profile))
      .add("machine", outcome.machine)
      .add("log_writers", std::uint64_t{profile.best_log_writers})
      .add("log_block_bytes", std::uint64_t{profile.log_block_bytes})
      .add("write_unit_bytes", std::uint64_t{profile.write_unit_bytes})
      .add("read_latency_ns", profile.read_latency_ns)
      .add("read_bytes_per_second", profile.read_bytes_per_second)
      .add("write_bytes_per_second", profile.write_bytes_per_second)
      .add("best_readers", std::uint64_t{profile.best_readers})
      .add("small_write_ns", profile.fence_cost_ns)
      .add("rule", storage::log_shape_rule())
      .add("stored", std::string(outcome.stored ? "yes" : "no"));
  NVMDB_TRY(output.write("{\"chosen\": " + head.text() + ",\n\"device\": "));
  NVMDB_TRY(device_table(profile).write(Format::Json, output));
  NVMDB_TRY(output.write(",\n\"archive_disk\": "));
  NVMDB_TRY(disk_table(outcome.disk).write(Format::Json, output));
  return output.write("}\n");
}

Status run(const Arguments& arguments) {
  NVMDB_ASSIGN(const Outcome outcome, measure(arguments));
  if (!arguments.calibrate.plot.empty()) {
    NVMDB_ASSIGN(Output plot, Output::open(arguments.calibrate.plot));
    NVMDB_TRY(plot.write(svg_plot(outcome.profile)));
    NVMDB_TRY(plot.finish());
  }
  NVMDB_ASSIGN(Output output, Output::open(""));
  NVMDB_TRY(arguments.format == Format::Json ? report_json(outcome, output) : report_text(outcome, output));
  return output.finish();
}

}  // namespace

int run_calibrate(const Arguments& arguments) {
  const Status status = run(arguments);
  if (status.is_ok()) return kDone;
  tell_error(status);
  // A pool that is not there is a refusal, not an answer without matches.
  return status.code() == Code::NotFound ? kRefused : exit_code_of(status.code());
}

}  // namespace nvmdb::cli
