#include "cli/watch_command.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "cli/exit_codes.h"
#include "cli/ingest_command.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "ingest/watcher/directory_watch.h"
#include "storage/base/size_text.h"

namespace nvmdb::cli {
namespace {

constexpr std::chrono::milliseconds kLook{500};
constexpr std::chrono::milliseconds kDelayMin{2000};
constexpr std::chrono::milliseconds kDelayMax{60000};

volatile std::sig_atomic_t stop_asked = 0;

void ask_to_stop(int) { stop_asked = 1; }

void listen_for_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  // A second signal ends the process at once.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

/// True for what may be otherwise a little later, without the file being another one.
bool passes(const FileOutcome& outcome) {
  switch (outcome.why.code()) {
    case Code::Overloaded:
    case Code::OutOfSpace:
    case Code::Conflict:
    case Code::DeadlineExceeded:
    case Code::IoError:
      return true;
    default:
      return outcome.exit_code == kUnreachable;
  }
}

class Watch {
 public:
  Watch(const Arguments& arguments, server::Client& client, ingest::DirectoryWatch& directory)
      : arguments_(arguments), client_(client), directory_(directory) {}

  int run() {
    while (stop_asked == 0) {
      // Once: what is complete is known already.
      const auto ready = directory_.next(arguments_.watch.once ? std::chrono::milliseconds(0) : kLook);
      if (!ready.is_ok()) {
        tell_error(ready.status());
        return kFailed;
      }
      if (!ready->has_value()) {
        if (arguments_.watch.once) break;
        continue;
      }
      if (const Status kept = take(**ready); !kept.is_ok()) {
        tell_error(kept);
        return kFailed;
      }
    }
    return arguments_.watch.once ? worst_ : kDone;
  }

 private:
  Status take(const ingest::ReadyFile& file) {
    const FileOutcome outcome = ingest_file(file.path.string(), arguments_, client_);
    worst_ = combine_exit_codes(worst_, outcome.exit_code);
    if (!passes(outcome)) {
      delays_.erase(file.name);
      return directory_.done(file);
    }
    if (arguments_.watch.once) {
      directory_.later(file, kDelayMax);
      return Status::ok();
    }
    auto& delay = delays_.try_emplace(file.name, kDelayMin).first->second;
    tell_error(file.path.string() + ": is tried again in " + std::to_string(delay.count() / 1000) + " s");
    directory_.later(file, delay);
    delay = std::min(2 * delay, kDelayMax);
    return Status::ok();
  }

  const Arguments& arguments_;
  server::Client& client_;
  ingest::DirectoryWatch& directory_;
  std::map<std::string, std::chrono::milliseconds> delays_;
  int worst_ = kDone;
};

int list_files(ingest::DirectoryWatch& directory, bool json) {
  const auto files = directory.list();
  if (!files.is_ok()) {
    tell_error(files.status());
    return kFailed;
  }
  for (const ingest::WatchedFile& file : *files) {
    JsonLine line;
    line.add("event", "file").add("file", file.name).add("bytes", file.bytes).add("state", std::string(file.ready ? "ready" : "not ready"));
    line.add("why", file.why);
    const std::string text = one_line(file.name) + " (" + format_size(file.bytes) + "): " + file.why;
    std::printf("%s\n", json ? line.text().c_str() : text.c_str());
  }
  return kDone;
}

}  // namespace

int run_watch(const Arguments& arguments, server::Client& client) {
  const WatchArguments& watch = arguments.watch;
  const auto directory = ingest::DirectoryWatch::open(
      {watch.directory, watch.pattern, watch.journal, std::chrono::seconds(watch.quiet_seconds)});
  if (!directory.is_ok()) {
    tell_error(directory.status());
    return directory.status().code() == Code::NotFound ? kFailed : exit_code_of(directory.status().code());
  }
  if (watch.dry_run) return list_files(**directory, arguments.format == Format::Json);
  listen_for_signals();
  return Watch(arguments, client, **directory).run();
}

}  // namespace nvmdb::cli
