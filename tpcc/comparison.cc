#include "tpcc/comparison.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <utility>

namespace nvmdb::tpcc {

namespace {

/// What the rounds of one point gave.
struct Samples {
  std::vector<double> tps, per_worker_cpu, per_cpu, p50, p99, log_bytes, checkpoint_bytes;
  double stalled = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

void add(Samples& samples, const TrialResult& result) {
  const RunResult& run = result.run;
  const double committed = std::max(static_cast<double>(run.committed()), 1.0);
  samples.tps.push_back(run.tps());
  samples.per_worker_cpu.push_back(run.per_worker_cpu_second());
  samples.per_cpu.push_back(run.per_cpu_second());
  samples.p50.push_back(us(run.latency.quantile_ns(0.5)));
  samples.p99.push_back(us(run.latency.quantile_ns(0.99)));
  samples.log_bytes.push_back(static_cast<double>(run.log_bytes) / committed);
  const std::uint64_t written = run.database.checkpoint.written_bytes - result.loaded.checkpoint.written_bytes;
  samples.checkpoint_bytes.push_back(static_cast<double>(written) / committed);
  samples.stalled += run.stalled_seconds;
}

ComparisonPoint point_of(Configuration configuration, std::uint32_t threads, const Samples& samples) {
  ComparisonPoint point;
  point.configuration = configuration;
  point.threads = threads;
  point.tps = median(samples.tps);
  point.tps_min = *std::min_element(samples.tps.begin(), samples.tps.end());
  point.tps_max = *std::max_element(samples.tps.begin(), samples.tps.end());
  point.per_worker_cpu_second = median(samples.per_worker_cpu);
  point.per_cpu_second = median(samples.per_cpu);
  point.latency_us_p50 = median(samples.p50);
  point.latency_us_p99 = median(samples.p99);
  point.log_bytes_per_transaction = median(samples.log_bytes);
  point.checkpoint_bytes_per_transaction = median(samples.checkpoint_bytes);
  point.stalled_seconds = samples.stalled;
  return point;
}

/// One point on a pool of its own, which is removed again.
Result<TrialResult> run_point(const ComparisonOptions& options, Configuration configuration, std::uint32_t threads) {
  TrialOptions trial = options.trial;
  trial.configuration = configuration;
  trial.run.threads = threads;
  if (options.one_warehouse_per_thread) trial.warehouses = threads;
  const bool on_ssd = configuration == Configuration::MmdbSsd;
  if (on_ssd) trial.device_model.clear();
  trial.pool = (on_ssd ? options.ssd : options.trial.pool) / (std::string("tpcc-compare-") + configuration_name(configuration));
  trial.told = nullptr;
  std::error_code ignored;
  std::filesystem::create_directories(trial.pool.parent_path(), ignored);
  std::filesystem::remove_all(trial.pool, ignored);
  Result<TrialResult> result = run_trial(trial);
  std::filesystem::remove_all(trial.pool, ignored);
  if (!result.is_ok()) return result;
  if (result->check && !result->check->passed()) {
    return Status::corruption(std::string(configuration_name(configuration)) + ": " + result->check->first_violation());
  }
  return result;
}

__attribute__((format(printf, 2, 3))) void append(std::string& text, const char* format, ...) {
  std::array<char, 512> line{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  text += line.data();
}

double percent_over(double value, double base) { return base > 0 ? 100 * (value / base - 1) : 0; }

}  // namespace

const ComparisonPoint* Comparison::find(Configuration configuration, std::uint32_t threads) const {
  const auto found = std::find_if(points.begin(), points.end(), [&](const ComparisonPoint& point) {
    return point.configuration == configuration && point.threads == threads;
  });
  return found == points.end() ? nullptr : &*found;
}

Result<Comparison> compare(const ComparisonOptions& options) {
  Comparison comparison;
  comparison.rounds = options.rounds;
  comparison.model = options.trial.device_model;
  std::map<std::pair<std::uint32_t, Configuration>, Samples> samples;
  const auto all = all_configurations();
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (const std::uint32_t threads : options.threads) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        // Another one is first in each round, so that none has the better moments of the machine.
        const Configuration configuration = all[(i + round) % all.size()];
        if (options.trial.told) {
          options.trial.told(("round " + std::to_string(round + 1) + ", " + std::to_string(threads) + " threads, " +
                              configuration_name(configuration)).c_str());
        }
        NVMDB_ASSIGN(const TrialResult result, run_point(options, configuration, threads));
        add(samples[{threads, configuration}], result);
        comparison.warehouses = result.warehouses;
        (configuration == Configuration::MmdbSsd ? comparison.ssd_device : comparison.device) = result.device;
      }
    }
  }
  for (const auto& [key, some] : samples) comparison.points.push_back(point_of(key.second, key.first, some));
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  append(text, "TPC-C, configurations side by side: %u warehouses, medians of %u rounds, interleaved\n", comparison.warehouses,
         comparison.rounds);
  append(text, "NVM: %s\n", comparison.device.c_str());
  append(text, "SSD: %s\n", comparison.ssd_device.c_str());
  if (!comparison.model.empty()) {
    append(text, "MODELLED: the NVM has the delays of %s; mmdb-ssd has none added\n", comparison.model.c_str());
  }
  append(text, "%7s %-13s %9s %19s %10s %10s %9s %9s %8s %16s\n", "threads", "configuration", "tps", "min to max", "/worker-s",
         "/cpu-s", "p50 us", "p99 us", "log B", "nvmdb is over it");
  for (const ComparisonPoint& point : comparison.points) {
    const ComparisonPoint* product = comparison.find(Configuration::Nvmdb, point.threads);
    append(text, "%7u %-13s %9.0f %9.0f-%9.0f %10.0f %10.0f %9.1f %9.1f %8.0f %+15.1f%%\n", point.threads,
           configuration_name(point.configuration), point.tps, point.tps_min, point.tps_max, point.per_worker_cpu_second,
           point.per_cpu_second, point.latency_us_p50, point.latency_us_p99, point.log_bytes_per_transaction,
           product == nullptr ? 0.0 : percent_over(product->tps, point.tps));
    if (point.stalled_seconds > 0) append(text, "        the machine stood still for %.1f s of that\n", point.stalled_seconds);
  }
  return text;
}

std::string comparison_json(const Comparison& comparison) {
  std::string text;
  append(text, "{\"warehouses\":%u,\"rounds\":%u,\"device\":\"%s\",", comparison.warehouses, comparison.rounds,
         comparison.device.c_str());
  append(text, "\"ssd_device\":\"%s\",\"device_model\":\"%s\",\"points\":[", comparison.ssd_device.c_str(),
         comparison.model.c_str());
  for (std::size_t i = 0; i < comparison.points.size(); ++i) {
    const ComparisonPoint& point = comparison.points[i];
    append(text, "%s{\"configuration\":\"%s\",\"threads\":%u,\"tps\":%.1f,\"tps_min\":%.1f,\"tps_max\":%.1f,",
           i == 0 ? "" : ",", configuration_name(point.configuration), point.threads, point.tps, point.tps_min,
           point.tps_max);
    append(text, "\"per_worker_cpu_second\":%.1f,\"per_cpu_second\":%.1f,\"latency_us_p50\":%.2f,\"latency_us_p99\":%.2f,",
           point.per_worker_cpu_second, point.per_cpu_second, point.latency_us_p50, point.latency_us_p99);
    append(text, "\"log_bytes_per_transaction\":%.1f,\"checkpoint_bytes_per_transaction\":%.1f,\"stalled_seconds\":%.3f}",
           point.log_bytes_per_transaction, point.checkpoint_bytes_per_transaction, point.stalled_seconds);
  }
  return text + "]}\n";
}

std::vector<PlotPanel> comparison_panels(const Comparison& comparison) {
  PlotPanel rates{"throughput", "threads", "transactions a second", {}};
  PlotPanel gains{"nvmdb over each", "threads", "percent", {}};
  for (const Configuration configuration : all_configurations()) {
    PlotSeries rate{configuration_name(configuration), {}};
    PlotSeries gain{configuration_name(configuration), {}};
    for (const ComparisonPoint& point : comparison.points) {
      if (point.configuration != configuration) continue;
      const double threads = point.threads;
      rate.points.push_back({threads, point.tps});
      const ComparisonPoint* product = comparison.find(Configuration::Nvmdb, point.threads);
      if (product != nullptr) gain.points.push_back({threads, percent_over(product->tps, point.tps)});
    }
    rates.series.push_back(rate);
    gains.series.push_back(gain);
  }
  return {rates, gains};
}

}  // namespace nvmdb::tpcc
