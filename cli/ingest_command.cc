#include "cli/ingest_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "engine/met/step.h"
#include "engine/met/time.h"
#include "storage/base/size_text.h"

namespace nvmdb::cli {
namespace {

void say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

/// A line on a terminal that counts steps, once a file takes longer than a second.
class Progress {
 public:
  explicit Progress(const std::string& file) : file_(file), shown_on_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(std::uint64_t bytes) {
    ++steps_;
    bytes_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (!shown_on_ || now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100))
      return;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\r%s: %llu steps, %s", one_line(file_).c_str(), steps_,
                 format_size(bytes_).c_str());
  }
  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  const std::string file_;
  const bool shown_on_;
  bool shown_ = false;
  unsigned long long steps_ = 0;
  std::uint64_t bytes_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
};

std::string step_json(const std::string& file, const ingest::IngestedStep& step) {
  JsonLine line;
  line.add("event", "step").add("file", file).add("model", step.run.model).add("domain", step.run.domain);
  line.add("run", met::format_run_time(step.run.reference_time)).add("version", step.run.version);
  line.add("step_seconds", step.end_seconds).add("fields_stored", std::uint64_t{step.fields_stored});
  line.add("fields_unchanged", std::uint64_t{step.fields_unchanged}).add("bytes_stored", step.bytes_stored);
  return line.text() + "\n";
}

std::string report_json(const std::string& file, const ingest::IngestReport& report) {
  JsonLine line;
  line.add("event", "report").add("file", file).add("format", report.format);
  line.add("steps", std::uint64_t{report.steps.size()}).add("fields_stored", report.fields_stored);
  line.add("fields_unchanged", report.fields_unchanged).add("bytes_stored", report.bytes_stored);
  line.add("file_bytes", report.file_bytes);
  line.add("rejected", std::uint64_t{report.rejections.size()} + report.rejections_omitted);
  line.add("seconds", static_cast<double>(report.nanoseconds) / 1e9);
  return line.text() + "\n";
}

std::string failure_json(const char* event, const std::string& file, const std::string& where,
                         const Status& why) {
  JsonLine line;
  line.add("event", event).add("file", file).add("where", where.empty() ? Cell() : Cell(where));
  line.add("code", std::string(code_name(why.code()))).add("reason", why.message());
  return line.text() + "\n";
}

std::string step_text(const ingest::IngestedStep& step) {
  const met::Step instant = met::Step::instant(step.end_seconds);
  return one_line(engine::format_run(step.run)) + " step " + met::format_step(instant) + ": " +
         std::to_string(step.fields_stored) + " fields stored" +
         (step.fields_unchanged == 0 ? "" : ", " + std::to_string(step.fields_unchanged) + " already there") +
         "\n";
}

void tell_rejections(const std::string& file, const ingest::IngestReport& report, bool json) {
  if (json) {
    for (const ingest::Rejection& rejection : report.rejections)
      say(failure_json("rejected", file, rejection.where, rejection.why));
    return;
  }
  constexpr std::size_t kLinesMax = 20;
  const std::vector<RejectionLine> lines = rejection_lines(report.rejections);
  std::uint64_t told = 0;
  for (std::size_t i = 0; i < std::min(lines.size(), kLinesMax); ++i) {
    tell_error(file + ": " + lines[i].where + ": not stored: " + lines[i].reason);
    told += lines[i].count;
  }
  const std::uint64_t all = report.rejections.size() + report.rejections_omitted;
  if (all > told)
    tell_error(file + ": " + std::to_string(all - told) + " more were not stored; --json lists them");
}

}  // namespace

FileOutcome ingest_file(const std::string& file, const Arguments& arguments, server::Client& client) {
  const bool json = arguments.format == Format::Json;
  const ingest::IngestOptions options{arguments.ingest_model, arguments.ingest_domain};
  Progress progress(file);
  const auto report = client.ingest(file, options, [&](const ingest::IngestedStep& step) {
    progress.clear();
    say(json ? step_json(file, step) : step_text(step));
    progress.step(step.bytes_stored);
  });
  progress.clear();
  if (!report.is_ok()) {
    const Status why = report.status();
    const bool named = why.message().find(file) != std::string::npos;
    if (json) say(failure_json("failed", file, "", why));
    tell_error(named || client.unreachable() ? why.message() : file + ": " + why.message());
    if (client.unreachable()) return {kUnreachable, why};
    // A file that is not there is a failure of this command, not an empty answer.
    return {why.code() == Code::NotFound ? kFailed : exit_code_of(why.code()), why};
  }
  tell_rejections(file, *report, json);
  const std::uint64_t rejected = report->rejections.size() + report->rejections_omitted;
  if (json) {
    say(report_json(file, *report));
  } else {
    say(one_line(file) + ": " + report->format + ", " + std::to_string(report->fields_stored) +
        " fields stored (" + format_size(report->bytes_stored) + "), " +
        std::to_string(report->fields_unchanged) + " already there, " + std::to_string(rejected) +
        " not stored\n");
  }
  if (rejected == 0) return {};
  if (report->fields_stored + report->fields_unchanged > 0) return {kPartlyDone, Status::ok()};
  return {kRefused, Status::invalid_argument("nothing of it could be stored")};
}

int combine_exit_codes(int worst, int code) {
  if (worst == kDone || code == worst) return code;
  return code == kDone ? worst : kFailed;
}

std::vector<RejectionLine> rejection_lines(const std::vector<ingest::Rejection>& rejections) {
  const std::string mark = ", level ";
  std::vector<RejectionLine> lines;
  std::string stem;
  std::string first;
  for (const ingest::Rejection& rejection : rejections) {
    const std::size_t at = rejection.where.rfind(mark);
    const std::string variable = at == std::string::npos ? "" : rejection.where.substr(0, at);
    const std::string level = at == std::string::npos ? "" : rejection.where.substr(at + mark.size());
    if (!variable.empty() && variable == stem) {
      lines.back().where = stem + ", levels " + first + " to " + level;
      ++lines.back().count;
      continue;
    }
    stem = variable;
    first = level;
    lines.push_back({rejection.where, rejection.why.message(), 1});
  }
  return lines;
}

int run_ingest(const Arguments& arguments, server::Client& client) {
  int worst = kDone;
  bool some_stored = false;
  for (const std::string& file : arguments.files) {
    const int code = ingest_file(file, arguments, client).exit_code;
    if (code == kUnreachable) return code;
    if (code == kDone || code == kPartlyDone) some_stored = true;
    worst = combine_exit_codes(worst, code);
  }
  return worst != kDone && some_stored ? kPartlyDone : worst;
}

}  // namespace nvmdb::cli
