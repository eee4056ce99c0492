#include "storage/device/device_model.h"

#include <gtest/gtest.h>

#include <thread>

#include "storage/device/modelled_media.h"
#include "storage/device/read_hook.h"
#include "storage/nvm/pool.h"
#include "tests/support/recorded_media.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::storage {
namespace {

/// Time passes only by waiting, or when the test says so.
class FakeClock final : public TickClock {
 public:
  [[nodiscard]] std::uint64_t now_ns() const override { return now_; }
  void wait_until(std::uint64_t deadline_ns) const override { now_ = std::max(now_, deadline_ns); }
  void pass(std::uint64_t ns) const { now_ += ns; }

 private:
  mutable std::uint64_t now_ = 1'000'000;
};

/// Round figures: 1 byte per ns and module, two modules.
DevicePreset simple() {
  DevicePreset preset;
  preset.name = "simple";
  preset.modules = 2;
  preset.interleave_bytes = 4096;
  preset.media_line_bytes = 256;
  preset.buffer_bytes = 0;
  preset.random_read_ns = 300;
  preset.sequential_read_ns = 100;
  preset.write_ns = 90;
  preset.flush_ns = 60;
  preset.module_read_bytes_per_second = 4e9;
  preset.module_write_bytes_per_second = 1e9;
  preset.thread_read_bytes_per_second = 8e9;
  preset.thread_write_bytes_per_second = 4e9;
  return preset;
}

class Model : public testing::Test {
 protected:
  std::uint64_t write(DeviceModel& model, std::uint64_t address, std::uint64_t bytes, std::uint64_t own_ns = 0) {
    const std::uint64_t begin = clock_.now_ns();
    model.begin_write(address, bytes, false);
    clock_.pass(own_ns);
    model.fence();
    return clock_.now_ns() - begin;
  }
  std::uint64_t read(DeviceModel& model, std::uint64_t address, std::uint64_t bytes, std::uint64_t own_ns = 0) {
    const std::uint64_t begin = clock_.now_ns();
    clock_.pass(own_ns);
    model.read(address, bytes, begin);
    return clock_.now_ns() - begin;
  }
  FakeClock clock_;
};

TEST_F(Model, ASmallWriteTakesAWholeMediaLine) {
  DeviceModel model(simple(), {}, clock_);
  EXPECT_EQ(write(model, 0, 64), 256U);
  EXPECT_EQ(model.bytes_written(), 64U);
  EXPECT_EQ(model.media_bytes_written(), 256U);
}

TEST_F(Model, AWriteAcrossALineTakesTwo) {
  DeviceModel model(simple(), {}, clock_);
  EXPECT_EQ(write(model, 200, 100), 512U);
}

TEST_F(Model, GoingOnInTheLineWrittenLastCostsNoSecondMediaWrite) {
  DeviceModel model(simple(), {}, clock_);
  write(model, 0, 64);
  EXPECT_EQ(write(model, 64, 64), 90U);
  EXPECT_EQ(model.media_bytes_written(), 256U);
}

TEST_F(Model, ASmallWriteTakesAtLeastItsLatency) {
  DevicePreset preset = simple();
  preset.buffer_bytes = 4096;  // the media's time is hidden
  DeviceModel model(preset, {}, clock_);
  EXPECT_EQ(write(model, 0, 256), 90U);
  model.begin_write(4096, 256, true);
  const std::uint64_t begin = clock_.now_ns();
  model.fence();
  EXPECT_EQ(clock_.now_ns() - begin, 64U);  // 256 bytes at the thread's 4 GB/s, above the 60 ns of a flush
}

TEST_F(Model, TheTimeThatStoringTookIsNotAddedToTheModels) {
  DeviceModel model(simple(), {}, clock_);
  EXPECT_EQ(write(model, 0, 256, 100), 256U);
  EXPECT_EQ(write(model, 4096, 256, 1000), 1000U);
}

TEST_F(Model, ModulesWorkSideBySide) {
  DeviceModel model(simple(), {}, clock_);
  EXPECT_EQ(write(model, 0, 8192), 4096U);         // 4 KiB on each
  EXPECT_EQ(write(model, 16384, 4096), 4096U);     // one only
}

TEST_F(Model, TheBufferTakesABurstAndThenTheMediaLimits) {
  DevicePreset preset = simple();
  preset.modules = 1;
  preset.buffer_bytes = 1024;
  DeviceModel model(preset, {}, clock_);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 100; ++i) total += write(model, i * 256, 256);
  // 100 lines of 256 ns each, all but the 1024 bytes that are still in the buffer.
  EXPECT_EQ(total, 100 * 256U - 1024U);
}

TEST_F(Model, AFenceWithoutWritesIsFree) {
  DeviceModel model(simple(), {}, clock_);
  const std::uint64_t begin = clock_.now_ns();
  model.fence();
  EXPECT_EQ(clock_.now_ns(), begin);
}

TEST_F(Model, WritersBeyondOneAModuleSlowTheMedia) {
  const DevicePreset optane = *find_preset("optane-6x128");
  EXPECT_DOUBLE_EQ(optane.write_efficiency(1), 0.98);
  EXPECT_DOUBLE_EQ(optane.write_efficiency(6), 0.98);
  EXPECT_DOUBLE_EQ(optane.write_efficiency(27), 0.80);  // 4.5 a module: half of the way
  EXPECT_DOUBLE_EQ(optane.write_efficiency(48), 0.62);
  EXPECT_DOUBLE_EQ(optane.write_efficiency(480), 0.62);
}

TEST_F(Model, ThreadsShareTheModules) {
  DeviceModel model(simple(), {}, clock_);
  model.begin_write(0, 4096, false);
  std::thread([&] { EXPECT_EQ(write(model, 8192, 4096), 8192U); }).join();
}

TEST_F(Model, CountsWritersInFlight) {
  DevicePreset preset = simple();
  preset.modules = 1;
  preset.efficiency_eight_writers = 0.5;
  DeviceModel model(preset, {}, clock_);
  model.begin_write(0, 256, false);
  std::thread([&] {
    // Two writers on one module: efficiency 1 - 0.5 / 7.
    const double rate = 1 - 0.5 / 7;
    const std::uint64_t taken = write(model, 1 << 20, 256);
    EXPECT_NEAR(static_cast<double>(taken), 256 + 256 / rate, 2);
  }).join();
}

TEST_F(Model, ARandomReadTakesItsLatencyWhateverPartOfItTheMachineTook) {
  DeviceModel model(simple(), {}, clock_);
  EXPECT_EQ(read(model, 1 << 20, 64, 80), 300U);
  EXPECT_EQ(read(model, 1 << 21, 64, 0), 300U);
}

TEST_F(Model, ASequentialReadTakesLess) {
  DeviceModel model(simple(), {}, clock_);
  read(model, 0, 256);
  EXPECT_EQ(read(model, 256, 256, 10), 100U);
}

TEST_F(Model, AReadThatTheMachineIsSlowerAtIsNotDelayed) {
  DeviceModel model(simple(), {}, clock_);
  EXPECT_EQ(read(model, 1 << 20, 64, 400), 400U);
}

TEST_F(Model, WhatTheMachineWillTakeForTheRestIsNotWaitedFor) {
  DeviceModel model(simple(), {.read_bytes_per_second = 16e9}, clock_);
  // 131072 ns by the model, of which the machine takes 65532 for all but the first line.
  EXPECT_EQ(read(model, 0, 1 << 20), (1U << 20U) / 8 - ((1U << 20U) - 64) / 16);
}

/// The figures that the preset's sources give: single reads, and many in a row by one thread.
TEST_F(Model, OptaneReadsAsItsSourceSays) {
  const DevicePreset optane = *find_preset("optane-6x128");
  DeviceModel model(optane, {}, clock_);
  EXPECT_EQ(read(model, 1 << 20, 64, 90), 305U);
  EXPECT_EQ(read(model, (1 << 20) + 64, 64, 20), 169U);
  const std::uint64_t begin = clock_.now_ns();
  constexpr std::uint64_t kBytes = 64ULL << 20U;
  for (std::uint64_t at = 0; at < kBytes; at += 65536) read(model, (1ULL << 30U) + at, 65536);
  const double gigabytes = static_cast<double>(kBytes) / static_cast<double>(clock_.now_ns() - begin);
  EXPECT_NEAR(gigabytes, 39.4 / 17, 0.15 * 39.4 / 17);
}

TEST_F(Model, ALargeReadIsBoundByBandwidth) {
  DeviceModel model(simple(), {}, clock_);
  // 1 MiB over two modules of 4 GB/s each; one thread could take 8 GB/s.
  EXPECT_EQ(read(model, 0, 1 << 20), (1U << 20U) / 8);
}

TEST(DevicePreset, IsFoundByNameAndSaysWhereItsFiguresAreFrom) {
  for (const DevicePreset& preset : device_presets()) {
    EXPECT_EQ(find_preset(preset.name)->name, preset.name);
    EXPECT_GT(preset.source.size(), 50U);
  }
  EXPECT_EQ(find_preset("tape").status().code(), Code::InvalidArgument);
}

TEST(ModelledMedia, SaysThatItIsModelledAndPassesBytesOn) {
  test::RecordedMedia media(test::RecordedOptions{.regions = 1, .pages = 8});
  const FakeClock clock;
  auto modelled = ModelledMedia::start(media, *find_preset("optane-6x128"), clock);
  ASSERT_TRUE(modelled.is_ok()) << modelled.status().to_string();
  EXPECT_EQ((*modelled)->device().origin, ProfileOrigin::Modelled);
  EXPECT_EQ(origin_words((*modelled)->device()), "modelled as optane-6x128, not measured on a device");
  const Bytes bytes(512, std::byte{7});
  Door& door = (*modelled)->region(0);
  const std::uint64_t begin = clock.now_ns();
  door.copy_nontemporal(4096, bytes);
  ASSERT_TRUE(door.fence().is_ok());
  EXPECT_EQ(clock.now_ns() - begin, 147U);  // 512 bytes at 13.9 / 4 GB/s, more than 90 ns
  EXPECT_EQ(media.region(0).bytes(4096, 512)[511], std::byte{7});
  EXPECT_EQ(read_model.load(), &(*modelled)->model());
  EXPECT_EQ(ModelledMedia::start(media, *find_preset("cxl"), clock).status().code(), Code::InvalidArgument);
  EXPECT_EQ(read_model.load(), &(*modelled)->model());
  modelled->reset();
  EXPECT_EQ(read_model.load(), nullptr);
}

}  // namespace
}  // namespace nvmdb::storage
