#include "storage/nvm/pool.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/fail_point.h"
#include "storage/base/size_text.h"
#include "storage/nvm/mapped_region.h"
#include "storage/nvm/pool_identity.h"
#include "storage/nvm/pool_lock.h"
#include "storage/nvm/pool_root.h"
#include "storage/page/page.h"

namespace nvmdb::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPoolBytesMin = 16ULL << 20U;

/// Names of the files of a pool.
struct Files {
  fs::path directory;
  [[nodiscard]] fs::path identity() const { return directory / "identity"; }
  [[nodiscard]] fs::path root() const { return directory / "root"; }
  [[nodiscard]] fs::path lock() const { return directory / "lock"; }
  [[nodiscard]] fs::path device() const { return directory / "device"; }
  /// There from the first to the last step of a creation.
  [[nodiscard]] fs::path creating() const { return directory / "creating"; }
  [[nodiscard]] fs::path region(std::uint32_t index) const {
    return directory / ("region." + std::to_string(index));
  }
};

bool is_there(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

/// What is in the directory of an absent pool.
enum class Leftover : unsigned char { Nothing, HalfMade, Foreign };

Result<Leftover> look_for_leftovers(const Files& files) {
  DIR* directory = ::opendir(files.directory.c_str());
  if (directory == nullptr) return errno_status("open", files.directory.string(), errno);
  bool other = false;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    // The lock is made before all else, so it says nothing; lost+found is there in each new file system.
    other = other || (name != "." && name != ".." && name != "lock" && name != "lost+found");
  }
  ::closedir(directory);
  if (is_there(files.creating())) return Leftover::HalfMade;
  return other ? Leftover::Foreign : Leftover::Nothing;
}

void remove_half_made(const Files& files) {
  (void)::unlink((files.identity().string() + ".new").c_str());
  (void)::unlink(files.root().c_str());
  for (std::uint32_t index = 0; index < kPoolRegionsMax; ++index) (void)::unlink(files.region(index).c_str());
  // Last, so that a crash within leaves the rest recognisable.
  (void)sync_directory(files.directory);
  (void)::unlink(files.creating().c_str());
}

Status create_marker(const Files& files) {
  std::FILE* marker = std::fopen(files.creating().c_str(), "we");
  if (marker == nullptr) return errno_status("create", files.creating().string(), errno);
  if (std::fclose(marker) != 0) return errno_status("create", files.creating().string(), errno);
  return sync_directory(files.directory);
}

Result<IdentityBlock> build(const Files& files, const PoolOptions& options) {
  const std::uint64_t region_bytes = options.nvm_bytes / options.regions / kPageBytes * kPageBytes;
  NVMDB_ASSIGN(const IdentityBlock identity, new_identity(options.regions, region_bytes));
  for (std::uint32_t index = 0; index < options.regions; ++index) {
    NVMDB_TRY(MappedRegion::create(files.region(index), region_bytes));
  }
  NVMDB_FAIL_POINT_TRY("pool.root");
  NVMDB_TRY(PoolRoot::create(files.root(), identity));
  NVMDB_TRY(sync_directory(files.directory));
  NVMDB_FAIL_POINT_TRY("pool.identity");
  // The rename in here is the moment at which the pool exists.
  NVMDB_TRY(write_identity(files.identity(), identity));
  NVMDB_FAIL_POINT("pool.created");
  return identity;
}

Status check_options(const PoolOptions& options) {
  if (options.regions == 0 || options.regions > kPoolRegionsMax) {
    return Status::invalid_argument("pool: " + std::to_string(options.regions) +
                                    " regions asked for, possible are 1 to " +
                                    std::to_string(kPoolRegionsMax));
  }
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (options.nvm_bytes < kPoolBytesMin || options.nvm_bytes > most ||
      options.nvm_bytes / options.regions < kPageBytes) {
    return Status::invalid_argument("pool: size " + format_size(options.nvm_bytes) + " in " +
                                    std::to_string(options.regions) + " regions asked for, smallest are " +
                                    format_size(kPoolBytesMin) + " in all and " + format_size(kPageBytes) +
                                    " for each region");
  }
  return Status::ok();
}

fs::path without_trailing_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

Status no_pool(const Files& files) {
  const std::string name = files.directory.string();
  if (is_there(files.creating())) {
    return Status::not_found(name + ": the creation of this pool was cut short; it must be created again");
  }
  if (is_there(files.root()))
    return Status::corruption(files.identity().string() + ": the identity of the pool is missing");
  return Status::not_found(name + ": there is no pool; it must be created first");
}

/// Makes the directory and its parents. True when it was not there.
Result<bool> make_directory(const fs::path& directory) {
  std::error_code error;
  if (!directory.parent_path().empty()) fs::create_directories(directory.parent_path(), error);
  if (error) return errno_status("create directory", directory.parent_path().string(), error.value());
  if (::mkdir(directory.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  return errno_status("create directory", directory.string(), errno);
}

/// Creates the pool under its lock, or finds that another process just did.
Result<IdentityBlock> create_pool(const Files& files, const PoolOptions& options, bool& created) {
  Result<IdentityBlock> present = read_identity(files.identity());
  if (present.is_ok() || present.status().code() != Code::NotFound) return present;
  NVMDB_ASSIGN(const Leftover leftover, look_for_leftovers(files));
  if (leftover == Leftover::Foreign) {
    return Status::invalid_argument(
        files.directory.string() +
        ": the directory is not empty and holds no whole pool; nothing was changed");
  }
  if (leftover == Leftover::HalfMade) remove_half_made(files);
  if (::chmod(files.directory.c_str(), 0700) != 0)
    return errno_status("chmod", files.directory.string(), errno);
  NVMDB_TRY(create_marker(files));
  Result<IdentityBlock> built = build(files, options);
  if (!built.is_ok()) {
    remove_half_made(files);
    return built;
  }
  created = true;
  (void)::unlink(files.creating().c_str());
  return built;
}

}  // namespace

struct Pool::State {
  fs::path directory;
  bool created = false;
  PoolIdentity identity;
  DeviceProfile device;
  // Destroyed in reverse: the doors first, the lock last.
  FileDescriptor lock;
  std::unique_ptr<PoolRoot> root;
  std::vector<std::unique_ptr<MappedRegion>> regions;
  std::unique_ptr<Door> root_door;

  Status open_files(const Files& files, const IdentityBlock& block) {
    identity.uuid = block.uuid;
    identity.format_version = block.format_version;
    for (std::uint32_t index = 0; index < block.region_count; ++index) {
      NVMDB_ASSIGN(auto region, MappedRegion::open(files.region(index), block.region_bytes));
      regions.push_back(std::move(region));
    }
    NVMDB_ASSIGN(root, PoolRoot::open(files.root(), block));
    device = combine_profiles(regions.front()->device(), read_profile(files.device(), block.uuid));
    root_door = regions.front()->make_door(root->words(), block.root_words * 8, files.root().string());
    return Status::ok();
  }
};

Pool::Pool(std::unique_ptr<State> state) : state_(std::move(state)) {}

Pool::~Pool() = default;

Result<std::unique_ptr<Pool>> Pool::open(const std::filesystem::path& path, const PoolOptions& options) {
  const fs::path directory = without_trailing_slash(path);
  const Files files{directory};
  auto state = std::make_unique<State>();
  state->directory = directory;
  struct stat info {};
  const bool present = ::stat(directory.c_str(), &info) == 0;
  if (!present && errno != ENOENT) return errno_status("open", directory.string(), errno);
  if (present && !S_ISDIR(info.st_mode))
    return Status::invalid_argument(directory.string() + ": not a directory");
  if (!present && !options.create) return no_pool(files);
  // Refused before the lock is written, so that a pool of another version keeps all its bytes.
  std::optional<IdentityBlock> identity;
  if (present) {
    Result<IdentityBlock> read = read_identity(files.identity());
    if (!read.is_ok() && (read.status().code() != Code::NotFound)) return read.status();
    if (read.is_ok()) identity = read.value();
  }
  bool made_directory = false;
  if (!identity.has_value()) {
    if (!options.create) return no_pool(files);
    NVMDB_TRY(check_options(options));
    NVMDB_ASSIGN(made_directory, make_directory(directory));
  }
  Result<FileDescriptor> lock = lock_pool(files.lock());
  if (!lock.is_ok()) return lock.status();
  state->lock = std::move(lock).value();
  if (!identity.has_value()) {
    Result<IdentityBlock> made = create_pool(files, options, state->created);
    if (!made.is_ok()) {
      (void)::unlink(files.lock().c_str());
      if (made_directory) (void)::rmdir(files.directory.c_str());
      return made.status();
    }
    identity = made.value();
  }
  // Left by a crash between the last two steps of a creation.
  if (is_there(files.creating())) (void)::unlink(files.creating().c_str());
  NVMDB_TRY(state->open_files(files, *identity));
  return std::unique_ptr<Pool>(new Pool(std::move(state)));
}

const PoolIdentity& Pool::identity() const {
  return state_->identity;
}

const DeviceProfile& Pool::device() const {
  return state_->device;
}

Status Pool::store_profile(const DeviceProfile& profile) {
  const DeviceProfile& found = state_->regions.front()->device();
  if (profile.kind != found.kind || profile.origin != ProfileOrigin::Measured ||
      profile.write_unit_bytes % found.write_unit_bytes != 0) {
    return Status::invalid_argument(state_->directory.string() + ": a profile " + origin_words(profile) + " for " +
                                    profile.kind + " is not one of this device, which is " + found.kind);
  }
  NVMDB_TRY(replace_file(Files{state_->directory}.device(), encode_profile(profile, state_->identity.uuid)));
  state_->device = combine_profiles(found, profile);
  return Status::ok();
}

std::unique_ptr<Door> Pool::synced_door(std::uint32_t index) {
  NVMDB_CHECK(index < state_->regions.size(), "no such region");
  return state_->regions[index]->synced_door();
}

Door& Pool::root_words() {
  return *state_->root_door;
}

std::uint32_t Pool::region_count() const {
  return static_cast<std::uint32_t>(state_->regions.size());
}

Door& Pool::region(std::uint32_t index) {
  NVMDB_CHECK(index < state_->regions.size(), "no such region");
  return state_->regions[index]->door();
}

const std::filesystem::path& Pool::directory() const {
  return state_->directory;
}

bool Pool::created() const {
  return state_->created;
}

}  // namespace nvmdb::storage
