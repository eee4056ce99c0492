#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/table.h"
#include "engine/pool_check.h"
#include "storage/base/clock.h"
#include "storage/nvm/pool_snapshot.h"

namespace nvmdb::cli {
namespace {

/// One line on a terminal, at most ten times a second.
std::function<void(const char*, std::uint64_t, std::uint64_t)> progress_line() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  return [last = std::uint64_t{0}](const char* phase, std::uint64_t done, std::uint64_t total) mutable {
    constexpr std::uint64_t kEveryNs = 100'000'000;
    const std::uint64_t now = system_clock().monotonic_ns();
    if (now - last < kEveryNs) return;
    last = now;
    std::fprintf(stderr, "\r\033[Kcheck: %s, %llu of %llu\r", phase, static_cast<unsigned long long>(done),
                 static_cast<unsigned long long>(total));
  };
}

Status report_text(const engine::CheckReport& report, Output& output) {
  std::string text = std::to_string(report.pages) +
                     " pages; checkpoint: " + std::to_string(report.checkpoint_tuples) + " tuples in " +
                     std::to_string(report.checkpoint_pages) +
                     " pages; log: " + std::to_string(report.log_blocks) + " blocks in " +
                     std::to_string(report.log_segments) + " segments";
  if (report.blocks_discarded > 0)
    text += ", of which a crash cut off " + std::to_string(report.blocks_discarded);
  text += "\n" + std::to_string(report.runs) + " runs, " + std::to_string(report.steps) + " steps, " +
          std::to_string(report.fields) + " fields of " + std::to_string(report.field_bytes) + " bytes, " +
          std::to_string(report.grids) + " grids, " + std::to_string(report.rows) + " rows\n";
  if (report.unowned_pages > 0) {
    text +=
        std::to_string(report.unowned_pages) + " pages of unfinished ingests; the next start frees them\n";
  }
  for (const std::string& line : report.damage) text += "damaged: " + one_line(line) + "\n";
  if (report.damage_left_out > 0) text += "and " + std::to_string(report.damage_left_out) + " more\n";
  if (!report.catalogue_read) text += "the catalogue cannot be read: fields were not checked\n";
  text += report.is_whole() ? "whole\n" : "NOT whole; nothing was changed\n";
  return output.write(text);
}

Status report_json(const engine::CheckReport& report, Output& output) {
  JsonLine head;
  head.add("whole", std::string(report.is_whole() ? "yes" : "no"))
      .add("catalogue_read", std::string(report.catalogue_read ? "yes" : "no"))
      .add("pages", report.pages)
      .add("checkpoint_pages", report.checkpoint_pages)
      .add("checkpoint_tuples", report.checkpoint_tuples)
      .add("log_segments", report.log_segments)
      .add("log_blocks", report.log_blocks)
      .add("blocks_discarded", report.blocks_discarded)
      .add("rows", report.rows)
      .add("runs", report.runs)
      .add("steps", report.steps)
      .add("grids", report.grids)
      .add("fields", report.fields)
      .add("field_bytes", report.field_bytes)
      .add("unowned_pages", report.unowned_pages)
      .add("damage_left_out", report.damage_left_out);
  NVMDB_TRY(output.write("{\"pool\": " + head.text() + ",\n\"damage\": "));
  Table table({"words"});
  for (const std::string& line : report.damage) table.add({line});
  NVMDB_TRY(table.write(Format::Json, output));
  return output.write("}\n");
}

Result<bool> check(const Arguments& arguments) {
  NVMDB_ASSIGN(const auto pool, storage::PoolSnapshot::open(arguments.pool));
  engine::CheckOptions options;
  options.progress = progress_line();
  const engine::CheckReport report = engine::check_pool(*pool, options);
  if (options.progress) std::fprintf(stderr, "\r\033[K");
  NVMDB_ASSIGN(Output output, Output::open(""));
  NVMDB_TRY(arguments.format == Format::Json ? report_json(report, output) : report_text(report, output));
  NVMDB_TRY(output.finish());
  return report.is_whole();
}

}  // namespace

int run_check(const Arguments& arguments) {
  const Result<bool> whole = check(arguments);
  if (whole.is_ok()) return *whole ? kDone : kFailed;
  tell_error(whole.status());
  // A pool that is not there is a refusal, not an answer without matches.
  return whole.status().code() == Code::NotFound ? kRefused : exit_code_of(whole.status().code());
}

}  // namespace nvmdb::cli
