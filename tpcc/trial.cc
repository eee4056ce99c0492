#include "tpcc/trial.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "storage/base/clock.h"
#include "storage/base/random.h"
#include "tpcc/loader.h"

namespace nvmdb::tpcc {

namespace {

constexpr std::uint64_t kJournalEntries = 8'000'000;
constexpr double kKilledAfterSecondsMax = 1.5;

void tell(const TrialOptions& options, const char* what) {
  if (options.told) options.told(what);
}

/// Seconds that loading took; 0 when the pool was loaded before.
Result<double> load_if_empty(engine::Database& database, const TrialOptions& options, std::uint32_t& warehouses) {
  NVMDB_ASSIGN(const std::optional<StateRow> state, loaded_state(database));
  warehouses = options.warehouses;
  if (state) {
    if (state->warehouses == options.warehouses) return 0.0;
    return Status::conflict("the pool is loaded with " + std::to_string(state->warehouses) + " warehouses, not " +
                            std::to_string(options.warehouses));
  }
  tell(options, "loading");
  const std::uint64_t begun = system_clock().monotonic_ns();
  LoadOptions load_options;
  load_options.warehouses = options.warehouses;
  load_options.seed = options.run.seed;
  NVMDB_TRY(load(database, load_options));
  return static_cast<double>(system_clock().monotonic_ns() - begun) * 1e-9;
}

/// Runs `body` in a child; its failure comes as a message through a pipe.
template <class Body>
Result<pid_t> start_child(int& pipe_end, Body body) {
  int ends[2];
  if (pipe(ends) != 0) return Status::io_error("cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) return Status::io_error("cannot start a process");
  if (child == 0) {
    close(ends[0]);
    const Status status = body();
    const std::string text = status.is_ok() ? "" : status.to_string();
    const bool told = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(status.is_ok() && told ? 0 : 1);
  }
  close(ends[1]);
  pipe_end = ends[0];
  return child;
}

/// Waits for the child. Errors: IoError (it failed by itself: its message). A kill is no error.
Status finish_child(pid_t child, int pipe_end) {
  std::string text;
  char buffer[512];
  for (ssize_t count = read(pipe_end, buffer, sizeof(buffer)); count > 0; count = read(pipe_end, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(pipe_end);
  int outcome = 0;
  if (waitpid(child, &outcome, 0) != child) return Status::io_error("a child process is lost");
  if (WIFSIGNALED(outcome) && WTERMSIG(outcome) == SIGKILL) return Status::ok();
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) return Status::ok();
  return Status::io_error("the child process failed: " + (text.empty() ? "outcome " + std::to_string(outcome) : text));
}

Status recover_and_check(const TrialOptions& options, const Journal& journal) {
  NVMDB_ASSIGN(const auto trial, TrialDatabase::open(options));
  NVMDB_ASSIGN(const CheckResult check, check_consistency(trial->database(), &journal));
  return check.passed() ? Status::ok() : Status::corruption(check.first_violation());
}

RunOptions run_options(const TrialOptions& options) {
  RunOptions run = options.run;
  configure(options.configuration, run);
  return run;
}

Status run_for_ever(const TrialOptions& options) {
  NVMDB_ASSIGN(const auto trial, TrialDatabase::open(options));
  return run(trial->database(), run_options(options)).status();
}

}  // namespace

const storage::DeviceProfile& TrialDatabase::device() const {
  return modelled_ ? modelled_->device() : pool_->device();
}

Result<storage::PoolMedia*> TrialDatabase::open_media(const TrialOptions& options) {
  storage::PoolOptions pool_options;
  pool_options.create = true;
  pool_options.nvm_bytes = options.nvm_bytes;
  NVMDB_ASSIGN(pool_, storage::Pool::open(options.pool, pool_options));
  storage::PoolMedia* media = pool_.get();
  if (is_classic(options.configuration)) {
    synced_ = std::make_unique<SyncedMedia>(*pool_);
    if (pool_->created()) NVMDB_TRY(synced_->fill_with_zeros());
    media = synced_.get();
  }
  if (options.device_model.empty()) return media;
  NVMDB_ASSIGN(const storage::DevicePreset preset, storage::find_preset(options.device_model));
  NVMDB_ASSIGN(modelled_, storage::ModelledMedia::start(*media, preset));
  return static_cast<storage::PoolMedia*>(modelled_.get());
}

Result<std::unique_ptr<TrialDatabase>> TrialDatabase::open(const TrialOptions& options) {
  auto trial = std::make_unique<TrialDatabase>();
  NVMDB_ASSIGN(storage::PoolMedia* media, trial->open_media(options));
  engine::DatabaseOptions database_options;
  database_options.dram_bytes = options.dram_bytes;
  database_options.log.log_bytes_max = options.log_bytes;
  database_options.log.off = options.log_off;
  configure(options.configuration, *trial->pool_, database_options);
  NVMDB_ASSIGN(trial->database_, engine::Database::open(*media, tables(), database_options));
  return trial;
}

Result<TrialResult> run_trial(const TrialOptions& options) {
  NVMDB_ASSIGN(const auto trial, TrialDatabase::open(options));
  TrialResult result;
  NVMDB_ASSIGN(result.load_seconds, load_if_empty(trial->database(), options, result.warehouses));
  const storage::DeviceProfile& device = trial->device();
  result.device = device.kind + ", " + storage::origin_words(device) + "; " + storage::durability_words(device.durability);
  result.loaded = trial->database().statistics();
  tell(options, "running");
  NVMDB_ASSIGN(result.run, run(trial->database(), run_options(options)));
  if (options.check) {
    tell(options, "checking");
    NVMDB_ASSIGN(result.check, check_consistency(trial->database(), options.run.journal));
  }
  return result;
}

Result<KillReport> run_kill_loop(const TrialOptions& options, std::uint32_t kills) {
  if (options.log_off) return Status::invalid_argument("without a log nothing is durable, so kills prove nothing");
  NVMDB_ASSIGN(const auto journal, Journal::create(options.run.threads, kJournalEntries));
  TrialOptions trial = options;
  trial.told = nullptr;
  trial.run.journal = journal.get();
  trial.run.warmup_seconds = 0;
  trial.run.seconds = 3600;
  int pipe_end = -1;
  NVMDB_ASSIGN(const pid_t loader, start_child(pipe_end, [&]() -> Status {
    NVMDB_ASSIGN(const auto opened, TrialDatabase::open(trial));
    std::uint32_t warehouses = 0;
    return load_if_empty(opened->database(), trial, warehouses).status();
  }));
  NVMDB_TRY(finish_child(loader, pipe_end));
  SeededRandom random(options.run.seed);
  KillReport report;
  for (; report.kills < kills; ++report.kills) {
    trial.run.seed = random.next();
    journal->clear();
    NVMDB_ASSIGN(const pid_t child, start_child(pipe_end, [&] { return run_for_ever(trial); }));
    std::this_thread::sleep_for(std::chrono::duration<double>(random.unit() * kKilledAfterSecondsMax));
    ::kill(child, SIGKILL);
    NVMDB_TRY(finish_child(child, pipe_end));
    NVMDB_ASSIGN(const pid_t checker, start_child(pipe_end, [&] { return recover_and_check(trial, *journal); }));
    if (Status status = finish_child(checker, pipe_end); !status.is_ok()) {
      return Status::corruption("after kill " + std::to_string(report.kills + 1) + ": " + status.message());
    }
    for (std::uint32_t lane = 0; lane < journal->lanes(); ++lane) report.acknowledged += journal->entries(lane).size();
    if (options.told) options.told(("kill " + std::to_string(report.kills + 1) + " passed").c_str());
  }
  return report;
}

}  // namespace nvmdb::tpcc
