#include "storage/nvm/pool_snapshot.h"

#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/nvm/cache_line_door.h"
#include "storage/nvm/media_guard.h"
#include "storage/nvm/pool_identity.h"
#include "storage/nvm/pool_lock.h"
#include "storage/nvm/pool_root.h"
#include "storage/nvm/posix.h"

namespace nvmdb::storage {
namespace {

namespace fs = std::filesystem;

void flush_nothing(const void*, std::size_t) {}
/// Nothing becomes durable, but other threads see non-temporal stores only after it.
void drain() {
  _mm_sfence();
}

/// A region mapped copy-on-write.
class PrivateRegion {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PrivateRegion>> open(const fs::path& path,
                                                                   std::uint64_t bytes) {
    std::unique_ptr<PrivateRegion> region(new PrivateRegion);
    region->fd_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!region->fd_.is_open()) {
      if (errno == ENOENT) return Status::corruption(path.string() + ": the region is missing");
      return errno_status("open", path.string(), errno);
    }
    NVMDB_TRY(lock_file(region->fd_.get(), path.string()));
    NVMDB_TRY(check_allocated_file(region->fd_.get(), path.string(), bytes));
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, region->fd_.get(), 0);
    if (memory == MAP_FAILED) return errno_status("map", path.string(), errno);
    region->memory_ = static_cast<std::byte*>(memory);
    region->door_ = std::make_unique<CacheLineDoor>(region->memory_, bytes, flush_nothing, drain);
    region->guard_ = std::make_unique<GuardedMemory>(region->memory_, bytes, path.string());
    return region;
  }
  ~PrivateRegion() {
    guard_.reset();
    if (memory_ != nullptr) ::munmap(memory_, door_->size());
  }
  PrivateRegion(const PrivateRegion&) = delete;
  PrivateRegion& operator=(const PrivateRegion&) = delete;
  [[nodiscard]] Door& door() { return *door_; }

 private:
  PrivateRegion() = default;
  FileDescriptor fd_;
  std::byte* memory_ = nullptr;
  std::unique_ptr<CacheLineDoor> door_;
  std::unique_ptr<GuardedMemory> guard_;
};

/// A directory that is gone with its content at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((fs::temp_directory_path() / "nvmdb-look-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryDirectory() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// libpmemobj writes into a pool when it opens it: it is given a copy. All bytes are written, zeros too,
/// because a root with holes is refused.
Status copy_bytes(const fs::path& from, const fs::path& to) {
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!source.is_open()) {
    if (errno == ENOENT) return Status::corruption(from.string() + ": the root is missing");
    return errno_status("open", from.string(), errno);
  }
  const FileDescriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target.is_open()) return errno_status("create", to.string(), errno);
  std::vector<char> buffer(std::size_t{1} << 20U);
  for (;;) {
    const ssize_t count = ::read(source.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status("read", from.string(), errno);
    if (count == 0) return Status::ok();
    for (ssize_t done = 0; done < count;) {
      const ssize_t written =
          ::write(target.get(), buffer.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0 && errno != EINTR) return errno_status("write", to.string(), errno);
      if (written > 0) done += written;
    }
  }
}

}  // namespace

struct PoolSnapshot::State {
  PoolIdentity identity;
  DeviceProfile device;
  FileDescriptor lock;
  TemporaryDirectory copies;
  std::unique_ptr<PoolRoot> root;
  std::unique_ptr<Door> root_door;
  std::vector<std::unique_ptr<PrivateRegion>> regions;
};

PoolSnapshot::PoolSnapshot(std::unique_ptr<State> state) : state_(std::move(state)) {}
PoolSnapshot::~PoolSnapshot() = default;

Result<std::unique_ptr<PoolSnapshot>> PoolSnapshot::open(const std::filesystem::path& directory) {
  auto state = std::make_unique<State>();
  const Result<IdentityBlock> identity = read_identity(directory / "identity");
  if (identity.status().code() == Code::NotFound)
    return Status::not_found(directory.string() + ": there is no pool");
  if (!identity.is_ok()) return identity.status();
  // The lock alone is taken: the file keeps what it says.
  const fs::path lock = directory / "lock";
  state->lock = FileDescriptor(::open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  if (state->lock.is_open()) NVMDB_TRY(lock_file(state->lock.get(), lock.string()));
  state->identity = {identity->uuid, identity->format_version};
  state->device.kind = "copy in memory";
  for (std::uint32_t index = 0; index < identity->region_count; ++index) {
    NVMDB_ASSIGN(auto region, PrivateRegion::open(directory / ("region." + std::to_string(index)),
                                                  identity->region_bytes));
    state->regions.push_back(std::move(region));
  }
  if (state->copies.path().empty())
    return errno_status("make a directory in", fs::temp_directory_path().string(), errno);
  const fs::path copy = fs::path(state->copies.path()) / "root";
  NVMDB_TRY(copy_bytes(directory / "root", copy));
  Result<std::unique_ptr<PoolRoot>> root = PoolRoot::open(copy, *identity);
  if (!root.is_ok()) {
    // Its words name the copy, which nobody can find any more.
    std::string words = root.status().message();
    for (std::size_t at = words.find(copy.string()); at != std::string::npos; at = words.find(copy.string()))
      words.replace(at, copy.string().size(), (directory / "root").string());
    return Status(root.status().code(), words);
  }
  state->root = std::move(root).value();
  state->root_door =
      std::make_unique<CacheLineDoor>(state->root->words(), identity->root_words * 8, flush_nothing, drain);
  return std::unique_ptr<PoolSnapshot>(new PoolSnapshot(std::move(state)));
}

const PoolIdentity& PoolSnapshot::identity() const {
  return state_->identity;
}
const DeviceProfile& PoolSnapshot::device() const {
  return state_->device;
}
Door& PoolSnapshot::root_words() {
  return *state_->root_door;
}
std::uint32_t PoolSnapshot::region_count() const {
  return static_cast<std::uint32_t>(state_->regions.size());
}
Door& PoolSnapshot::region(std::uint32_t index) {
  NVMDB_CHECK(index < state_->regions.size(), "no such region");
  return state_->regions[index]->door();
}

}  // namespace nvmdb::storage
