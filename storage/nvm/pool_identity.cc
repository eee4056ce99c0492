#include "storage/nvm/pool_identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "storage/base/crc32c.h"
#include "storage/base/narrow.h"
#include "storage/nvm/posix.h"
#include "storage/nvm/root_words.h"
#include "storage/page/page.h"

namespace nvmdb::storage {
namespace {

// Text for people, then bytes that a transfer as text would damage, as in PNG files.
constexpr std::array<unsigned char, 16> kMagic{'N', 'V', 'M',  'D',  'B',  ' ',  'p',  'o',
                                               'o', 'l', 0x89, '\r', '\n', 0x1a, '\n', 0};

ByteSpan bytes_of(const IdentityBlock& identity) {
  return std::as_bytes(std::span(&identity, 1));
}

std::uint32_t crc_of(const IdentityBlock& identity) {
  return crc32c(bytes_of(identity).first(offsetof(IdentityBlock, crc)));
}

}  // namespace

Result<IdentityBlock> new_identity(std::uint32_t region_count, std::uint64_t region_bytes) {
  IdentityBlock identity;
  identity.magic = kMagic;
  identity.format_version = kPoolFormatVersion;
  identity.region_count = region_count;
  identity.region_bytes = region_bytes;
  identity.root_words = kPageDirectoryWord + region_count * (region_bytes / kPageBytes);
  if (::getrandom(identity.uuid.data(), identity.uuid.size(), 0) != narrow<ssize_t>(identity.uuid.size())) {
    return errno_status("random uuid", "getrandom", errno);
  }
  // Version and variant bits of a random UUID (RFC 4122 section 4.4).
  identity.uuid[6] = static_cast<unsigned char>((identity.uuid[6] & 0x0fU) | 0x40U);
  identity.uuid[8] = static_cast<unsigned char>((identity.uuid[8] & 0x3fU) | 0x80U);
  identity.crc = crc_of(identity);
  return identity;
}

Result<IdentityBlock> parse_identity(ByteSpan bytes, const std::string& name) {
  IdentityBlock identity;
  if (bytes.size() >= sizeof identity) std::memcpy(&identity, bytes.data(), sizeof identity);
  if (bytes.size() < sizeof identity || identity.magic != kMagic) {
    return Status::corruption(name + ": this is not the identity of an NVMDB pool");
  }
  if (identity.format_version != kPoolFormatVersion) {
    return Status::invalid_argument(name + ": the pool has format version " +
                                    std::to_string(identity.format_version) +
                                    ", this program reads version " + std::to_string(kPoolFormatVersion) +
                                    ": open it with the program that made it, or make a new pool and ingest the files again");
  }
  if (const std::uint32_t crc = crc_of(identity); crc != identity.crc) {
    return Status::corruption(name + ": damaged identity: checksum expected " + std::to_string(identity.crc) +
                              ", found " + std::to_string(crc));
  }
  const std::uint64_t pages = identity.region_bytes / kPageBytes;
  const bool sane = identity.region_count >= 1 && identity.region_count <= kPoolRegionsMax &&
                    identity.region_bytes % kPageBytes == 0 && pages >= 1 &&
                    pages <= std::numeric_limits<std::uint32_t>::max() &&
                    identity.root_words == kPageDirectoryWord + identity.region_count * pages;
  if (!sane) return Status::corruption(name + ": the identity's sizes do not fit together");
  return identity;
}

Result<IdentityBlock> read_identity(const std::filesystem::path& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return errno_status("open", path.string(), errno);
  std::array<std::byte, sizeof(IdentityBlock) + 1> bytes{};
  const ssize_t count = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
  if (count < 0) return errno_status("read", path.string(), errno);
  if (as_unsigned(count) > sizeof(IdentityBlock))
    return Status::corruption(path.string() + ": longer than an identity");
  return parse_identity(ByteSpan(bytes).first(as_unsigned(count)), path.string());
}

Status write_identity(const std::filesystem::path& path, const IdentityBlock& identity) {
  return replace_file(path, bytes_of(identity));
}

}  // namespace nvmdb::storage
