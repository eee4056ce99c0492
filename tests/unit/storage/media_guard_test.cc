#include "storage/nvm/media_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "storage/nvm/mapped_region.h"
#include "storage/page/page.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kBytes = 4 * kPageBytes;

/// A mapped region; cut_off() takes the bytes from a place on away from under the mapping: reads of them
/// raise SIGBUS, as those of a poisoned line do.
class MediaGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "fast";
    ASSERT_TRUE(MappedRegion::create(path_, kBytes).is_ok());
    auto opened = MappedRegion::open(path_, kBytes);
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    region_ = std::move(opened).value();
  }
  void cut_off(std::uint64_t from) { ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(from)), 0); }
  [[nodiscard]] const std::byte* at(std::uint64_t offset) const { return region_->door().data() + offset; }
  /// Reads eight bytes; the compiler cannot leave it out.
  static void read_word(const std::byte* from) {
    (void)*reinterpret_cast<const volatile std::uint64_t*>(from);
  }

  test::ScratchDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "region.0";
  std::unique_ptr<MappedRegion> region_;
};

TEST_F(MediaGuardTest, AReadThatIsWholeSaysSo) {
  const std::vector<std::byte> stored(64, std::byte{7});
  region_->door().copy(128, stored);
  std::vector<std::byte> read(64);
  const std::uint64_t faults = media_fault_count();
  EXPECT_TRUE(read_guarded([&] { std::memcpy(read.data(), at(128), 64); }));
  EXPECT_EQ(read, stored);
  EXPECT_EQ(media_fault_count(), faults);
}

TEST_F(MediaGuardTest, AnUnreadablePlaceIsAnErrorThatNamesIt) {
  cut_off(kPageBytes);
  const std::uint64_t faults = media_fault_count();
  bool went_on = false;
  EXPECT_FALSE(read_guarded([&] {
    read_word(at(kPageBytes + 4096));
    went_on = true;
  }));
  EXPECT_FALSE(went_on);
  EXPECT_EQ(media_fault_count(), faults + 1);
  const Status status = media_fault_status("field 7");
  EXPECT_EQ(status.code(), Code::Corruption);
  EXPECT_NE(
      status.message().find("field 7: " + path_.string() + " offset " + std::to_string(kPageBytes + 4096)),
      std::string::npos)
      << status.message();
  // What is whole can be read still, and so can the bad place be met again.
  EXPECT_TRUE(read_guarded([&] { read_word(at(kPageBytes - 8)); }));
  EXPECT_FALSE(read_guarded([&] { read_word(at(kPageBytes)); }));
}

TEST_F(MediaGuardTest, NestedGuardsEndAtTheInnermost) {
  cut_off(kPageBytes);
  bool inner = true;
  bool second = true;
  EXPECT_FALSE(read_guarded([&] {
    inner = read_guarded([&] { read_word(at(kPageBytes)); });
    second = false;
    read_word(at(2 * kPageBytes));
    second = true;
  }));
  EXPECT_FALSE(inner);
  EXPECT_FALSE(second);
}

TEST_F(MediaGuardTest, ThreadsFailEachForItself) {
  cut_off(kPageBytes);
  std::atomic<int> failed{0};
  std::atomic<int> whole{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        if (!read_guarded([&] { read_word(at((thread % 2) * kPageBytes + 8 * thread)); })) {
          ++failed;
        } else {
          ++whole;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 400);
  EXPECT_EQ(whole, 400);
}

using MediaGuardDeathTest = MediaGuardTest;

TEST_F(MediaGuardDeathTest, WithoutAGuardTheProcessStops) {
  EXPECT_EXIT(
      {
        cut_off(kPageBytes);
        read_word(at(kPageBytes));
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MediaGuardDeathTest, MemoryThatNobodyDeclaredIsNotGuarded) {
  EXPECT_EXIT(
      {
        const int fd = ::memfd_create("other", MFD_CLOEXEC);
        void* other = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
        if (!read_guarded([&] { read_word(static_cast<const std::byte*>(other)); })) ::_exit(0);
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(MediaGuardDeathTest, ASignalThatWasSentStopsTheProcess) {
  EXPECT_EXIT((void)::kill(::getpid(), SIGBUS), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace nvmdb::storage
