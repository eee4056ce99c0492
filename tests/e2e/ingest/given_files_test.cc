#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/ingest/ingest_pool.h"
#include "tests/support/shared_data.h"

namespace nvmdb::ingest {
namespace {

using nlohmann::json;

/// What is to become of a file: fields stored, messages or frames rejected, and a word of the reason.
struct Expected {
  std::uint64_t fields = 0;
  std::uint64_t rejections = 0;
  std::string reason;
  Code code = Code::Ok;
};

/// Files of which not everything is stored, by the notes of their expected results.
const std::map<std::string, Expected>& exceptions() {
  static const std::map<std::string, Expected> files = {
      // ecCodes stops after message 1; GDAL and the case say that there are two.
      {"bugG12_7777_and_GRIB_inside_data.grib2", {2, 0, ""}},
      // Frames 0 and 1 (81 fields each) lie before the cut, frames 2 and 3 do not.
      {"bugG13_truncated_cdf1.nc", {162, 2, "truncated"}},
      // The repeated frame replaces the first of the same time: 4 frames of 3 variables.
      {"bugG18_restart_duplicate_times.nc", {12, 0, ""}},
      // Its first message has a wrong length, the second is whole (GDAL sees two records).
      {"era5-levels-corrupted.grib", {1, 1, "wrong message length"}},
      {"nbm_blend_first2000bytes.grib2", {0, 1, "expected 1558505 bytes, found 2000"}},
      {"spherical_harmonics.grib", {0, 1, "spectral"}},
      {"unknown_pdt_65535.grb2", {0, 1, "65535"}},
      {"WrfTimesStrUnderscore.nc", {0, 0, "nothing to store", Code::InvalidArgument}},
  };
  return files;
}

/// Fields of a wrfout by its dimensions: a plane for each combination of the others, a scalar or column per
/// frame.
std::uint64_t netcdf_fields(const json& expected) {
  std::uint64_t count = 0;
  for (const auto& [name, variable] : expected["vars"].items()) {
    if (name == "Times") continue;
    const auto is_horizontal = [](const std::string& dimension) {
      return dimension.starts_with("south_north") || dimension.starts_with("west_east");
    };
    const auto dimensions = variable["dims"].get<std::vector<std::string>>();
    const bool is_plane = std::any_of(dimensions.begin(), dimensions.end(), is_horizontal);
    std::uint64_t fields = 1;
    for (const std::string& dimension : dimensions) {
      const bool counts = is_plane ? !is_horizontal(dimension) : dimension == "Time";
      if (counts) fields *= expected["dims"][dimension]["size"].get<std::uint64_t>();
    }
    count += fields;
  }
  return count;
}

Expected expected_of(const std::string& name) {
  if (const auto it = exceptions().find(name); it != exceptions().end()) return it->second;
  std::ifstream in(test::shared_data() / "expected" / (name + ".json"));
  const json expected = json::parse(in);
  if (expected["kind"] == "grib") return {expected["message_count"].get<std::uint64_t>(), 0, ""};
  return {netcdf_fields(expected), 0, ""};
}

void expect_outcome(const std::string& name, const Expected& expected, const Result<IngestReport>& report) {
  ASSERT_EQ(report.status().code(), expected.code) << report.status().to_string();
  if (!report.is_ok()) {
    EXPECT_NE(report.status().message().find(expected.reason), std::string::npos)
        << report.status().to_string();
    EXPECT_NE(report.status().message().find(name), std::string::npos) << "the file is named";
    return;
  }
  EXPECT_EQ(report->fields_stored, expected.fields);
  EXPECT_EQ(report->fields_unchanged, 0U);
  EXPECT_EQ(report->rejections.size(), expected.rejections);
  for (const Rejection& rejection : report->rejections) {
    EXPECT_NE(rejection.why.message().find(expected.reason), std::string::npos) << rejection.why.to_string();
    EXPECT_FALSE(rejection.where.empty());
  }
}

TEST(GivenFiles, AreStoredOrSayWhyNot) {
  NVMDB_NEEDS_SHARED_DATA();
  IngestPool pool(IngestPool::Worker::Product, 512ULL << 20U);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_data() / "given")) {
    if (entry.path().extension() != ".tsv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::uint64_t stored = 0;
  for (const std::filesystem::path& file : files) {
    const std::string name = file.filename().string();
    SCOPED_TRACE(name);
    // A model of its own, since some files hold the same fields.
    const Result<IngestReport> report = pool.ingest(file, {.model = name});
    expect_outcome(name, expected_of(name), report);
    if (report.is_ok()) stored += report->fields_stored;
  }
  std::cout << files.size() << " files, " << stored << " fields\n";
  EXPECT_EQ(pool.verified_fields(), stored);
}

TEST(GivenFiles, ChangeNothingTheSecondTime) {
  NVMDB_NEEDS_SHARED_DATA();
  IngestPool pool(IngestPool::Worker::Product, 512ULL << 20U);
  for (const char* name :
       {"wrf_cropped.nc", "multi_param_on_multi_dims.grib", "ifs.20240101.oper-fc.0-10.grib2",
        "bugG09_ccsds_constant.grib2", "padded_between_messages.grib1"}) {
    SCOPED_TRACE(name);
    const auto first = pool.ingest(test::shared_data() / "given" / name);
    ASSERT_TRUE(first.is_ok()) << first.status().to_string();
    const auto second = pool.ingest(test::shared_data() / "given" / name);
    ASSERT_TRUE(second.is_ok()) << second.status().to_string();
    EXPECT_EQ(second->fields_stored, 0U);
    EXPECT_EQ(second->fields_unchanged, first->fields_stored);
    EXPECT_EQ(second->bytes_stored, 0U);
    EXPECT_EQ(second->steps.size(), first->steps.size());
  }
}

}  // namespace
}  // namespace nvmdb::ingest
