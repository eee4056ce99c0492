#include "ingest/jobs/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "ingest/protocol/ring.h"

namespace nvmdb::ingest {
namespace {

constexpr int kChannelDescriptor = 3;
constexpr int kRingDescriptor = 4;
constexpr int kSafeDescriptor = 10;  ///< above those that the child's are moved to
constexpr int kGreetingTimeoutMs = 30'000;
constexpr const char* kDefinitions = "/usr/share/eccodes";

Status system_error(const std::string& what, int error) {
  return Status::io_error(what + ": " + std::strerror(error));
}

/// The ring: of fixed size for ever, so that no access to it can fault.
Result<protocol::FileDescriptor> make_ring() {
  protocol::FileDescriptor fd(::memfd_create("nvmdb-ingest-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open()) return system_error("memfd_create", errno);
  if (const int error = ::posix_fallocate(fd.get(), 0, protocol::kRingBytes); error != 0) {
    return system_error("cannot allocate the ring", error);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return system_error("cannot seal the ring", errno);
  }
  return fd;
}

Result<protocol::FileDescriptor> move_up(protocol::FileDescriptor fd) {
  protocol::FileDescriptor moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kSafeDescriptor));
  if (!moved.is_open()) return system_error("cannot duplicate a descriptor", errno);
  return moved;
}

std::vector<std::string> environment_of(const WorkerOptions& options) {
  std::vector<std::string> environment = {
      std::string("ECCODES_DEFINITION_PATH=") + kDefinitions + "/definitions",
      std::string("ECCODES_SAMPLES_PATH=") + kDefinitions + "/samples",
      "HDF5_PLUGIN_PRELOAD=::",
      "HDF5_USE_FILE_LOCKING=FALSE",
      "HOME=/nonexistent",
      "LC_ALL=C",
      "OMP_NUM_THREADS=1",
      // Buffers of decoders stay mapped between fields, so that their pages are faulted once.
      "MALLOC_MMAP_THRESHOLD_=33554432",
      "MALLOC_TRIM_THRESHOLD_=268435456",
      // Only builds for tests read it: a crash is a crash there too.
      "ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_"
      "sigfpe=0",
  };
  environment.insert(environment.end(), options.environment.begin(), options.environment.end());
  return environment;
}

/// char* array, ended by a null pointer, as exec wants it.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Owns the attributes of one posix_spawn.
class Spawn {
 public:
  Spawn() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    // An own process group: an interrupt from the terminal is the server's to handle.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  Result<pid_t> run(std::vector<std::string> arguments, std::vector<std::string> environment, int channel,
                    int ring) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      ::posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
    }
    ::posix_spawn_file_actions_adddup2(&actions_, channel, kChannelDescriptor);
    ::posix_spawn_file_actions_adddup2(&actions_, ring, kRingDescriptor);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kRingDescriptor + 1);
    const std::vector<char*> argument_pointers = pointers_to(arguments);
    const std::vector<char*> environment_pointers = pointers_to(environment);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, arguments.front().c_str(), &actions_, &attributes_,
                                    argument_pointers.data(), environment_pointers.data());
    if (error != 0) return system_error("cannot start the ingest worker " + arguments.front(), error);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(const WorkerOptions& options) {
  NVMDB_ASSIGN(auto ends, protocol::Channel::make_pair());
  NVMDB_ASSIGN(protocol::FileDescriptor theirs, move_up(std::move(ends.second)));
  NVMDB_ASSIGN(protocol::FileDescriptor ring, make_ring());
  NVMDB_ASSIGN(ring, move_up(std::move(ring)));
  std::vector<std::string> arguments = {options.binary.string(), std::to_string(options.memory_bytes),
                                        std::to_string(options.cpu_seconds), kDefinitions};
  if (options.allow_without_sandbox) arguments.emplace_back("--allow-without-sandbox");

  void* memory = ::mmap(nullptr, protocol::kRingBytes, PROT_READ, MAP_SHARED | MAP_POPULATE, ring.get(), 0);
  if (memory == MAP_FAILED) return system_error("cannot map the ring", errno);
  const ByteSpan mapped(static_cast<const std::byte*>(memory), protocol::kRingBytes);
  const Result<pid_t> pid =
      Spawn().run(std::move(arguments), environment_of(options), theirs.get(), ring.get());
  if (!pid.is_ok()) {
    ::munmap(memory, protocol::kRingBytes);
    return pid.status();
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(options, *pid, std::move(ends.first), mapped));
}

WorkerProcess::WorkerProcess(const WorkerOptions& options, pid_t pid, protocol::FileDescriptor channel,
                             ByteSpan ring)
    : options_(options), pid_(pid), channel_(std::move(channel)), ring_(ring) {}

WorkerProcess::~WorkerProcess() {
  (void)reap(true);
  ::munmap(const_cast<std::byte*>(ring_.data()), ring_.size());
}

Status WorkerProcess::await_greeting() {
  if (greeted_) return Status::ok();
  Result<protocol::Channel::Packet> packet = channel_.receive(kGreetingTimeoutMs, false);
  if (!packet.is_ok()) {
    const bool hangs = packet.status().code() == Code::DeadlineExceeded;
    return Status::io_error("the ingest worker " + options_.binary.string() +
                            " does not start: " + (hangs ? packet.status().message() : reap(false).text()));
  }
  NVMDB_ASSIGN(const std::vector<protocol::Message> messages, protocol::decode_packet(packet->bytes));
  const auto* hello = messages.size() == 1 ? std::get_if<protocol::Hello>(&messages.front()) : nullptr;
  if (hello == nullptr || hello->version != protocol::kProtocolVersion) {
    return Status::io_error("the ingest worker " + options_.binary.string() + " is of another version");
  }
  if (!hello->sandboxed && !options_.allow_without_sandbox) {
    return Status::permission_denied("no sandbox for the ingest worker: " + hello->sandbox +
                                     "; allow_without_sandbox would go on without one");
  }
  sandbox_ = hello->sandboxed ? hello->sandbox : "none: " + hello->sandbox;
  greeted_ = true;
  return Status::ok();
}

Status WorkerProcess::submit(int fd, std::uint64_t file_bytes, const protocol::Job& job,
                             std::uint64_t cpu_seconds) {
  NVMDB_TRY(raise_limits(file_bytes, cpu_seconds));
  ByteWriter packet;
  protocol::encode(job, packet);
  ++jobs_;
  return channel_.send(packet.bytes(), false, fd);
}

Status WorkerProcess::raise_limits(std::uint64_t file_bytes, std::uint64_t cpu_seconds) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return system_error("cannot read the CPU time of the ingest worker", errno);
  }
  const auto set = [this](__rlimit_resource resource, rlim_t soft) {
    rlimit limit{};
    if (::prlimit(pid_, resource, nullptr, &limit) != 0) return system_error("prlimit", errno);
    if (limit.rlim_cur == RLIM_INFINITY) return Status::ok();
    limit.rlim_cur = soft;
    return ::prlimit(pid_, resource, &limit, nullptr) == 0 ? Status::ok() : system_error("prlimit", errno);
  };
  NVMDB_TRY(set(RLIMIT_CPU, static_cast<rlim_t>(used.tv_sec) + 1 + cpu_seconds));
  return set(RLIMIT_AS, options_.memory_bytes + file_bytes);
}

bool WorkerProcess::has_ended() {
  siginfo_t state{};
  return reaped_ || (::waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                     state.si_pid == pid_);
}

WorkerProcess::Death WorkerProcess::reap(bool kill_first) {
  if (reaped_) return {};
  if (!kill_first) {
    // The channel is closed: it is dying, or close to it.
    for (int attempt = 0; attempt < 100; ++attempt) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        reaped_ = true;
        return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0};
}

std::string WorkerProcess::Death::text() const {
  if (signal == 0) return "exit status " + std::to_string(exit_status);
  return "signal " + std::to_string(signal) + ", " + ::strsignal(signal);
}

}  // namespace nvmdb::ingest
