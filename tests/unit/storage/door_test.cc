#include "storage/nvm/door.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/random.h"
#include "storage/nvm/cache_line_door.h"
#include "storage/nvm/file_door.h"
#include "storage/nvm/mapped_region.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::storage {
namespace {

/// What the doors asked of the system: filled by the msync() below and by the functions given to
/// CacheLineDoor.
struct Calls {
  std::mutex mutex;
  std::vector<std::pair<std::uintptr_t, std::size_t>> synced;
  std::vector<std::pair<std::uintptr_t, std::size_t>> flushed;
  int drains = 0;
  std::atomic<int> syncs_to_fail{0};

  void clear() {
    const std::lock_guard lock(mutex);
    synced.clear();
    flushed.clear();
    drains = 0;
  }
};
Calls calls;

void record_flush(const void* address, std::size_t bytes) {
  const std::lock_guard lock(calls.mutex);
  calls.flushed.emplace_back(reinterpret_cast<std::uintptr_t>(address), bytes);
}
void record_drain() {
  ++calls.drains;
}

}  // namespace
}  // namespace nvmdb::storage

/// Takes the place of the C library's, so that the test sees which ranges a fence syncs and can make it fail.
extern "C" int msync(void* address, size_t bytes, int flags) noexcept {
  using nvmdb::storage::calls;
  if (calls.syncs_to_fail.load() > 0) {
    --calls.syncs_to_fail;
    errno = EIO;
    return -1;
  }
  {
    const std::lock_guard lock(calls.mutex);
    calls.synced.emplace_back(reinterpret_cast<std::uintptr_t>(address), bytes);
  }
  return static_cast<int>(::syscall(SYS_msync, address, bytes, flags));
}

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kBytes = 1U << 20U;

Bytes random_bytes(std::uint64_t count, SeededRandom& random) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

/// A file of kBytes with a FileDoor over its mapping.
class OrdinaryFile {
 public:
  OrdinaryFile() {
    const std::string path = (scratch_.path() / "file").string();
    fd_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
    NVMDB_CHECK(::posix_fallocate(fd_.get(), 0, kBytes) == 0, "no space for the test");
    memory_ =
        static_cast<std::byte*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    door_ = std::make_unique<FileDoor>(memory_, kBytes, fd_.get(), 0, "file");
  }
  ~OrdinaryFile() {
    door_.reset();
    ::munmap(memory_, kBytes);
  }
  OrdinaryFile(const OrdinaryFile&) = delete;
  OrdinaryFile& operator=(const OrdinaryFile&) = delete;
  Door& door() { return *door_; }
  int fd() const { return fd_.get(); }
  std::uintptr_t base() const { return reinterpret_cast<std::uintptr_t>(memory_); }

 private:
  test::ScratchDirectory scratch_{test::ScratchDirectory::Disk};
  FileDescriptor fd_;
  std::byte* memory_ = nullptr;
  std::unique_ptr<FileDoor> door_;
};

/// Stores at random places in every way and compares with an array.
void compare_with_an_array(Door& door, std::uint64_t seed) {
  SeededRandom random(seed);
  Bytes expected(door.size());
  std::ranges::copy(door.bytes(0, door.size()), expected.begin());
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t count = random.chance(0.2) ? random.below(20'000) : random.below(300);
    const std::uint64_t at = random.below(door.size() - count + 1);
    const Bytes bytes = random_bytes(count, random);
    const auto target = expected.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(4)) {
      case 0: {
        const std::uint64_t word = random.next();
        const std::uint64_t place = random.below(door.size() / 8) * 8;
        door.store8(place, word);
        std::memcpy(expected.data() + place, &word, 8);
        ASSERT_EQ(door.load8(place), word);
        break;
      }
      case 1:
        door.copy(at, bytes);
        std::ranges::copy(bytes, target);
        break;
      case 2:
        door.copy_nontemporal(at, bytes);
        std::ranges::copy(bytes, target);
        break;
      default:
        door.fill(at, count, bytes.empty() ? std::byte{0} : bytes[0]);
        std::fill_n(target, count, bytes.empty() ? std::byte{0} : bytes[0]);
    }
    if (random.chance(0.1)) {
      ASSERT_TRUE(door.fence().is_ok());
    }
    ASSERT_TRUE(std::ranges::equal(door.bytes(at, count), ByteSpan(expected).subspan(at, count)));
  }
  ASSERT_TRUE(std::ranges::equal(door.bytes(0, door.size()), expected)) << "seed " << seed;
}

TEST(MappedRegion, StoresWhatItIsGivenOnEachDevice) {
  for (const auto place : {test::ScratchDirectory::Memory, test::ScratchDirectory::Disk}) {
    const test::ScratchDirectory scratch(place);
    const auto path = scratch.path() / "region";
    ASSERT_TRUE(MappedRegion::create(path, kBytes).is_ok());
    auto region = MappedRegion::open(path, kBytes);
    ASSERT_TRUE(region.is_ok()) << region.status().to_string();
    for (std::uint64_t seed = 1; seed <= 5; ++seed) compare_with_an_array((*region)->door(), seed);
  }
}

TEST(CacheLineDoor, FlushesWhateverItStoresThroughTheCache) {
  alignas(64) static std::byte memory[4096];
  CacheLineDoor line_door(memory, sizeof memory, record_flush, record_drain);
  Door& door = line_door;
  const auto base = reinterpret_cast<std::uintptr_t>(memory);
  SeededRandom random(3);
  for (int i = 0; i < 500; ++i) {
    calls.clear();
    const std::uint64_t count = random.below(300);
    const std::uint64_t at = random.below(sizeof memory - count + 1);
    if (i % 2 == 0) {
      door.copy_nontemporal(at, random_bytes(count, random));
    } else {
      door.fill(at, count, std::byte{7});
    }
    // Whole aligned vectors are streamed; the ends, which cannot be, must have been flushed.
    std::set<std::uintptr_t> flushed;
    for (const auto& [begin, bytes] : calls.flushed) {
      for (std::size_t b = 0; b < bytes; ++b) flushed.insert(begin + b);
    }
    for (std::uint64_t b = at; b < at + count; ++b) {
      const std::uint64_t vector = b / 32 * 32;
      const bool whole = vector >= at && vector + 32 <= at + count;
      ASSERT_TRUE(whole || flushed.contains(base + b)) << "at " << at << " count " << count << " byte " << b;
    }
    ASSERT_EQ(calls.drains, 0);
  }
  calls.clear();
  door.copy(100, random_bytes(30, random));
  EXPECT_TRUE(calls.flushed.empty()) << "copy() leaves the flush to the caller";
  door.flush(100, 30);
  ASSERT_EQ(calls.flushed.size(), 1U);
  EXPECT_EQ(calls.flushed[0], std::make_pair(base + 100, std::size_t{30}));
  EXPECT_TRUE(door.fence().is_ok());
  EXPECT_EQ(calls.drains, 1);
}

TEST(FileDoor, SyncsThePagesOfFlushedAndNontemporalStoresAndNoOthers) {
  OrdinaryFile file;
  calls.clear();
  SeededRandom random(1);
  file.door().copy(0, random_bytes(10, random));  // not flushed: not synced
  ASSERT_TRUE(file.door().fence().is_ok());
  EXPECT_TRUE(calls.synced.empty());
  file.door().flush(0, 10);
  file.door().copy_nontemporal(3 * 4096, random_bytes(8192, random));
  file.door().copy_nontemporal(5 * 4096, random_bytes(100, random));
  file.door().store8(9 * 4096 - 8, 1);
  file.door().flush(9 * 4096 - 8, 8);
  ASSERT_TRUE(file.door().fence().is_ok());
  const std::vector<std::pair<std::uintptr_t, std::size_t>> expected{
      {file.base(), 4096}, {file.base() + 3 * 4096, 3 * 4096}, {file.base() + 8 * 4096, 4096}};
  EXPECT_EQ(calls.synced, expected);
  calls.clear();
  ASSERT_TRUE(file.door().fence().is_ok());
  EXPECT_TRUE(calls.synced.empty()) << "nothing new to sync";
}

TEST(FileDoor, FencesOnlyTheCallingThread) {
  OrdinaryFile file;
  calls.clear();
  std::thread([&] {
    file.door().store8(0, 1);
    file.door().flush(0, 8);
  }).join();
  ASSERT_TRUE(file.door().fence().is_ok());
  EXPECT_TRUE(calls.synced.empty());
}

TEST(FileDoor, KeepsFailingAfterALostWrite) {
  OrdinaryFile file;
  file.door().store8(0, 1);
  file.door().flush(0, 8);
  calls.syncs_to_fail = 1;
  const Status first = file.door().fence();
  EXPECT_EQ(first.code(), Code::IoError) << first.to_string();
  EXPECT_EQ(file.door().fence().code(), Code::IoError);
  file.door().store8(8, 1);
  file.door().flush(8, 8);
  EXPECT_EQ(file.door().fence().code(), Code::IoError);
  std::thread([&] { EXPECT_EQ(file.door().fence().code(), Code::IoError); }).join();
}

TEST(FileDoor, ReportsARefusedWriteAtTheFence) {
  OrdinaryFile file;
  const FileDescriptor read_only(::open(("/proc/self/fd/" + std::to_string(file.fd())).c_str(), O_RDONLY));
  FileDoor refused(const_cast<std::byte*>(file.door().data()), kBytes, read_only.get(), 0, "file");
  Door& door = refused;
  door.copy_nontemporal(0, Bytes(8192));
  EXPECT_EQ(door.fence().code(), Code::IoError);
}

TEST(FileDoor, SharesRoundsOfSyncsAmongThreadsWithoutLosingOne) {
  OrdinaryFile file;
  calls.clear();
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kRounds = 30;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t page = (thread * kRounds + round) * 2;
        file.door().copy_nontemporal(page * 4096, Bytes(4096, std::byte{1}));
        ASSERT_TRUE(file.door().fence().is_ok());
        const std::lock_guard lock(calls.mutex);
        const std::uintptr_t place = file.base() + page * 4096;
        EXPECT_TRUE(std::ranges::any_of(calls.synced, [&](const auto& sync) {
          return sync.first <= place && place < sync.first + sync.second;
        }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DoorDeathTest, StopsAtStoresOutside) {
  alignas(64) static std::byte memory[4096];
  CacheLineDoor lines(memory, sizeof memory, record_flush, record_drain);
  FileDoor file(memory, sizeof memory, -1, 0, "file");
  const Bytes bytes(16);
  for (Door* door : {static_cast<Door*>(&lines), static_cast<Door*>(&file)}) {
    EXPECT_DEATH(door->store8(4096, 1), "outside the mapped area");
    EXPECT_DEATH(door->store8(12, 1), "aligned");
    EXPECT_DEATH(door->copy(4090, bytes), "outside the mapped area");
    EXPECT_DEATH(door->copy_nontemporal(~0ULL, bytes), "outside the mapped area");
    EXPECT_DEATH(door->fill(1, ~0ULL, std::byte{0}), "outside the mapped area");
    EXPECT_DEATH(door->flush(4095, 2), "outside the mapped area");
    const PersistentSpan span(*door, 64, 64);
    EXPECT_DEATH(span.copy(60, bytes), "outside the persistent span");
  }
}

}  // namespace
}  // namespace nvmdb::storage
