#include "storage/nvm/pool_root.h"

#include <fcntl.h>
#include <libpmemobj.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/check.h"
#include "storage/base/narrow.h"
#include "storage/nvm/posix.h"

namespace nvmdb::storage {
namespace {

constexpr const char* kLayout = "nvmdb";
constexpr std::uint64_t kLineBytes = 64;

/// Bytes of the root object: the identity, room to reach a line boundary, the words.
std::uint64_t root_object_bytes(const IdentityBlock& identity) {
  return sizeof(IdentityBlock) + kLineBytes + align_up(identity.root_words * 8, kLineBytes);
}

/// Size of the file: libpmemobj's own needs (its smallest pool is 8 MiB) and the object, in its chunks of 256
/// KiB.
std::uint64_t root_file_bytes(const IdentityBlock& identity) {
  constexpr std::uint64_t chunk = 256U << 10U;
  return PMEMOBJ_MIN_POOL + align_up(root_object_bytes(identity), chunk) * 2;
}

std::byte* words_of(void* root) {
  auto* object = static_cast<std::byte*>(root);
  const std::uint64_t identity_end = reinterpret_cast<std::uintptr_t>(object) + sizeof(IdentityBlock);
  return object + (align_up(identity_end, kLineBytes) - identity_end) + sizeof(IdentityBlock);
}

/// Closes the pool on the way out.
class OpenPool {
 public:
  explicit OpenPool(PMEMobjpool* pool) : pool_(pool) {}
  ~OpenPool() {
    if (pool_ != nullptr) pmemobj_close(pool_);
  }
  OpenPool(const OpenPool&) = delete;
  OpenPool& operator=(const OpenPool&) = delete;
  [[nodiscard]] PMEMobjpool* get() const { return pool_; }
  [[nodiscard]] PMEMobjpool* release() { return std::exchange(pool_, nullptr); }

 private:
  PMEMobjpool* pool_;
};

Status pmemobj_status(std::string_view action, const std::string& path, int error) {
  const std::string detail = std::string(action) + ": " + pmemobj_errormsg();
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EACCES:
    case EPERM:
    case EROFS:
      return errno_status(detail, path, error);
    case EAGAIN:
      return Status::conflict(path + ": the pool is open in another process: " + detail);
    default:
      return Status::corruption(path + ": damaged root: " + detail);
  }
}

/// libpmemobj syncs only what it believes to be no persistent memory; creation must be durable on every
/// device.
Status sync_file(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.is_open()) return errno_status("open", path, errno);
  if (::fsync(fd.get()) != 0) return errno_status("sync", path, errno);
  return Status::ok();
}

/// PMDK 2.1 and later refuse pools on files without an unsafe-shutdown counter; ours are checked by
/// checksums.
void allow_files() {
  int off = 0;
  (void)pmemobj_ctl_set(nullptr, "sds.at_create", &off);
}

}  // namespace

Status PoolRoot::create(const std::filesystem::path& path, const IdentityBlock& identity) {
  allow_files();
  {
    const OpenPool pool(pmemobj_create(path.c_str(), kLayout, root_file_bytes(identity), 0600));
    if (pool.get() == nullptr) return pmemobj_status("create", path.string(), errno);
    const PMEMoid root = pmemobj_root(pool.get(), root_object_bytes(identity));
    if (OID_IS_NULL(root)) return pmemobj_status("allocate the root words", path.string(), errno);
    // pmemobj_root() gives zeroed memory.
    pmemobj_memcpy_persist(pool.get(), pmemobj_direct(root), &identity, sizeof identity);
  }
  return sync_file(path.string());
}

Result<std::unique_ptr<PoolRoot>> PoolRoot::open(const std::filesystem::path& path,
                                                 const IdentityBlock& identity) {
  {
    const FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!fd.is_open()) {
      if (errno == ENOENT) return Status::corruption(path.string() + ": the root is missing");
      return errno_status("open", path.string(), errno);
    }
    // libpmemobj believes its header, and dies reading behind the end of a file that was cut off.
    NVMDB_TRY(check_allocated_file(fd.get(), path.string(), root_file_bytes(identity)));
  }
  allow_files();
  // The check maps the file privately: a root that is refused keeps its bytes.
  if (const int consistent = pmemobj_check(path.c_str(), kLayout); consistent != 1) {
    return pmemobj_status("check", path.string(), consistent < 0 ? errno : 0);
  }
  OpenPool pool(pmemobj_open(path.c_str(), kLayout));
  if (pool.get() == nullptr) return pmemobj_status("open", path.string(), errno);
  if (pmemobj_root_size(pool.get()) < root_object_bytes(identity)) {
    return Status::corruption(path.string() + ": damaged root: expected " +
                              std::to_string(root_object_bytes(identity)) + " bytes of root words, found " +
                              std::to_string(pmemobj_root_size(pool.get())));
  }
  void* root = pmemobj_direct(pmemobj_root(pool.get(), root_object_bytes(identity)));
  if (root == nullptr) return pmemobj_status("find the root words", path.string(), errno);
  const ByteSpan stored(static_cast<const std::byte*>(root), sizeof(IdentityBlock));
  NVMDB_ASSIGN(const IdentityBlock found, parse_identity(stored, path.string()));
  if (std::memcmp(&found, &identity, sizeof identity) != 0) {
    return Status::corruption(path.string() + ": the root belongs to another pool");
  }
  return std::unique_ptr<PoolRoot>(new PoolRoot(pool.release(), words_of(root)));
}

PoolRoot::~PoolRoot() {
  pmemobj_close(static_cast<PMEMobjpool*>(pool_));
}

}  // namespace nvmdb::storage
