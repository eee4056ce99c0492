#include "storage/device/device_profile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "storage/base/crc32c.h"
#include "storage/nvm/pool.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::storage {
namespace {

constexpr PoolUuid kUuid{1, 2, 3};

DeviceProfile measured() {
  DeviceProfile profile;
  profile.kind = "shm";
  profile.best_log_writers = 3;
  profile.log_block_bytes = 16384;
  profile.fence_cost_ns = 123;
  profile.origin = ProfileOrigin::Measured;
  profile.measured_at = 1'700'000'000;
  profile.best_readers = 2;
  profile.read_latency_ns = 190.5;
  profile.figures = {{.path = AccessPath::Read, .pattern = AccessPattern::Random, .threads = 2, .transfer_bytes = 64,
                      .bytes_per_second = 1e9, .p50_ns = 60, .p99_ns = 90}};
  return profile;
}

/// Puts a right checksum under changed bytes, as someone would who wants them believed.
void sign(Bytes& bytes) {
  const std::uint32_t crc = crc32c(ByteSpan(bytes).first(bytes.size() - 4));
  std::memcpy(bytes.data() + bytes.size() - 4, &crc, 4);
}

TEST(DeviceProfile, ReadsBackWhatWasWritten) {
  const DeviceProfile profile = measured();
  const auto read = parse_profile(encode_profile(profile, kUuid), kUuid, "x");
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(read->kind, "shm");
  EXPECT_EQ(read->best_log_writers, 3U);
  EXPECT_EQ(read->log_block_bytes, 16384U);
  EXPECT_EQ(read->origin, ProfileOrigin::Measured);
  EXPECT_EQ(read->measured_at, 1'700'000'000);
  EXPECT_EQ(read->read_latency_ns, 190.5);
  EXPECT_EQ(read->figures, profile.figures);
}

TEST(DeviceProfile, RefusesEveryFlippedBitAndEveryCut) {
  const Bytes good = encode_profile(measured(), kUuid);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(parse_profile(bad, kUuid, "x").is_ok()) << bit;
  }
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(parse_profile(ByteSpan(good).first(length), kUuid, "x").is_ok()) << length;
  }
}

TEST(DeviceProfile, RefusesImpossibleValuesUnderARightChecksum) {
  const Bytes good = encode_profile(measured(), kUuid);
  // Magic 16, version 4, uuid 16, kind 4 + 3: then unit, writers, block.
  const auto with = [&](std::size_t at, std::uint32_t value) {
    Bytes bytes = good;
    std::memcpy(bytes.data() + at, &value, 4);
    sign(bytes);
    return parse_profile(bytes, kUuid, "x").status().code();
  };
  EXPECT_EQ(with(43, 256), Code::Ok);
  EXPECT_EQ(with(43, 0), Code::Corruption);
  EXPECT_EQ(with(43, 300), Code::Corruption);
  EXPECT_EQ(with(47, 0), Code::Corruption);
  EXPECT_EQ(with(47, 1000), Code::Corruption);
  EXPECT_EQ(with(51, 16384 + 1), Code::Corruption);
  EXPECT_EQ(with(51, 1U << 30U), Code::Corruption);
  EXPECT_EQ(with(36, ~0U), Code::Corruption);  // the length of the kind
  EXPECT_EQ(with(16, 2), Code::InvalidArgument);
  EXPECT_EQ(parse_profile(good, PoolUuid{9}, "x").status().code(), Code::InvalidArgument);
}

class ProfileInPool : public testing::Test {
 protected:
  std::unique_ptr<Pool> open() {
    PoolOptions options;
    options.create = true;
    options.nvm_bytes = 16ULL << 20U;
    auto pool = Pool::open(scratch_.path() / "pool", options);
    EXPECT_TRUE(pool.is_ok()) << pool.status().to_string();
    return std::move(pool).value();
  }
  test::ScratchDirectory scratch_;
};

TEST_F(ProfileInPool, IsThereAfterTheNextOpen) {
  DeviceProfile profile = measured();
  {
    const auto pool = open();
    EXPECT_EQ(pool->device().origin, ProfileOrigin::Assumed);
    profile.kind = pool->device().kind;
    profile.write_unit_bytes = pool->device().write_unit_bytes;
    ASSERT_TRUE(pool->store_profile(profile).is_ok());
    EXPECT_EQ(pool->device().best_log_writers, 3U);
  }
  const auto pool = open();
  EXPECT_EQ(pool->device().origin, ProfileOrigin::Measured);
  EXPECT_EQ(pool->device().log_block_bytes, 16384U);
  EXPECT_EQ(pool->device().figures, profile.figures);
}

TEST_F(ProfileInPool, IsPassedOverWithTheReasonWhenDamaged) {
  open();
  std::ofstream(scratch_.path() / "pool" / "device") << "nonsense that is longer than a head and a checksum";
  const auto pool = open();
  EXPECT_EQ(pool->device().origin, ProfileOrigin::Assumed);
  EXPECT_NE(pool->device().note.find("not a device profile"), std::string::npos) << pool->device().note;
}

TEST_F(ProfileInPool, RefusesWhatIsNotMeasuredHere) {
  const auto pool = open();
  DeviceProfile profile = measured();
  profile.kind = "devdax";
  EXPECT_EQ(pool->store_profile(profile).code(), Code::InvalidArgument);
  profile = measured();
  profile.kind = pool->device().kind;
  profile.origin = ProfileOrigin::Modelled;
  profile.model = "optane-6x128";
  EXPECT_EQ(pool->store_profile(profile).code(), Code::InvalidArgument);
}

TEST(DeviceProfile, OfAnotherKindOfDeviceIsNotUsed) {
  DeviceProfile device;
  device.kind = "file";
  device.durability = Durability::FileSync;
  device.write_unit_bytes = 4096;
  const DeviceProfile combined = combine_profiles(device, measured());
  EXPECT_EQ(combined.kind, "file");
  EXPECT_EQ(combined.write_unit_bytes, 4096U);
  EXPECT_NE(combined.note, "");
}

}  // namespace
}  // namespace nvmdb::storage
