#include "ingest/worker/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "ingest/protocol/channel.h"

namespace nvmdb::ingest {
namespace {

constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kCreateRulesetVersion = 1;
constexpr int kRulePathBeneath = 1;

constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadDirectory = 1U << 3U;

struct RulesetAttributes {
  std::uint64_t handled_access_files;
  std::uint64_t handled_access_network;  ///< from ABI 4
  std::uint64_t scoped;                  ///< from ABI 6
};
struct __attribute__((packed)) PathBeneathAttributes {
  std::uint64_t allowed_access;
  std::int32_t parent_descriptor;
};

/// File rights that this ABI can deny: bits 0 to 12 from 1, then refer (2), truncate (3), ioctl on devices
/// (5).
std::uint64_t file_rights(int abi) {
  const int bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
  return (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
}

Status refused(const char* what) {
  return Status::permission_denied(std::string("Landlock: ") + what + ": " + std::strerror(errno));
}

}  // namespace

Result<int> restrict_files(const std::string& readable_directory) {
  const auto abi =
      static_cast<int>(::syscall(kCreateRuleset, nullptr, std::size_t{0}, kCreateRulesetVersion));
  if (abi < 1) return refused("not in this kernel");
  RulesetAttributes attributes{file_rights(abi), abi >= 4 ? 3U : 0U, abi >= 6 ? 3U : 0U};
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  const protocol::FileDescriptor ruleset(static_cast<int>(::syscall(kCreateRuleset, &attributes, size, 0U)));
  if (!ruleset.is_open()) return refused("cannot make a rule set");

  const protocol::FileDescriptor directory(
      ::open(readable_directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return refused(("cannot open " + readable_directory).c_str());
  PathBeneathAttributes rule{kReadFile | kReadDirectory, directory.get()};
  if (::syscall(kAddRule, ruleset.get(), kRulePathBeneath, &rule, 0U) != 0)
    return refused("cannot add a rule");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("no_new_privs");
  if (::syscall(kRestrictSelf, ruleset.get(), 0U) != 0) return refused("cannot restrict the process");
  return abi;
}

}  // namespace nvmdb::ingest
