#include "storage/nvm/pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "storage/base/crc32c.h"
#include "storage/base/random.h"
#include "storage/nvm/pool_identity.h"
#include "storage/nvm/root_words.h"
#include "storage/page/page_allocator.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::storage {
namespace {

namespace fs = std::filesystem;
using test::ScratchDirectory;

constexpr PoolOptions kCreate{.create = true, .nvm_bytes = 16ULL << 20U, .regions = 2};
constexpr PoolOptions kOpen{};

/// Content of all files of a directory.
std::map<std::string, std::string> content_of(const fs::path& directory) {
  std::map<std::string, std::string> content;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    content[entry.path().filename().string()] = text.str();
  }
  return content;
}

void overwrite(const fs::path& path, std::uint64_t at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
  ASSERT_TRUE(file.good());
}

/// Creates a pool and closes it.
void make_pool(const fs::path& directory) {
  const auto pool = Pool::open(directory, kCreate);
  ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
}

/// Runs `body` in a child process, which it ends with the code that body returns.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// On both kinds of device that every machine has.
class PoolOn : public ::testing::TestWithParam<ScratchDirectory::Place> {
 protected:
  ScratchDirectory scratch_{GetParam()};
  fs::path path_ = scratch_.path() / "pool";
};
INSTANTIATE_TEST_SUITE_P(Devices, PoolOn, ::testing::Values(ScratchDirectory::Memory, ScratchDirectory::Disk),
                         [](const auto& place) {
                           return place.param == ScratchDirectory::Memory ? "Memory" : "Disk";
                         });

TEST_P(PoolOn, KeepsWordsAndPagesAcrossReopening) {
  const Bytes payload(10'000, std::byte{0x5c});
  PoolIdentity identity;
  {
    auto pool = Pool::open(path_, kCreate);
    ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
    EXPECT_TRUE((*pool)->created());
    EXPECT_EQ((*pool)->region_count(), 2U);
    EXPECT_EQ((*pool)->region(0).size(), 8ULL << 20U);
    identity = (*pool)->identity();
    auto pages = PageAllocator::open(**pool);
    ASSERT_TRUE(pages.is_ok());
    ASSERT_TRUE((*pages)->allocate(3, PageKind::Field, 42).is_ok());
    (*pool)->region(1).copy_nontemporal(4096, payload);
    ASSERT_TRUE((*pool)->region(1).fence().is_ok());
    (*pool)->root_words().store8(kCheckpointEpochWord * 8, 77);
    (*pool)->root_words().flush(kCheckpointEpochWord * 8, 8);
    ASSERT_TRUE((*pool)->root_words().fence().is_ok());
  }
  auto pool = Pool::open(path_, kCreate);
  ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
  EXPECT_FALSE((*pool)->created());
  EXPECT_EQ((*pool)->identity().uuid, identity.uuid);
  EXPECT_EQ((*pool)->root_words().load8(kCheckpointEpochWord * 8), 77U);
  EXPECT_TRUE(std::ranges::equal((*pool)->region(1).bytes(4096, payload.size()), payload));
  auto pages = PageAllocator::open(**pool);
  ASSERT_TRUE(pages.is_ok());
  EXPECT_EQ((*pages)->pages_of(PageKind::Field), 3U);
  EXPECT_EQ((*pages)->total_pages(), 8U);
}

TEST_P(PoolOn, IsPrivateAndNeverSparse) {
  make_pool(path_);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  for (const char* name : {"root", "region.0", "region.1", "lock", "identity"}) {
    ASSERT_EQ(::stat((path_ / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 07777U, 0600U) << name;
    EXPECT_GE(info.st_blocks * 512, info.st_size) << name;
  }
  EXPECT_FALSE(fs::exists(path_ / "creating"));
}

TEST_P(PoolOn, SaysWhatItsDeviceIs) {
  auto pool = Pool::open(path_, kCreate);
  ASSERT_TRUE(pool.is_ok());
  const DeviceProfile& device = (*pool)->device();
  if (GetParam() == ScratchDirectory::Memory) {
    EXPECT_EQ(device.kind, "shm");
    EXPECT_EQ(device.durability, Durability::ProcessCrash);
    EXPECT_EQ(device.write_unit_bytes, 256U);
    EXPECT_NE(durability_words(device.durability).find("process-crash safe only"), std::string::npos);
  } else {
    EXPECT_EQ(device.kind, "file");
    EXPECT_EQ(device.durability, Durability::FileSync);
    EXPECT_EQ(device.write_unit_bytes, 4096U);
    EXPECT_NE(durability_words(device.durability).find("ordinary file"), std::string::npos);
  }
}

TEST_P(PoolOn, StoresSurviveAKilledProcess) {
  make_pool(path_);
  const int code = in_child([&] {
    auto pool = Pool::open(path_, kOpen);
    if (!pool.is_ok()) return 1;
    (*pool)->root_words().store8(8, 99);
    (*pool)->root_words().flush(8, 8);
    if (!(*pool)->root_words().fence().is_ok()) return 2;
    ::raise(SIGKILL);
    return 3;
  });
  EXPECT_EQ(code, -1);
  auto pool = Pool::open(path_, kOpen);
  ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
  EXPECT_EQ((*pool)->root_words().load8(8), 99U);
}

TEST_P(PoolOn, HasOneOwnerAtATimeAndNamesIt) {
  auto owner = Pool::open(path_, kCreate);
  ASSERT_TRUE(owner.is_ok());
  const std::string pid = "process " + std::to_string(::getpid());
  const fs::path symbolic = scratch_.path() / "symbolic";
  fs::create_directory_symlink(path_, symbolic);
  // Other directories whose files are the same inodes.
  const fs::path hard = scratch_.path() / "hard";
  const fs::path soft = scratch_.path() / "soft";
  for (const fs::path& other : {hard, soft}) fs::create_directory(other);
  for (const char* name : {"root", "region.0", "region.1", "identity"}) {
    fs::create_hard_link(path_ / name, hard / name);
    fs::create_symlink(path_ / name, soft / name);
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const fs::path& way : {path_, symbolic, hard, soft, path_ / "." / ""}) {
    const auto second = Pool::open(way, kOpen);
    ASSERT_EQ(second.status().code(), Code::Conflict) << way << " " << second.status().to_string();
    EXPECT_NE(second.status().message().find(pid), std::string::npos) << second.status().message();
    const int code = in_child([&] {
      const auto other = Pool::open(way, kCreate);
      return other.status().code() == Code::Conflict &&
                     other.status().message().find(pid) != std::string::npos
                 ? 0
                 : 1;
    });
    EXPECT_EQ(code, 0) << way;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  owner->reset();
  EXPECT_TRUE(Pool::open(hard, kOpen).is_ok());
}

TEST_P(PoolOn, RefusesAnotherVersionNamingBothAndChangesNothing) {
  make_pool(path_);
  for (const std::uint32_t version : {0U, 1U, 3U, 7U, 0xffffffffU}) {
    IdentityBlock block = read_identity(path_ / "identity").value();
    block.format_version = version;
    block.crc = crc32c(std::as_bytes(std::span(&block, 1)).first(offsetof(IdentityBlock, crc)));
    const std::string before = content_of(path_)["identity"];
    overwrite(path_ / "identity", 0, std::string(reinterpret_cast<const char*>(&block), sizeof block));
    const auto content = content_of(path_);
    for (const PoolOptions& options : {kOpen, kCreate}) {
      const auto pool = Pool::open(path_, options);
      ASSERT_EQ(pool.status().code(), Code::InvalidArgument) << pool.status().to_string();
      EXPECT_NE(pool.status().message().find("version " + std::to_string(version)), std::string::npos);
      EXPECT_NE(pool.status().message().find("version " + std::to_string(kPoolFormatVersion)),
                std::string::npos);
    }
    EXPECT_EQ(content_of(path_), content);
    overwrite(path_ / "identity", 0, before);
  }
  EXPECT_TRUE(Pool::open(path_, kOpen).is_ok());
}

TEST_P(PoolOn, DetectsEachDamagedByteOfItsIdentity) {
  make_pool(path_);
  const auto content = content_of(path_);
  const std::string good = content.at("identity");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    overwrite(path_ / "identity", 0, bad);
    const auto pool = Pool::open(path_, kCreate);
    const bool is_version = at >= 16 && at < 20;
    EXPECT_EQ(pool.status().code(), is_version ? Code::InvalidArgument : Code::Corruption) << at;
  }
  overwrite(path_ / "identity", 0, good);
  EXPECT_EQ(content_of(path_), content);
}

TEST_P(PoolOn, RefusesTruncatedSparseAndMissingFiles) {
  make_pool(path_);
  const fs::path region = path_ / "region.1";
  fs::resize_file(region, (8ULL << 20U) - 4096);
  auto refused = Pool::open(path_, kOpen);
  ASSERT_EQ(refused.status().code(), Code::Corruption);
  EXPECT_NE(refused.status().message().find("expected 8388608 bytes, found 8384512"), std::string::npos)
      << refused.status().message();
  fs::resize_file(region, 8ULL << 20U);
  refused = Pool::open(path_, kOpen);
  ASSERT_EQ(refused.status().code(), Code::Corruption);
  EXPECT_NE(refused.status().message().find("sparse"), std::string::npos) << refused.status().message();
  fs::remove(region);
  refused = Pool::open(path_, kOpen);
  ASSERT_EQ(refused.status().code(), Code::Corruption);
  EXPECT_NE(refused.status().message().find("missing"), std::string::npos);
  fs::create_directory(region);
  EXPECT_FALSE(Pool::open(path_, kOpen).is_ok());
}

TEST_P(PoolOn, RefusesADamagedRoot) {
  make_pool(path_);
  const std::string good = content_of(path_)["root"];
  const fs::path root = path_ / "root";
  const auto expect_refused = [&](const char* what) {
    const auto pool = Pool::open(path_, kCreate);
    EXPECT_EQ(pool.status().code(), Code::Corruption) << what << ": " << pool.status().to_string();
  };
  for (const std::uint64_t at : {0ULL, 8ULL, 64ULL, 4096ULL}) {
    overwrite(root, at, "damage");
    expect_refused("header");
    overwrite(root, 0, good);
  }
  // The identity inside: the only place with the magic.
  const std::size_t inside = good.find("NVMDB pool");
  ASSERT_NE(inside, std::string::npos);
  for (const std::size_t at : std::vector<std::size_t>{0, 16, 24, 40, 60}) {
    overwrite(root, inside + at, std::string(1, static_cast<char>(good[inside + at] ^ 1)));
    const auto pool = Pool::open(path_, kOpen);
    EXPECT_FALSE(pool.is_ok()) << at;
    overwrite(root, 0, good);
  }
  fs::resize_file(root, good.size() / 2);
  expect_refused("truncated");
  fs::resize_file(root, 0);
  expect_refused("empty");
  fs::remove(root);
  expect_refused("missing");
}

TEST_P(PoolOn, RefusesTheRootOfAnotherPool) {
  make_pool(path_);
  const fs::path other = scratch_.path() / "other";
  make_pool(other);
  fs::copy_file(other / "root", path_ / "root", fs::copy_options::overwrite_existing);
  const auto pool = Pool::open(path_, kOpen);
  ASSERT_EQ(pool.status().code(), Code::Corruption);
  EXPECT_NE(pool.status().message().find("another pool"), std::string::npos) << pool.status().message();
}

TEST_P(PoolOn, RefusesWhatIsNoPool) {
  EXPECT_EQ(Pool::open(path_, kOpen).status().code(), Code::NotFound);
  EXPECT_FALSE(fs::exists(path_));
  std::ofstream(path_) << "a file";
  EXPECT_EQ(Pool::open(path_, kCreate).status().code(), Code::InvalidArgument);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(Pool::open(path_, kOpen).status().code(), Code::NotFound);
  std::ofstream(path_ / "letter.txt") << "dear";
  const auto content = content_of(path_);
  EXPECT_EQ(Pool::open(path_, kCreate).status().code(), Code::InvalidArgument);
  EXPECT_EQ(content_of(path_), content);
}

TEST_P(PoolOn, RefusesSizesThatMakeNoSense) {
  for (const PoolOptions& options : {PoolOptions{true, (16ULL << 20U) - 1, 1}, PoolOptions{true, 0, 1},
                                     PoolOptions{true, 16ULL << 20U, 0}, PoolOptions{true, 16ULL << 20U, 9},
                                     PoolOptions{true, 1ULL << 40U, 65}, PoolOptions{true, ~0ULL, 1}}) {
    EXPECT_EQ(Pool::open(path_, options).status().code(), Code::InvalidArgument) << options.nvm_bytes;
    EXPECT_FALSE(fs::exists(path_));
  }
}

TEST_P(PoolOn, LeavesNothingWhenThereIsNoSpace) {
  const auto pool = Pool::open(path_, {.create = true, .nvm_bytes = 1ULL << 46U, .regions = 4});
  ASSERT_EQ(pool.status().code(), Code::OutOfSpace) << pool.status().to_string();
  EXPECT_NE(pool.status().message().find("free"), std::string::npos) << pool.status().message();
  EXPECT_FALSE(fs::exists(path_));
  make_pool(path_);
}

TEST_P(PoolOn, RedoesACreationThatWasCutShort) {
  make_pool(path_);
  const std::string identity = content_of(path_)["identity"];
  // As a crash in the middle leaves it: the marker is there, the identity is not.
  std::ofstream(path_ / "creating").close();
  fs::rename(path_ / "identity", path_ / "identity.new");
  fs::resize_file(path_ / "region.1", 4096);
  EXPECT_EQ(Pool::open(path_, kOpen).status().code(), Code::NotFound);
  {
    auto pool = Pool::open(path_, kCreate);
    ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
    EXPECT_TRUE((*pool)->created());
  }
  EXPECT_NE(content_of(path_)["identity"], identity);
  // Cut between the last two steps: the pool is whole.
  std::ofstream(path_ / "creating").close();
  auto pool = Pool::open(path_, kCreate);
  ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
  EXPECT_FALSE((*pool)->created());
  EXPECT_FALSE(fs::exists(path_ / "creating"));
}

TEST_P(PoolOn, NeverRedoesAPoolThatLostItsIdentity) {
  make_pool(path_);
  fs::remove(path_ / "identity");
  const auto content = content_of(path_);
  EXPECT_EQ(Pool::open(path_, kOpen).status().code(), Code::Corruption);
  EXPECT_EQ(Pool::open(path_, kCreate).status().code(), Code::InvalidArgument);
  EXPECT_EQ(content_of(path_)["root"], content.at("root"));
}

TEST_P(PoolOn, RedoesACreationKilledAtAnyMoment) {
  SeededRandom random(1);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)Pool::open(path_, kCreate);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(random.below(12'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    {
      const auto pool = Pool::open(path_, kCreate);
      ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
    }
    fs::remove_all(path_);
  }
}

/// Runs `body` in a child process that sees an empty tmpfs of `bytes` at `at`. 100: the system does not allow
/// it.
template <class Body>
int with_small_device(const fs::path& at, std::uint64_t bytes, const Body& body) {
  return in_child([&] {
    const int spaces = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(spaces) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return 100;
    const std::string size = "size=" + std::to_string(bytes);
    if (::mount("none", at.c_str(), "tmpfs", 0, size.c_str()) != 0) return 100;
    return body();
  });
}

TEST(Pool, LeavesAFullDeviceAsItWas) {
  const ScratchDirectory scratch;
  // No room for a region; for the regions but not for the root; for all.
  for (const std::uint64_t megabytes : {4ULL, 12ULL, 18ULL, 24ULL, 40ULL}) {
    const int code = with_small_device(scratch.path(), megabytes << 20U, [&] {
      const auto pool = Pool::open(scratch.path() / "pool", kCreate);
      if (megabytes == 40) return pool.is_ok() ? 0 : 1;
      if (pool.status().code() != Code::OutOfSpace) return 2;
      return fs::is_empty(scratch.path()) ? 0 : 3;
    });
    if (code == 100) GTEST_SKIP() << "no mounts allowed here";
    EXPECT_EQ(code, 0) << megabytes << " MiB";
  }
}

TEST(Pool, SaysWhenItMayNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  ScratchDirectory scratch(ScratchDirectory::Disk);
  const fs::path path = scratch.path() / "pool";
  make_pool(path);
  const int code = in_child([&] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 1;
    return Pool::open(path, kOpen).status().code() == Code::PermissionDenied ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace nvmdb::storage
