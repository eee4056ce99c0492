#include "storage/device/device_profile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "storage/base/crc32c.h"
#include "storage/base/narrow.h"
#include "storage/nvm/posix.h"
#include "storage/page/page.h"

namespace nvmdb::storage {
namespace {

constexpr std::array<unsigned char, 16> kMagic{'N', 'V', 'M',  'D',  'B',  ' ',  'd',  'e',
                                               'v', 'i', 0x89, '\r', '\n', 0x1a, '\n', 0};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kFiguresMax = 4096;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kFileBytesMax = 1U << 20U;
constexpr std::uint32_t kThreadsMax = 64;
constexpr std::uint32_t kUnitMax = 64U << 10U;

bool is_figure(double value) {
  return std::isfinite(value) && value >= 0;
}

bool is_name(const std::string& text) {
  return text.size() <= kNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_sane(const DeviceFigure& figure) {
  return figure.path <= AccessPath::Read && figure.pattern <= AccessPattern::Random && figure.threads >= 1 &&
         figure.threads <= kThreadsMax && figure.transfer_bytes >= 1 && figure.transfer_bytes <= kPageBytes &&
         is_figure(figure.bytes_per_second) && is_figure(figure.p50_ns) && is_figure(figure.p99_ns);
}

bool is_sane(const DeviceProfile& profile) {
  const std::uint32_t unit = profile.write_unit_bytes;
  const bool shape = unit >= 256 && unit <= kUnitMax && std::has_single_bit(unit) &&
                     profile.log_block_bytes >= unit && profile.log_block_bytes % unit == 0 &&
                     profile.log_block_bytes <= kPageBytes / 4 && profile.best_log_writers >= 1 &&
                     profile.best_log_writers <= kThreadsMax && profile.best_readers <= kThreadsMax;
  const bool origin = profile.origin <= ProfileOrigin::Modelled &&
                      (profile.origin == ProfileOrigin::Modelled) == !profile.model.empty();
  return shape && origin && is_name(profile.kind) && is_name(profile.model) && profile.measured_at >= 0 &&
         is_figure(profile.read_latency_ns) && is_figure(profile.read_bytes_per_second) &&
         is_figure(profile.write_bytes_per_second) &&
         std::all_of(profile.figures.begin(), profile.figures.end(),
                     [](const DeviceFigure& figure) { return is_sane(figure); });
}

DeviceFigure read_figure(ByteReader& reader) {
  DeviceFigure figure;
  figure.path = static_cast<AccessPath>(reader.get<std::uint8_t>());
  figure.pattern = static_cast<AccessPattern>(reader.get<std::uint8_t>());
  figure.threads = reader.get<std::uint32_t>();
  figure.transfer_bytes = reader.get<std::uint64_t>();
  figure.bytes_per_second = reader.get<double>();
  figure.p50_ns = reader.get<double>();
  figure.p99_ns = reader.get<double>();
  return figure;
}

void put_figure(ByteWriter& writer, const DeviceFigure& figure) {
  writer.put(static_cast<std::uint8_t>(figure.path));
  writer.put(static_cast<std::uint8_t>(figure.pattern));
  writer.put(figure.threads);
  writer.put(figure.transfer_bytes);
  writer.put(figure.bytes_per_second);
  writer.put(figure.p50_ns);
  writer.put(figure.p99_ns);
}

/// The values between the head and the checksum; false: cut short or followed by more.
bool read_values(ByteReader& reader, DeviceProfile& profile) {
  profile.kind = reader.get_string();
  profile.write_unit_bytes = reader.get<std::uint32_t>();
  profile.best_log_writers = reader.get<std::uint32_t>();
  profile.log_block_bytes = reader.get<std::uint32_t>();
  profile.fence_cost_ns = reader.get<std::uint64_t>();
  profile.origin = static_cast<ProfileOrigin>(reader.get<std::uint8_t>());
  profile.model = reader.get_string();
  profile.measured_at = reader.get<std::int64_t>();
  profile.best_readers = reader.get<std::uint32_t>();
  profile.read_latency_ns = reader.get<double>();
  profile.read_bytes_per_second = reader.get<double>();
  profile.write_bytes_per_second = reader.get<double>();
  const auto count = reader.get<std::uint32_t>();
  if (!reader.ok() || count > kFiguresMax) return false;
  for (std::uint32_t i = 0; i < count && reader.ok(); ++i) profile.figures.push_back(read_figure(reader));
  return reader.complete();
}

}  // namespace

std::string durability_words(Durability durability) {
  switch (durability) {
    case Durability::PowerFail:
      return "power-fail safe: persistent memory, durable by flush and fence";
    case Durability::FileSync:
      return "power-fail safe if the disk keeps what it acknowledges: ordinary file, durable by synchronous "
             "writes";
    case Durability::ProcessCrash:
      return "process-crash safe only: memory of this machine, lost at power-off or restart of the machine";
  }
  NVMDB_CHECK(false, "unknown durability");
}

std::string origin_words(const DeviceProfile& profile) {
  switch (profile.origin) {
    case ProfileOrigin::Assumed:
      return "assumed, not measured";
    case ProfileOrigin::Measured:
      return "measured";
    case ProfileOrigin::Modelled:
      return "modelled as " + profile.model + ", not measured on a device";
  }
  NVMDB_CHECK(false, "unknown origin of a profile");
}

std::string path_name(AccessPath path, bool by_lines) {
  switch (path) {
    case AccessPath::Nontemporal:
      return by_lines ? "nontemporal" : "pwrite_sync";
    case AccessPath::StoreFlush:
      return by_lines ? "store_clwb" : "store_msync";
    case AccessPath::Msync:
      return "msync";
    case AccessPath::Read:
      return "read";
  }
  NVMDB_CHECK(false, "unknown access path");
}

bool is_by_lines(const DeviceProfile& profile) {
  return profile.durability != Durability::FileSync;
}

Bytes encode_profile(const DeviceProfile& profile, const PoolUuid& uuid) {
  NVMDB_CHECK(is_sane(profile) && profile.figures.size() <= kFiguresMax, "a profile out of range");
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(uuid);
  writer.put_string(profile.kind);
  writer.put(profile.write_unit_bytes);
  writer.put(profile.best_log_writers);
  writer.put(profile.log_block_bytes);
  writer.put(profile.fence_cost_ns);
  writer.put(static_cast<std::uint8_t>(profile.origin));
  writer.put_string(profile.model);
  writer.put(profile.measured_at);
  writer.put(profile.best_readers);
  writer.put(profile.read_latency_ns);
  writer.put(profile.read_bytes_per_second);
  writer.put(profile.write_bytes_per_second);
  writer.put(narrow<std::uint32_t>(profile.figures.size()));
  for (const DeviceFigure& figure : profile.figures) put_figure(writer, figure);
  writer.put(crc32c(writer.bytes()));
  return writer.take();
}

Result<DeviceProfile> parse_profile(ByteSpan bytes, const PoolUuid& uuid, const std::string& name) {
  constexpr std::size_t kHead = sizeof kMagic + sizeof kVersion + sizeof uuid;
  if (bytes.size() < kHead + sizeof(std::uint32_t) ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return Status::corruption(name + ": this is not a device profile of a pool");
  }
  ByteReader head(bytes.subspan(kMagic.size()));
  if (const auto version = head.get<std::uint32_t>(); version != kVersion) {
    return Status::invalid_argument(name + ": the profile has version " + std::to_string(version) +
                                    ", this program reads version " + std::to_string(kVersion));
  }
  const std::size_t end = bytes.size() - sizeof(std::uint32_t);
  ByteReader tail(bytes.subspan(end));
  const auto stored = tail.get<std::uint32_t>();
  if (const std::uint32_t crc = crc32c(bytes.first(end)); crc != stored) {
    return Status::corruption(name + ": damaged profile: checksum expected " + std::to_string(crc) + ", found " +
                              std::to_string(stored));
  }
  if (head.get<PoolUuid>() != uuid) return Status::invalid_argument(name + ": the profile of another pool");
  ByteReader values(bytes.subspan(kHead, end - kHead));
  DeviceProfile profile;
  if (!read_values(values, profile)) return Status::corruption(name + ": the profile's lengths do not fit");
  if (!is_sane(profile)) return Status::corruption(name + ": the profile has impossible values");
  return profile;
}

Result<DeviceProfile> read_profile(const std::filesystem::path& path, const PoolUuid& uuid) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return errno_status("open", path.string(), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_status("stat", path.string(), errno);
  if (!S_ISREG(info.st_mode) || info.st_size < 0 || as_unsigned(info.st_size) > kFileBytesMax) {
    return Status::corruption(path.string() + ": not a device profile: no file of at most 1 MiB");
  }
  Bytes bytes(as_unsigned(info.st_size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t count = ::pread(fd.get(), bytes.data() + at, bytes.size() - at, narrow<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status("read", path.string(), errno);
    if (count == 0) break;
    at += as_unsigned(count);
  }
  return parse_profile(ByteSpan(bytes).first(at), uuid, path.string());
}

DeviceProfile combine_profiles(DeviceProfile device, const Result<DeviceProfile>& stored) {
  if (!stored.is_ok()) {
    if (stored.status().code() != Code::NotFound) {
      device.note = "stored profile not used: " + stored.status().message();
    }
    return device;
  }
  if (stored->kind != device.kind || stored->write_unit_bytes % device.write_unit_bytes != 0 ||
      stored->origin != ProfileOrigin::Measured) {
    device.note = "stored profile not used: it was " + origin_words(*stored) + " for a device of kind " +
                  stored->kind + "; calibrate again";
    return device;
  }
  DeviceProfile combined = *stored;
  combined.durability = device.durability;
  return combined;
}

}  // namespace nvmdb::storage
