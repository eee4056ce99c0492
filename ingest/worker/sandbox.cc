#include "ingest/worker/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "ingest/protocol/channel.h"
#include "ingest/worker/landlock.h"
#include "ingest/worker/system_call_filter.h"

namespace nvmdb::ingest {
namespace {

Status set_limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  if (::setrlimit(resource, &limit) == 0) return Status::ok();
  return Status::io_error("setrlimit " + std::to_string(resource) + ": " + std::strerror(errno));
}

/// When memory runs out the kernel shall end a worker, not the database. Best effort: what fails changes
/// nothing else.
void volunteer_for_out_of_memory() {
  const protocol::FileDescriptor file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  const std::string_view score = "500";
  if (file.is_open()) static_cast<void>(::write(file.get(), score.data(), score.size()) == 0);
}

/// Root's rights over files and limits are of no use to a decoder.
Status drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::syscall(SYS_capset, &header, none.data()) == 0) return Status::ok();
  return Status::permission_denied(std::string("cannot drop capabilities: ") + std::strerror(errno));
}

}  // namespace

Status limit_process(std::uint64_t memory_bytes, std::uint64_t cpu_seconds) {
  volunteer_for_out_of_memory();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return Status::io_error(std::string("prctl: ") + std::strerror(errno));
  }
  // Shadow memory takes terabytes of address space.
  if (!kSanitizerBuild) NVMDB_TRY(set_limit(RLIMIT_AS, memory_bytes, RLIM_INFINITY));
  NVMDB_TRY(set_limit(RLIMIT_CPU, cpu_seconds, RLIM_INFINITY));
  NVMDB_TRY(set_limit(RLIMIT_NOFILE, 32, 32));
  NVMDB_TRY(set_limit(RLIMIT_NPROC, 0, 0));
  NVMDB_TRY(set_limit(RLIMIT_FSIZE, 0, 0));
  return set_limit(RLIMIT_CORE, 0, 0);
}

Result<std::string> enter_sandbox(const std::string& readable_directory, int channel_descriptor) {
  NVMDB_ASSIGN(const int abi, restrict_files(readable_directory));
  NVMDB_TRY(drop_capabilities());
  NVMDB_TRY(filter_system_calls(channel_descriptor));
  return "Landlock ABI " + std::to_string(abi) + (abi >= 4 ? " (files, network)" : " (files)") +
         ", seccomp allow-list, no capabilities, resource limits";
}

}  // namespace nvmdb::ingest
