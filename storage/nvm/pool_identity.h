#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <type_traits>

#include "storage/base/bytes.h"
#include "storage/base/result.h"
#include "storage/nvm/media.h"

namespace nvmdb::storage {

/// The format that this program writes and reads.
inline constexpr std::uint32_t kPoolFormatVersion = 2;
inline constexpr std::uint32_t kPoolRegionsMax = 64;

/// Who a pool is and how large; written once at creation, into the file `identity` and into the root.
/// The magic and the version keep their places in all versions to come.
struct IdentityBlock {
  std::array<unsigned char, 16> magic{};
  std::uint32_t format_version = 0;
  std::uint32_t region_count = 0;
  std::uint64_t region_bytes = 0;  ///< of each region
  std::uint64_t root_words = 0;
  std::array<unsigned char, 16> uuid{};
  std::uint32_t reserved = 0;
  std::uint32_t crc = 0;  ///< CRC32C of all before it
};
static_assert(std::is_trivially_copyable_v<IdentityBlock> && sizeof(IdentityBlock) == 64);
static_assert(offsetof(IdentityBlock, format_version) == 16 && offsetof(IdentityBlock, crc) == 60);

/// A new identity with a random uuid. Errors: IoError (the system gives no random bytes).
[[nodiscard]] Result<IdentityBlock> new_identity(std::uint32_t region_count, std::uint64_t region_bytes);

/// Checks magic, then version, then CRC, then the sizes.
/// Errors: Corruption, InvalidArgument (another version; both are named). `name` is for the message.
[[nodiscard]] Result<IdentityBlock> parse_identity(ByteSpan bytes, const std::string& name);

/// Errors: as parse_identity(); NotFound (no such file), PermissionDenied, IoError.
[[nodiscard]] Result<IdentityBlock> read_identity(const std::filesystem::path& path);

/// Writes the file so that a crash leaves it whole or absent: under another name, synced, then renamed.
/// Errors: OutOfSpace, PermissionDenied, IoError.
[[nodiscard]] Status write_identity(const std::filesystem::path& path, const IdentityBlock& identity);

}  // namespace nvmdb::storage
