#include <gtest/gtest.h>
#include <hdf5.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "ingest/worker/sandbox.h"
#include "storage/base/clock.h"
#include "tests/e2e/ingest/ingest_pool.h"
#include "tests/e2e/ingest/wrfout_writer.h"
#include "tests/unit/ingest_worker/temporary_directory.h"

namespace nvmdb::ingest {
namespace {

void put_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i)
    out += i < 8 ? static_cast<char>(value >> static_cast<unsigned>(8 * i) & 0xffU) : '\0';
}

void put_octets(std::string& out, std::initializer_list<std::uint8_t> octets) {
  for (const std::uint8_t octet : octets) put_big_endian(out, octet, 1);
}

/// 179 bytes of GRIB 2: a constant field of 40,000 x 20,000 points, 3.2 GB as float32.
/// Source: WMO-No. 306, GRIB edition 2, templates 3.0, 4.0 and 5.0.
std::string grib_bomb() {
  std::string s = "GRIB";
  put_big_endian(s, 0, 3);  // reserved, discipline
  put_big_endian(s, 2, 1);
  put_big_endian(s, 179, 8);
  put_big_endian(s, 21, 4);  // section 1
  put_big_endian(s, 1, 1);
  put_big_endian(s, 98, 2);
  put_big_endian(s, 0, 2);
  put_octets(s, {4, 0, 1});
  put_big_endian(s, 2024, 2);
  put_octets(s, {1, 15, 0, 0, 0, 0, 1});
  put_big_endian(s, 72, 4);  // section 3
  put_big_endian(s, 3, 1);
  put_big_endian(s, 0, 1);
  put_big_endian(s, 800'000'000, 4);
  put_big_endian(s, 0, 4);  // no list, template 3.0
  put_big_endian(s, 6, 1);
  put_big_endian(s, 0, 15);
  put_big_endian(s, 40'000, 4);
  put_big_endian(s, 20'000, 4);
  put_big_endian(s, 0, 4);
  put_big_endian(s, 0xffffffff, 4);
  put_big_endian(s, 90'000'000, 4);
  put_big_endian(s, 0, 4);
  put_big_endian(s, 48, 1);
  put_big_endian(s, 0x80000000U + 90'000'000, 4);
  put_big_endian(s, 359'991'000, 4);
  put_big_endian(s, 9'000, 4);
  put_big_endian(s, 9'000, 4);
  put_big_endian(s, 0, 1);
  put_big_endian(s, 34, 4);  // section 4: 2 metre temperature
  put_big_endian(s, 4, 1);
  put_big_endian(s, 0, 4);
  put_octets(s, {0, 0, 2, 0, 0});
  put_big_endian(s, 0, 3);
  put_big_endian(s, 1, 1);
  put_big_endian(s, 6, 4);
  put_big_endian(s, 103, 1);
  put_big_endian(s, 0, 1);
  put_big_endian(s, 2, 4);
  put_big_endian(s, 255, 1);
  put_big_endian(s, 0, 5);
  put_big_endian(s, 21, 4);  // section 5: simple packing, no bits
  put_big_endian(s, 5, 1);
  put_big_endian(s, 800'000'000, 4);
  put_big_endian(s, 0, 2);
  put_big_endian(s, 0x43889333, 4);
  put_big_endian(s, 0, 6);
  put_big_endian(s, 6, 4);  // sections 6 and 7, both empty
  put_big_endian(s, 6, 1);
  put_big_endian(s, 255, 1);
  put_big_endian(s, 5, 4);
  put_big_endian(s, 7, 1);
  return s + "7777";
}

/// Highest resident memory of a process so far, in MiB.
std::uint64_t peak_mebibytes(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) / 1024;
  }
  return 0;
}

/// Waits until a process has slept for a while: a worker that has warmed up and has no job.
void wait_until_idle(int pid) {
  for (int quiet = 0; quiet < 20;) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    stat >> number >> name >> state;
    ASSERT_FALSE(state.empty()) << "the worker is gone";
    quiet = state == "S" ? quiet + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Seconds that `body` took.
template <class Body>
double seconds_of(Body body) {
  const std::uint64_t begun = system_clock().monotonic_ns();
  body();
  return static_cast<double>(system_clock().monotonic_ns() - begun) * 1e-9;
}

class HostileFiles : public testing::Test {
 protected:
  /// Expects a refusal, at once and without memory; other tests may keep the machine busy, hence the slack.
  void expect_refused(const std::filesystem::path& file, const std::string& words) {
    Status status;
    const double seconds = seconds_of([&] { status = outcome(file); });
    EXPECT_FALSE(status.is_ok());
    EXPECT_NE(status.message().find(words), std::string::npos) << status.to_string();
    EXPECT_LT(seconds, 5.0);
    EXPECT_EQ(pool_.visible_steps(), 0U);
  }
  /// The error, or that of the only message.
  Status outcome(const std::filesystem::path& file) {
    const auto report = pool_.ingest(file);
    if (!report.is_ok()) return report.status();
    return report->rejections.empty() ? Status::ok() : report->rejections.front().why;
  }

  TemporaryDirectory directory_;
  IngestPool pool_{
      IngestPool::Worker::Product, 64ULL << 20U, {.workers = 1, .worker_memory_bytes = 1ULL << 30U}};
};

TEST_F(HostileFiles, ThatDeclareTooMuchAreRefused) {
  const std::string grib = grib_bomb();
  ASSERT_EQ(grib.size(), 179U);
  expect_refused(directory_.write("bomb.grib2", grib), "declare");
  for (const int pid : pool_.ingestor().idle_workers()) EXPECT_LT(peak_mebibytes(pid), 256U);
  write_netcdf_bomb(directory_.path() / "bomb.nc");
  ASSERT_LT(std::filesystem::file_size(directory_.path() / "bomb.nc"), 20'000U);
  expect_refused(directory_.path() / "bomb.nc", "declare");
}

// Goal: no file makes the worker read another. Method: three ways of HDF5 to name one; each must be refused
// by name.
TEST_F(HostileFiles, ThatNameOtherFilesAreRefused) {
  const auto secret = directory_.write("secret", std::string(256, 's'));
  const auto path = directory_.path() / "evil.nc";
  const hsize_t size[] = {4, 4};
  const auto with_file = [&](auto body) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, size, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    body(file, space, creation);
    H5Pclose(creation);
    H5Sclose(space);
    H5Fclose(file);
  };
  with_file([&](hid_t file, hid_t space, hid_t creation) {
    H5Pset_external(creation, secret.c_str(), 0, 64);
    H5Dclose(H5Dcreate2(file, "T2", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  });
  expect_refused(path, "external storage");
  with_file([&](hid_t file, hid_t, hid_t) {
    H5Lcreate_external(secret.c_str(), "/T2", file, "T2", H5P_DEFAULT, H5P_DEFAULT);
  });
  expect_refused(path, "external link");
  with_file([&](hid_t file, hid_t space, hid_t creation) {
    H5Pset_virtual(creation, space, secret.c_str(), "/T2", space);
    H5Dclose(H5Dcreate2(file, "T2", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  });
  expect_refused(path, "virtual");
}

TEST_F(HostileFiles, DoNotMakeWorkersGrow) {
  if (kSanitizerBuild) GTEST_SKIP() << "sanitizers keep freed memory back";
  write_wrfout(directory_.path() / "good.nc", 0, {.frames = 9});
  std::uint64_t early = 0;
  for (int i = 0; i < 90; ++i) {
    ASSERT_TRUE(pool_.ingest(directory_.path() / "good.nc").is_ok());
    const std::vector<int> workers = pool_.ingestor().idle_workers();
    ASSERT_EQ(workers.size(), 1U);
    if (i == 9) {
      wait_until_idle(workers[0]);
      early = peak_mebibytes(workers[0]);
    }
    if (i == 89) {
      EXPECT_LE(peak_mebibytes(workers[0]), early + 16) << "leaks";
    }
  }
}

}  // namespace
}  // namespace nvmdb::ingest
