#include "tpcc/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "storage/page/page.h"
#include "tpcc/loader.h"

namespace nvmdb::tpcc {

namespace {

__attribute__((format(printf, 2, 3))) void append(std::string& text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  text += line;
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }
double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

double per_transaction(const RunResult& run, std::uint64_t bytes) {
  return run.committed() == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(run.committed());
}

void append_kinds(std::string& text, const RunResult& run) {
  append(text, "%-13s %10s %8s %9s %9s %9s %9s %9s\n", "transaction", "committed", "share", "conflicts", "p50 us", "p90 us",
         "p99 us", "max us");
  for (std::size_t i = 0; i < kKinds; ++i) {
    const KindResult& kind = run.kinds[i];
    append(text, "%-13s %10llu %7.1f%% %9llu %9.1f %9.1f %9.1f %9.1f\n", kind_name(static_cast<Kind>(i)),
           static_cast<unsigned long long>(kind.committed),
           100 * static_cast<double>(kind.committed) / static_cast<double>(std::max<std::uint64_t>(run.committed(), 1)),
           static_cast<unsigned long long>(kind.conflicts), us(kind.latency.quantile_ns(0.5)),
           us(kind.latency.quantile_ns(0.9)), us(kind.latency.quantile_ns(0.99)), us(kind.latency.max_ns()));
  }
}

std::uint64_t nvm_tuple_bytes(const engine::DatabaseStatistics& database) {
  return (database.checkpoint.pages + database.checkpoint.overflow_pages) * storage::kPageBytes;
}

/// Memory as loaded and at the end, beside the bytes of the rows themselves at that time.
void append_memory(std::string& text, const TrialResult& result) {
  const auto line = [&](const char* when, const engine::DatabaseStatistics& database, std::uint64_t raw) {
    append(text, "memory %-9s        %12.1f MiB DRAM (%.2f of raw), %.1f MiB NVM (%.2f) without log; rows %.1f MiB\n", when,
           mib(database.dram_bytes), mib(database.dram_bytes) / mib(raw), mib(nvm_tuple_bytes(database)),
           mib(nvm_tuple_bytes(database)) / mib(raw), mib(raw));
  };
  const std::uint64_t raw = raw_bytes(result.warehouses);
  if (result.load_seconds > 0) {
    line("loaded", result.loaded, raw);
    line("at end", result.run.database, raw + result.run.grown_bytes);
  } else {
    append(text, "memory at end           %12.1f MiB DRAM, %.1f MiB NVM without log\n", mib(result.run.database.dram_bytes),
           mib(nvm_tuple_bytes(result.run.database)));
  }
}

void append_check(std::string& text, const CheckResult& check) {
  for (const ConditionResult& condition : check.conditions) {
    append(text, "%-4s %-72s %9llu %s\n", condition.name.c_str(), condition.what.c_str(),
           static_cast<unsigned long long>(condition.checked), condition.violated == 0 ? "holds" : "VIOLATED");
    if (condition.violated != 0) {
      append(text, "     %llu times, first %s\n", static_cast<unsigned long long>(condition.violated),
             condition.first_violation.c_str());
    }
  }
}

}  // namespace

std::string report_text(const TrialOptions& options, const TrialResult& result) {
  const RunResult& run = result.run;
  std::string text;
  append(text, "TPC-C: %s (%s)\n", configuration_name(options.configuration), configuration_words(options.configuration));
  append(text, "%u warehouses, %u threads, %.1f s%s\n", result.warehouses, options.run.threads, run.seconds,
         options.log_off ? ", log off: commits are not durable" : "");
  append(text, "pool on %s\n", result.device.c_str());
  if (run.stalled_seconds > 0) append(text, "the machine stood still for %.1f s of it\n", run.stalled_seconds);
  append_kinds(text, run);
  append(text, "transactions a second   %12.0f\ntpmC                    %12.0f\n", run.tps(), run.tpmc());
  append(text, "per worker CPU second   %12.0f  (%.2f CPU seconds)\n", run.per_worker_cpu_second(), run.worker_cpu());
  append(text, "per CPU second, all     %12.0f  (with log writers and checkpoints)\n", run.per_cpu_second());
  append(text, "commit latency, writes  %12.1f us p50, %.1f us p99, durable\n", us(run.latency.quantile_ns(0.5)),
         us(run.latency.quantile_ns(0.99)));
  append(text, "log per transaction     %12.0f bytes (%.0f without headers)\n", per_transaction(run, run.log_bytes),
         per_transaction(run, run.log_payload_bytes));
  append_memory(text, result);
  append(text, "rolled back New-Orders  %12llu\n", static_cast<unsigned long long>(run.kinds[0].rolled_back));
  if (result.check) append_check(text, *result.check);
  return text;
}

std::string report_json(const TrialOptions& options, const TrialResult& result) {
  const RunResult& run = result.run;
  std::string text;
  text += "{";
  append(text, "\"configuration\":\"%s\",\"device\":\"%s\",\"log\":%s,\"stalled_seconds\":%.3f,",
         configuration_name(options.configuration), result.device.c_str(), options.log_off ? "false" : "true",
         run.stalled_seconds);
  append(text, "\"nvm_tuple_bytes\":%llu,\"grown_bytes\":%llu,",
         static_cast<unsigned long long>(nvm_tuple_bytes(run.database)), static_cast<unsigned long long>(run.grown_bytes));
  append(text, "\"warehouses\":%u,\"threads\":%u,\"seconds\":%.6f,\"committed\":%llu,", result.warehouses,
         options.run.threads, run.seconds, static_cast<unsigned long long>(run.committed()));
  append(text, "\"tps\":%.1f,\"tpmc\":%.1f,\"worker_cpu_seconds\":%.6f,\"process_cpu_seconds\":%.6f,", run.tps(), run.tpmc(),
         run.worker_cpu(), run.process_cpu_seconds);
  append(text, "\"per_worker_cpu_second\":%.1f,\"per_cpu_second\":%.1f,", run.per_worker_cpu_second(), run.per_cpu_second());
  append(text, "\"commit_latency_us_p50\":%.3f,\"commit_latency_us_p99\":%.3f,", us(run.latency.quantile_ns(0.5)),
         us(run.latency.quantile_ns(0.99)));
  append(text, "\"log_bytes_per_transaction\":%.1f,\"dram_bytes\":%llu,\"raw_bytes\":%llu,\"transactions\":{",
         per_transaction(run, run.log_bytes), static_cast<unsigned long long>(run.database.dram_bytes),
         static_cast<unsigned long long>(raw_bytes(result.warehouses)));
  for (std::size_t i = 0; i < kKinds; ++i) {
    const KindResult& kind = run.kinds[i];
    append(text, "%s\"%s\":{\"committed\":%llu,\"rolled_back\":%llu,\"conflicts\":%llu,", i == 0 ? "" : ",",
           kind_name(static_cast<Kind>(i)), static_cast<unsigned long long>(kind.committed),
           static_cast<unsigned long long>(kind.rolled_back), static_cast<unsigned long long>(kind.conflicts));
    append(text, "\"latency_us_p50\":%.3f,\"latency_us_p99\":%.3f}", us(kind.latency.quantile_ns(0.5)),
           us(kind.latency.quantile_ns(0.99)));
  }
  text += "}";
  if (result.check) {
    text += ",\"check\":{";
    for (std::size_t i = 0; i < result.check->conditions.size(); ++i) {
      const ConditionResult& condition = result.check->conditions[i];
      append(text, "%s\"%s\":{\"checked\":%llu,\"violated\":%llu}", i == 0 ? "" : ",", condition.name.c_str(),
             static_cast<unsigned long long>(condition.checked), static_cast<unsigned long long>(condition.violated));
    }
    text += "}";
  }
  return text + "}\n";
}

}  // namespace nvmdb::tpcc
