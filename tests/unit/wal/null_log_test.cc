#include <algorithm>

#include "storage/base/mutex.h"
#include "tests/unit/wal/log_rig.h"

namespace nvmdb::wal {
namespace {

using test::RecordedMedia;
using test::RecordedOptions;

TEST(NullLog, KeepsNothingAndWritesNothing) {
  RecordedMedia media;
  LogOptions options = quiet_options();
  options.off = true;
  {
    LogSession session(media, options);
    Worker worker(session);
    const std::uint64_t fences = media.fence_count();
    const Epoch before = session.clock().current();
    ASSERT_TRUE(worker.commit("a record").is_ok());
    EXPECT_GT(session.clock().current(), before);
    EXPECT_EQ(media.fence_count(), fences);
    EXPECT_EQ(session.log().statistics().segments, 0U);
  }
  const auto reader = std::move(reopen(media)).value();
  EXPECT_EQ(reader->horizon().blocks, 0U);
}

TEST(LogWriters, AreToldApartWhenTheyStart) {
  RecordedMedia media;
  LogOptions options = quiet_options(3);
  options.writer_threads = true;
  Mutex mutex;
  std::vector<std::uint32_t> started;
  options.on_writer_start = [&](std::uint32_t writer) {
    const MutexLock lock(mutex);
    started.push_back(writer);
  };
  { LogSession session(media, options); }
  std::sort(started.begin(), started.end());
  EXPECT_EQ(started, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(LogOptions, FitTheDeviceWithinTheBudget) {
  storage::DeviceProfile device;
  device.best_log_writers = 6;
  device.log_block_bytes = 16384;
  LogOptions options;
  fit_to_device(options, device);
  EXPECT_EQ(options.streams, 6U);
  EXPECT_EQ(options.block_bytes_max, 16384U);
  options.log_bytes_max = 9ULL << 20U;
  fit_to_device(options, device);
  EXPECT_EQ(options.streams, 2U);
  options.log_bytes_max = 2ULL << 20U;
  fit_to_device(options, device);
  EXPECT_EQ(options.streams, 1U);
}

}  // namespace
}  // namespace nvmdb::wal
