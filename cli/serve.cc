#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "server/config.h"
#include "server/listener.h"
#include "server/pool_info.h"
#include "server/version.h"
#include "storage/base/size_text.h"

namespace nvmdb::cli {
namespace {

constexpr unsigned kDrainSeconds = 9;

// A handler rather than a blocked signal: ingest workers would inherit a blocked signal.
int stop_pipe[2] = {-1, -1};

void on_stop_signal(int) {
  const int saved = errno;
  const char byte = 0;
  static_cast<void>(!::write(stop_pipe[1], &byte, 1));
  errno = saved;
}

bool install_stop_signals() {
  if (::pipe2(stop_pipe, O_CLOEXEC) != 0) return false;
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  return ::sigaction(SIGTERM, &action, nullptr) == 0 && ::sigaction(SIGINT, &action, nullptr) == 0 &&
         ::sigaction(SIGPIPE, &ignore, nullptr) == 0;
}

void wait_for_stop_signal() {
  char byte = 0;
  while (::read(stop_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

void say(const std::string& line) {
  std::printf("%s\n", one_line(line).c_str());
  std::fflush(stdout);
}

/// The flags over the configuration file over the defaults.
struct Settings {
  server::InstanceOptions instance;
  server::ListenerOptions listener;
};

Result<Settings> settle(const Arguments& arguments) {
  const ServeArguments& flags = arguments.serve;
  server::FileConfig file;
  if (!flags.config.empty()) {
    NVMDB_ASSIGN(file, server::load_config(flags.config));
  }
  Settings settings;
  settings.instance.pool = !arguments.pool.empty() ? arguments.pool : file.pool.value_or("");
  settings.instance.create = !(flags.no_create || file.no_create.value_or(false));
  if (const auto bytes = flags.nvm_bytes ? flags.nvm_bytes : file.nvm_bytes)
    settings.instance.nvm_bytes = *bytes;
  if (const auto bytes = flags.dram_bytes ? flags.dram_bytes : file.dram_bytes)
    settings.instance.dram_bytes = *bytes;
  if (const auto count = flags.ingest_workers ? flags.ingest_workers : file.ingest_workers) {
    settings.instance.ingest.workers = static_cast<std::uint32_t>(*count);
  }
  constexpr std::uint64_t kScrubBytesPerSecond = 64ULL << 20U;
  settings.instance.scrub_bytes_per_second =
      (flags.scrub_bytes_per_second ? flags.scrub_bytes_per_second : file.scrub_bytes_per_second)
          .value_or(kScrubBytesPerSecond);
  const std::string placement = !flags.placement.empty() ? flags.placement : file.placement.value_or("none");
  NVMDB_ASSIGN(settings.instance.placement, storage::parse_placement(placement));
  settings.instance.device_model =
      !flags.device_model.empty() ? flags.device_model : file.device_model.value_or("");
  if (const auto listen = flags.listen ? flags.listen : file.listen) settings.listener.listen = *listen;
  settings.listener.insecure_listen = flags.insecure_listen || file.insecure_listen.value_or(false);
  settings.listener.ingest_roots = !flags.ingest_roots.empty() ? flags.ingest_roots : file.ingest_roots;
  return settings;
}

/// Tells of a long recovery, at most twice a second, on a terminal.
class RecoveryProgress {
 public:
  void operator()(const char* phase, std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(500)) return;
    last_ = now;
    const std::uint64_t percent =
        total == 0
            ? 100
            : static_cast<std::uint64_t>(100.0 * static_cast<double>(done) / static_cast<double>(total));
    std::fprintf(stderr, "recovery: %s %llu %%\n", phase, static_cast<unsigned long long>(percent));
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void describe(server::Instance& instance) {
  storage::Pool& pool = instance.pool();
  const std::uint64_t bytes = instance.database().pages().total_pages() * storage::kPageBytes;
  say("pool " + pool.directory().string() + (pool.created() ? ": created, " : ": opened, ") +
      format_size(bytes) + " of NVM on " + pool.device().kind);
  say("durability: " + storage::durability_words(pool.device().durability));
  const storage::DeviceProfile& device = instance.media().device();
  say("device: " + storage::origin_words(device) + "; " + std::to_string(device.best_log_writers) +
      " log writers, blocks of " + format_size(device.log_block_bytes));
  if (!device.note.empty()) say("device: " + device.note);
  if (instance.device_model() != nullptr) {
    say("device: the model delays durable writes; no figure of this server is that of a real device");
  }
  if (instance.placement().policy() != storage::PlacementPolicy::None) {
    say("placement: " + std::string(storage::placement_name(instance.placement().policy())) + " on " +
        instance.placement().topology().words());
  }
  const engine::RecoveryReport& recovery = instance.database().recovery();
  if (pool.created()) return;
  say(std::string("recovery: last shutdown was ") + (recovery.clean_shutdown ? "clean" : "not clean") + "; " +
      std::to_string(recovery.records_applied) + " log records from " + format_size(recovery.log_bytes) +
      " in " + std::to_string(recovery.nanoseconds / 1'000'000) + " ms, " +
      std::to_string(recovery.discarded_blocks) + " unacknowledged blocks discarded");
}

int fail(const Status& status) {
  tell_error(status);
  // A server that does not start has failed, whatever the reason: only wrong or refused settings are told
  // apart.
  const bool refused = status.code() == Code::InvalidArgument || status.code() == Code::PermissionDenied ||
                       status.code() == Code::Conflict || status.code() == Code::NotFound;
  return refused ? kRefused : kFailed;
}

}  // namespace

int run_serve(const Arguments& arguments) {
  auto settings = settle(arguments);
  if (!settings.is_ok()) return fail(settings.status());
  if (settings->instance.pool.empty()) {
    tell_error("serve needs a pool: give --pool DIR, or pool = \"DIR\" in the --config file");
    return kWrongUsage;
  }
  if (!install_stop_signals()) return fail(Status::io_error("cannot install signal handlers"));
  say(std::string("nvmdb ") + server::kVersion);
  if (::isatty(STDERR_FILENO) != 0) settings->instance.progress = RecoveryProgress();
  auto instance = server::Instance::open(settings->instance);
  if (!instance.is_ok()) return fail(instance.status());
  describe(**instance);
  const std::uint64_t has = (*instance)->database().pages().total_pages() * storage::kPageBytes;
  if (!(*instance)->pool().created() && arguments.serve.nvm_bytes && *arguments.serve.nvm_bytes != has) {
    say("--nvm " + format_size(*arguments.serve.nvm_bytes) + " is for a new pool: this one keeps its " + format_size(has));
  }
  if (const auto ingestor = (*instance)->ingestor(); !ingestor.is_ok()) {
    // Questions can still be answered; an ingest is refused with the reason.
    tell_error("ingest is not available: " + ingestor.status().message());
  }
  auto listener = server::Listener::start(**instance, settings->listener);
  if (listener.status().code() == Code::Conflict) {
    // A port that is taken is the machine's state, not a refusal of this pool.
    tell_error(listener.status());
    return kFailed;
  }
  if (!listener.is_ok()) return fail(listener.status());
  say("listening on " + (*listener)->address());
  wait_for_stop_signal();
  say("stopping: finishing running requests");
  (*listener)->drain(kDrainSeconds);
  listener->reset();
  instance->reset();
  say("stopped");
  return kDone;
}

}  // namespace nvmdb::cli
