#include "ingest/worker/system_call_filter.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <variant>

#include "ingest/protocol/message.h"
#include "ingest/worker/sandbox.h"

namespace nvmdb::ingest {
namespace {

int told_descriptor = -1;

/// A packet with one ForbiddenCall, as protocol::encode lays it out; a signal handler may not allocate.
struct ForbiddenCallPacket {
  std::uint32_t type = std::variant_size_v<protocol::Message> - 1;
  std::uint32_t size = sizeof(std::uint32_t);
  std::uint32_t number = 0;
};
static_assert(
    std::is_same_v<std::variant_alternative_t<std::variant_size_v<protocol::Message> - 1, protocol::Message>,
                   protocol::ForbiddenCall>);

void tell_and_exit(int, siginfo_t* signal, void*) {
  ForbiddenCallPacket packet;
  packet.number = static_cast<std::uint32_t>(signal->si_syscall);
  ::send(told_descriptor, &packet, sizeof(packet), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::_exit(kForbiddenCallExit);
}

Status refused(const char* what, int error) {
  return Status::permission_denied(std::string("seccomp: ") + what + ": " + std::strerror(error));
}

/// Collects rules; the first failure sticks.
class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_TRAP), &::seccomp_release) {}

  void allow(std::initializer_list<int> calls) {
    for (const int call : calls)
      note(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, 0, nullptr));
  }
  void allow_if(int call, scmp_arg_cmp condition) {
    note(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ALLOW, call, 1, &condition));
  }
  /// The call fails with EPERM instead of ending the process: libraries ask and can do without.
  void refuse(std::initializer_list<int> calls) {
    for (const int call : calls) {
      note(::seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(EPERM), call, 0, nullptr));
    }
  }
  [[nodiscard]] Status load() {
    if (context_ == nullptr) return refused("cannot start a filter", ENOMEM);
    note(::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    note(::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
    if (error_ != 0) return refused("cannot build the filter", -error_);
    if (const int error = ::seccomp_load(context_.get()); error != 0)
      return refused("cannot load the filter", -error);
    return Status::ok();
  }

 private:
  void note(int error) {
    if (error_ == 0) error_ = error;
  }
  std::unique_ptr<void, decltype(&::seccomp_release)> context_;
  int error_ = 0;
};

scmp_arg_cmp equals(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}
scmp_arg_cmp has_none_of(unsigned argument, std::uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, 0};
}

void allow_decoding(Filter& filter) {
  // Memory, never executable.
  filter.allow({SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise)});
  filter.allow_if(SCMP_SYS(mmap), has_none_of(2, PROT_EXEC));
  filter.allow_if(SCMP_SYS(mprotect), has_none_of(2, PROT_EXEC));
  // Descriptors it has, and files that Landlock lets it open, for reading.
  filter.allow({SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(preadv), SCMP_SYS(lseek),
                SCMP_SYS(close), SCMP_SYS(dup), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx),
                SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(fadvise64),
                SCMP_SYS(getdents64)});
  filter.allow_if(SCMP_SYS(openat), has_none_of(2, O_ACCMODE | O_CREAT | O_TRUNC));
  for (const int command : {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC}) {
    filter.allow_if(SCMP_SYS(fcntl), equals(1, static_cast<std::uint64_t>(command)));
  }
  // The channel, and diagnostics of libraries to where the server put them.
  filter.allow({SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(sendto)});
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    filter.allow_if(SCMP_SYS(write), equals(0, static_cast<std::uint64_t>(descriptor)));
    filter.allow_if(SCMP_SYS(writev), equals(0, static_cast<std::uint64_t>(descriptor)));
  }
}

void allow_runtime(Filter& filter) {
  filter.allow({SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime),
                SCMP_SYS(gettimeofday), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getrusage),
                SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
                SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)});
  // abort() resets its own handler and raises; nothing may touch the handler of this filter.
  filter.allow_if(SCMP_SYS(rt_sigaction), equals(0, SIGABRT));
  filter.allow_if(SCMP_SYS(tgkill), equals(0, static_cast<std::uint64_t>(::getpid())));
  filter.allow_if(SCMP_SYS(prlimit64), equals(2, 0));
  if (!kSanitizerBuild) filter.refuse({SCMP_SYS(readlink)});
  filter.refuse({SCMP_SYS(ioctl), SCMP_SYS(readlinkat), SCMP_SYS(getcwd), SCMP_SYS(uname), SCMP_SYS(sysinfo),
                 SCMP_SYS(flock)});
}

/// They test addresses by writing them into a pipe, and describe what they find.
void allow_sanitizers(Filter& filter) {
  filter.allow(
      {SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(write), SCMP_SYS(readlink), SCMP_SYS(sched_getaffinity)});
}

}  // namespace

Status filter_system_calls(int channel_descriptor) {
  told_descriptor = channel_descriptor;
  struct sigaction action {};
  action.sa_sigaction = &tell_and_exit;
  action.sa_flags = SA_SIGINFO;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return refused("cannot set the handler", errno);
  Filter filter;
  allow_decoding(filter);
  allow_runtime(filter);
  if (kSanitizerBuild) allow_sanitizers(filter);
  return filter.load();
}

}  // namespace nvmdb::ingest
