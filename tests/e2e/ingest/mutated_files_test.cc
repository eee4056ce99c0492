// Goal: whatever a parser is fed, the server lives and good files stay good. Method: small valid files with 1
// to 12 bytes changed, words overwritten, parts cut or moved; long-lived workers whose freed memory is filled
// with garbage; after every few mutants a good file, of which every value is checked. The seed is printed.

#include <gtest/gtest.h>
#include <netcdf.h>

#include <iostream>
#include <map>

#include "storage/base/random.h"
#include "tests/e2e/ingest/ingest_pool.h"
#include "tests/e2e/ingest/wrfout_writer.h"
#include "tests/support/shared_data.h"
#include "tests/unit/ingest_worker/temporary_directory.h"

namespace nvmdb::ingest {
namespace {

constexpr std::uint64_t kSeed = 3141592;
constexpr int kMutants = 300;
constexpr int kMutantsPerGoodFile = 5;
constexpr int kFrames = 2;

std::string mutate(std::string bytes, SeededRandom& random) {
  const std::uint64_t interesting[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff};
  for (std::uint64_t change = 1 + random.below(12); change > 0; --change) {
    const std::size_t at = random.below(bytes.size());
    if (random.chance(0.5)) {
      bytes[at] = static_cast<char>(random.below(256));
      continue;
    }
    const std::uint64_t word = interesting[random.below(std::size(interesting))];
    for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
      bytes[at + i] = static_cast<char>(word >> (8 * (3 - i)) & 0xffU);
    }
  }
  if (random.chance(0.15)) bytes.resize(1 + random.below(bytes.size()));
  if (random.chance(0.1)) bytes += bytes.substr(random.below(bytes.size()));
  return bytes;
}

class MutatedFiles : public testing::Test {
 protected:
  /// Small files to start from: wrfouts of each kind, and GRIB files when they are there.
  std::vector<std::string> originals() {
    std::vector<std::string> files;
    for (const int mode : {0, NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4}) {
      write_wrfout(directory_.path() / "original.nc", mode, {.frames = kFrames});
      files.push_back(read_whole_file(directory_.path() / "original.nc"));
    }
    const auto given = test::shared_data();
    if (given.empty()) {
      std::cout << "the shared data is absent: no GRIB file is mutated\n";
      return files;
    }
    for (const char* name :
         {"bugG02_ll_345_15.grib2", "bugG03_value_9999_with_bitmap.grib2", "bugG06_mixed_steps.grib1",
          "bugG09_ccsds_constant.grib2", "bugG11_multifield_uv.grib2", "ieee754_double.grb2",
          "complex_one_value_and_nodata.grb2", "multifield_reuse_bitmap.grib2", "ncep_predefined_gds.grib1",
          "jpeg2000_nbits0_D1.grb2"}) {
      files.push_back(read_whole_file(given / "given" / name));
    }
    return files;
  }
  /// A file of a new model, each value of which must come back.
  void expect_good(int number) {
    const auto path = directory_.path() / "good.nc";
    const float offset = static_cast<float>(number) / 8;
    write_wrfout(path, number % 2 == 0 ? 0 : NC_NETCDF4,
                 {.frames = kFrames, .offset = offset, .changed_from = 0});
    const std::string model = "good" + std::to_string(number);
    const auto report = pool_.ingest(path, {.model = model});
    ASSERT_TRUE(report.is_ok()) << report.status().to_string();
    ASSERT_TRUE(report->rejections.empty());
    for (std::uint64_t point = 0; point < 48; ++point) {
      ASSERT_EQ(pool_.value(model, "T2", 3600, point), 290.0F + static_cast<float>(point) + offset);
    }
  }

  TemporaryDirectory directory_;
  IngestPool pool_{IngestPool::Worker::Product,
                   256ULL << 20U,
                   {.workers = 1,
                    .worker_memory_bytes = 1ULL << 30U,
                    .worker_cpu_seconds = 10,
                    .hang_seconds = 10,
                    .worker_environment = {"MALLOC_PERTURB_=85"}}};
};

TEST_F(MutatedFiles, NeverHarmTheServerNorGoodFiles) {
  std::cout << "seed " << kSeed << "\n";
  SeededRandom random(kSeed);
  const std::vector<std::string> files = originals();
  std::map<std::string, int> outcomes;
  for (int i = 0; i < kMutants; ++i) {
    const std::string mutant = mutate(files[random.below(files.size())], random);
    const auto report = pool_.ingest(directory_.write("mutant", mutant), {.model = "mutant"});
    const bool crashed = report.status().message().find("decoder crashed") != std::string::npos;
    ++outcomes[crashed ? "crashed" : std::string(code_name(report.status().code()))];
    if (i % kMutantsPerGoodFile == 0) {
      expect_good(i);
      EXPECT_GT(pool_.verified_fields(), 0U);
      pool_.drop_all();
    }
  }
  for (const auto& [outcome, count] : outcomes) std::cout << outcome << " " << count << "\n";
}

}  // namespace
}  // namespace nvmdb::ingest
