#include "storage/nvm/mapped_region.h"

#include <fcntl.h>
#include <libpmem2.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "storage/base/mutex.h"
#include "storage/base/narrow.h"
#include "storage/base/size_text.h"
#include "storage/nvm/cache_line_door.h"
#include "storage/nvm/file_door.h"
#include "storage/nvm/pool_lock.h"

namespace nvmdb::storage {
namespace {

/// Orders of size for planning, not measurements.
constexpr std::uint64_t kMemoryFenceNs = 100;
constexpr std::uint64_t kFileSyncNs = 150'000;
constexpr std::uint32_t kMemoryWriteUnit = 256;
constexpr std::uint32_t kFileWriteUnit = 4096;

bool granularity_is_forced() {
  return std::getenv("PMEM2_FORCE_GRANULARITY") != nullptr;
}

bool is_memory_file(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == TMPFS_MAGIC;
}

bool is_dax_file(int fd) {
  struct statx info {};
  return ::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &info) == 0 &&
         (info.stx_attributes & STATX_ATTR_DAX) != 0;
}

Status pmem2_status(std::string_view action, const std::string& path) {
  return Status::io_error(path + ": " + std::string(action) + ": " + pmem2_errormsg());
}

DeviceProfile profile_of(int fd, bool by_lines) {
  const bool memory_file = is_memory_file(fd);
  DeviceProfile device;
  device.kind = memory_file ? "shm" : by_lines && is_dax_file(fd) ? "fsdax" : "file";
  // A granularity forced onto an ordinary file skips the syncs: such a pool survives a crash of the process
  // only.
  device.durability = device.kind == "fsdax"               ? Durability::PowerFail
                      : device.kind == "file" && !by_lines ? Durability::FileSync
                                                           : Durability::ProcessCrash;
  device.write_unit_bytes = by_lines ? kMemoryWriteUnit : kFileWriteUnit;
  device.best_log_writers = by_lines ? 2 : 1;
  device.fence_cost_ns = by_lines ? kMemoryFenceNs : kFileSyncNs;
  return device;
}

struct LineFunctions {
  pmem2_flush_fn flush;
  pmem2_drain_fn drain;
};

/// libpmem2's flush and drain for this processor's lines, for memory that libpmem2 itself takes for a file:
/// the effect of PMEM2_FORCE_GRANULARITY=CACHE_LINE without changing the environment, which other threads may
/// be reading. They come from one small mapping that lives as long as the process: libpmem2 1.12 never
/// forgets such a mapping.
Result<LineFunctions> cache_line_functions(const pmem2_source* source) {
  static Mutex mutex;
  static pmem2_map* map = nullptr;
  const MutexLock lock(mutex);
  if (map == nullptr) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* memory = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno_status("mmap", "one page", errno);
    if (pmem2_map_from_existing(&map, source, memory, page, PMEM2_GRANULARITY_CACHE_LINE) != 0) {
      map = nullptr;
      ::munmap(memory, page);
      return pmem2_status("pmem2_map_from_existing", "one page");
    }
  }
  return LineFunctions{pmem2_get_flush_fn(map), pmem2_get_drain_fn(map)};
}

}  // namespace

struct MappedRegion::Mapping {
  pmem2_source* source = nullptr;
  pmem2_config* config = nullptr;
  pmem2_map* map = nullptr;
  std::optional<LineFunctions> lines;  ///< none: the device wants syncs

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (map != nullptr) pmem2_map_delete(&map);
    if (config != nullptr) pmem2_config_delete(&config);
    if (source != nullptr) pmem2_source_delete(&source);
  }

  Status open(int fd, const std::string& path) {
    if (pmem2_source_from_fd(&source, fd) != 0) return pmem2_status("pmem2_source_from_fd", path);
    if (pmem2_config_new(&config) != 0) return pmem2_status("pmem2_config_new", path);
    if (pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE) != 0 ||
        pmem2_map_new(&map, config, source) != 0) {
      return pmem2_status("pmem2_map_new", path);
    }
    if (pmem2_map_get_store_granularity(map) != PMEM2_GRANULARITY_PAGE) {
      lines = LineFunctions{pmem2_get_flush_fn(map), pmem2_get_drain_fn(map)};
    } else if (is_memory_file(fd) && !granularity_is_forced()) {
      NVMDB_ASSIGN(lines, cache_line_functions(source));
    }
    return Status::ok();
  }
  [[nodiscard]] std::byte* memory() const { return static_cast<std::byte*>(pmem2_map_get_address(map)); }
};

MappedRegion::MappedRegion(FileDescriptor fd) : fd_(std::move(fd)), mapping_(std::make_unique<Mapping>()) {}

MappedRegion::~MappedRegion() = default;

Status MappedRegion::create(const std::filesystem::path& path, std::uint64_t bytes) {
  const FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) return errno_status("create", path.string(), errno);
  int error = 0;
  do {
    error = ::posix_fallocate(fd.get(), 0, narrow<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  if (error == 0) return Status::ok();
  struct statvfs space {};
  const bool known = ::fstatvfs(fd.get(), &space) == 0;
  ::unlink(path.c_str());
  return errno_status("preallocate " + format_size(bytes) +
                          (known ? " (" + format_size(space.f_bavail * space.f_frsize) + " free)" : ""),
                      path.string(), error);
}

Result<std::unique_ptr<MappedRegion>> MappedRegion::open(const std::filesystem::path& path,
                                                         std::uint64_t bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) {
    if (errno == ENOENT) return Status::corruption(path.string() + ": the region is missing");
    return errno_status("open", path.string(), errno);
  }
  NVMDB_TRY(lock_file(fd.get(), path.string()));
  NVMDB_TRY(check_allocated_file(fd.get(), path.string(), bytes));
  std::unique_ptr<MappedRegion> region(new MappedRegion(std::move(fd)));
  Mapping& mapping = *region->mapping_;
  NVMDB_TRY(mapping.open(region->fd_.get(), path.string()));
  // Core dumps stay small and hold no stored data. A kernel that cannot is no reason to stop.
  (void)::madvise(mapping.memory(), bytes, MADV_DONTDUMP);
  region->guard_.emplace(mapping.memory(), bytes, path.string());
  region->name_ = path.string();
  region->device_ = profile_of(region->fd_.get(), mapping.lines.has_value());
  if (mapping.lines.has_value()) {
    region->door_ = region->make_door(mapping.memory(), bytes, path.string());
  } else {
    region->door_ = std::make_unique<FileDoor>(mapping.memory(), bytes, region->fd_.get(), 0, path.string());
  }
  return region;
}

std::unique_ptr<Door> MappedRegion::synced_door() const {
  return std::make_unique<FileDoor>(mapping_->memory(), door_->size(), fd_.get(), 0, name_);
}

std::unique_ptr<Door> MappedRegion::make_door(std::byte* memory, std::uint64_t bytes,
                                              std::string name) const {
  if (!mapping_->lines.has_value()) return std::make_unique<FileDoor>(memory, bytes, -1, 0, std::move(name));
  return std::make_unique<CacheLineDoor>(memory, bytes, mapping_->lines->flush, mapping_->lines->drain);
}

}  // namespace nvmdb::storage
