#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::storage {

/// What a power cut or a crash leaves, in words for people and for `info`.
enum class Durability : unsigned char {
  PowerFail,     ///< real persistent memory: flush and fence survive a power cut
  FileSync,      ///< an ordinary file: made durable by synchronous writes
  ProcessCrash,  ///< memory of this machine (/dev/shm): survives a process crash, not a power cut
};
[[nodiscard]] std::string durability_words(Durability durability);

/// Where the figures of a profile come from.
enum class ProfileOrigin : unsigned char {
  Assumed = 0,   ///< orders of size by the kind of device; nothing was measured
  Measured = 1,  ///< by `nvmdb calibrate`, on this pool's device
  Modelled = 2,  ///< a device model adds delays; the figures are the model's, never a device's
};

/// How bytes reach or leave the device.
enum class AccessPath : unsigned char {
  Nontemporal = 0,  ///< Door::copy_nontemporal and fence: non-temporal stores, or pwrite and sync on a file
  StoreFlush = 1,   ///< Door::copy, flush and fence: store + clwb, or store + msync on a file
  Msync = 2,        ///< stores and msync, on a device that does not need it
  Read = 3,
};
enum class AccessPattern : unsigned char { Sequential = 0, Random = 1 };

/// One point of a sweep over the device.
struct DeviceFigure {
  AccessPath path = AccessPath::Nontemporal;
  AccessPattern pattern = AccessPattern::Sequential;
  std::uint32_t threads = 1;
  std::uint64_t transfer_bytes = 0;  ///< of one operation; a write is made durable by a fence of its own
  double bytes_per_second = 0;       ///< of all threads together
  double p50_ns = 0;                 ///< of one operation
  double p99_ns = 0;
  bool operator==(const DeviceFigure&) const = default;
};

/// How the device behind a region behaves; parameters, never constants in code.
struct DeviceProfile {
  std::string kind;  ///< "devdax", "fsdax", "shm", "file", "recorded"
  Durability durability = Durability::ProcessCrash;
  /// Durable writes are laid out and aligned in multiples of it (4096 on files).
  std::uint32_t write_unit_bytes = 256;
  std::uint32_t best_log_writers = 2;           ///< write concurrency the device likes
  std::uint32_t log_block_bytes = 64U << 10U;   ///< largest block of a log writer, in whole write units
  std::uint64_t fence_cost_ns = 100;            ///< rough cost of one small durable write, for group commit
  ProfileOrigin origin = ProfileOrigin::Assumed;
  std::string model;                ///< name of the device model when modelled
  std::int64_t measured_at = 0;     ///< Unix seconds; 0: not measured
  std::uint32_t best_readers = 0;   ///< 0: not known, as all below
  double read_latency_ns = 0;       ///< of a dependent random read of 64 bytes
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  std::vector<DeviceFigure> figures;
  std::string note;  ///< why a stored profile is not used; empty: nothing to say
};

/// "measured", "assumed, not measured", "modelled as NAME, not measured on a device".
[[nodiscard]] std::string origin_words(const DeviceProfile& profile);
/// "nontemporal", "store_clwb", ... as shown to users. `by_lines`: the device is durable by flush instructions.
[[nodiscard]] std::string path_name(AccessPath path, bool by_lines);
[[nodiscard]] bool is_by_lines(const DeviceProfile& profile);

using PoolUuid = std::array<unsigned char, 16>;

/// The bytes of a profile as a pool keeps them: magic, version, uuid of the pool, values, CRC32C.
[[nodiscard]] Bytes encode_profile(const DeviceProfile& profile, const PoolUuid& uuid);

/// Reads and checks what encode_profile() wrote; hostile bytes are refused. Durability is not stored: it is a
/// fact of the device that is found at each open. `name` is for messages.
/// Errors: Corruption (not a profile, damaged, impossible values), InvalidArgument (another version, a profile
/// of another pool).
[[nodiscard]] Result<DeviceProfile> parse_profile(ByteSpan bytes, const PoolUuid& uuid, const std::string& name);

/// Errors: as parse_profile(); NotFound (no such file), PermissionDenied, IoError.
[[nodiscard]] Result<DeviceProfile> read_profile(const std::filesystem::path& path, const PoolUuid& uuid);

/// `device` as it was found at open, with the figures of a profile stored earlier. A stored profile that cannot
/// be used (damaged, of another kind of device) costs tuning, never data: it is passed over, and note says why.
[[nodiscard]] DeviceProfile combine_profiles(DeviceProfile device, const Result<DeviceProfile>& stored);

}  // namespace nvmdb::storage
