#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "given_data.h"
#include "point_finder.h"
#include "reference_decoder.h"

// Goal: every given GRIB file gives the fields, keys, statistics and values that ecCodes gives.
// Method: expected/*.json for keys and samples (points found by latitude and longitude), and ecCodes itself,
// put into canonical order by an own walk of the message, for every value bit by bit. Where ecCodes is known
// to be wrong, the notes of the expected results say what is right.

namespace nvmdb::ingest::testing {
namespace {

using nlohmann::json;

/// Files of which ecCodes' reader sees fewer messages than there are (a word GRIB or a damaged message before
/// them), and messages that have no grid: here the number of fields is the scanner's, by the notes of the
/// expected results.
const std::map<std::string, std::size_t> kFieldCounts = {{"bugG12_7777_and_GRIB_inside_data.grib2", 2},
                                                         {"era5-levels-corrupted.grib", 1},
                                                         {"spherical_harmonics.grib", 0},
                                                         {"unknown_pdt_65535.grb2", 0}};
const std::map<std::string, std::size_t> kRejections = {{"era5-levels-corrupted.grib", 1},
                                                        {"spherical_harmonics.grib", 1},
                                                        {"unknown_pdt_65535.grb2", 1},
                                                        {"nbm_blend_first2000bytes.grib2", 1}};

std::size_t count_of(const std::map<std::string, std::size_t>& known, const std::string& file,
                     std::size_t otherwise) {
  const auto found = known.find(file);
  return found == known.end() ? otherwise : found->second;
}

std::string text_or(const json& message, const char* key, const std::string& otherwise) {
  return message.contains(key) && message[key].is_string() ? message[key].get<std::string>() : otherwise;
}
std::int64_t integer_or(const json& message, const char* key, std::int64_t otherwise) {
  return message.contains(key) && message[key].is_number() ? message[key].get<std::int64_t>() : otherwise;
}

class GivenFile : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    expected_ = expected_result(GetParam());
    ASSERT_TRUE(decode_given(GetParam(), sink_).is_ok());
  }
  json expected_;
  MemorySink sink_;
};

TEST_P(GivenFile, HasTheFieldsAndRejections) {
  EXPECT_EQ(sink_.fields.size(),
            count_of(kFieldCounts, GetParam(), expected_["message_count"].get<std::size_t>()));
  EXPECT_EQ(sink_.rejections.size(), count_of(kRejections, GetParam(), 0));
  for (const Rejected& rejected : sink_.rejections) {
    std::cout << rejected.where << ": " << rejected.why.to_string() << "\n";
  }
  for (const met::Grid& grid : sink_.grids)
    EXPECT_TRUE(grid.validate().is_ok()) << grid.validate().to_string();
}

void expect_parameter(const KeptField& kept, const json& message) {
  const met::Parameter& parameter = kept.field.parameter;
  EXPECT_EQ(parameter.short_name, message["shortName"].get<std::string>());
  EXPECT_EQ(parameter.long_name, message["name"].get<std::string>());
  EXPECT_EQ(parameter.units, message["units"].get<std::string>());
  EXPECT_EQ(parameter.param_id, message["paramId"].get<int>());
  EXPECT_EQ(parameter.origin, "grib");
  if (parameter.short_name == "unknown") {
    EXPECT_FALSE(parameter.discriminator.empty());
  }
  EXPECT_EQ(kept.field.member, integer_or(message, "number", integer_or(message, "perturbationNumber", 0)));
}

void expect_level(const KeptField& kept, const json& message) {
  const met::Level& level = kept.field.level;
  EXPECT_EQ(level.type, text_or(message, "typeOfLevel", "none"));
  if (level.type == "none") return;
  constexpr std::int64_t kSignReadAsNumber = 2147486;  // potentialVorticity of -2, sign and magnitude
  const std::int64_t top = message["topLevel"].get<std::int64_t>();
  if (top == kSignReadAsNumber) {
    EXPECT_EQ(level.value, -2);
    return;
  }
  // ecCodes rounds `level` to a whole number; the number itself must be within that rounding.
  EXPECT_NEAR(level.value, static_cast<double>(top), 0.5000001);
  EXPECT_NEAR(level.bottom, message["bottomLevel"].get<double>(), 0.5000001);
  if (level.value == std::round(level.value)) {
    EXPECT_EQ(level.value, static_cast<double>(top));
  }
}

/// Seconds. ecCodes' own step, its step in minutes where it gives no whole hours, or the notes where it is
/// wrong.
std::pair<std::int64_t, std::int64_t> expected_step(const json& message, const std::string& file) {
  if (file == "aqm.pm25-PDMAX1-negative-step.grib2") return {-7 * 3600, 16 * 3600};
  if (message.contains("stepRange_in_m")) {
    const std::string range = message["stepRange_in_m"].get<std::string>();
    return {60 * std::stoll(range), 60 * std::stoll(range.substr(range.find('-') + 1))};
  }
  const std::int64_t unit = message["stepUnits"].get<int>() == 0 ? 60 : 3600;
  return {unit * message["startStep"].get<std::int64_t>(), unit * message["endStep"].get<std::int64_t>()};
}

/// Where neither edition's code says it, ecCodes calls a minimum "max" (GRIB1) and extremes "instant"
/// (GRIB2).
std::string expected_process(const json& message) {
  const std::string name = message["name"].get<std::string>();
  const bool interval = message["startStep"] != message["endStep"];
  if (interval && name.starts_with("Minimum")) return "min";
  if (interval && name.starts_with("Maximum")) return "max";
  return message["stepType"].get<std::string>();
}

void expect_times(const KeptField& kept, const DecodedRun& run, const json& message,
                  const std::string& file) {
  const auto date = message["dataDate"].get<int>();
  const auto time = message["dataTime"].get<int>();
  const auto reference =
      met::make_time(date / 10000, date / 100 % 100, date % 100, time / 100, time % 100, 0);
  ASSERT_TRUE(reference.is_ok());
  const std::int64_t seconds = file == "MRMS_EchoTop.grib2" ? 30 : 0;
  EXPECT_EQ(run.reference_time, *reference + seconds);
  const auto [start, end] = expected_step(message, file);
  EXPECT_EQ(kept.field.step.start_seconds, start);
  EXPECT_EQ(kept.field.step.end_seconds, end);
  EXPECT_EQ(met::process_name(kept.field.step.process), expected_process(message));
}

void expect_statistics(const KeptField& kept, const json& message) {
  const std::uint64_t missing = message["missing_n"].get<std::uint64_t>();
  EXPECT_EQ(kept.field.points, message["values_n"].get<std::uint64_t>());
  EXPECT_EQ(kept.statistics.missing_count, missing);
  if (missing == kept.field.points) {
    EXPECT_TRUE(std::isnan(kept.statistics.mean));
    return;
  }
  const auto expect_close = [](double found, const json& wanted) {
    EXPECT_NEAR(found, wanted.get<double>(), std::fabs(wanted.get<double>()) * 1e-6 + 1e-30);
  };
  expect_close(kept.statistics.minimum, message["min"]);
  expect_close(kept.statistics.maximum, message["max"]);
  expect_close(kept.statistics.mean, message["mean"]);
}

TEST_P(GivenFile, HasTheKeysAndStatistics) {
  const json& messages = expected_["messages"];
  ASSERT_LE(std::min(sink_.fields.size(), messages.size()), messages.size());
  for (std::size_t i = 0; i < sink_.fields.size() && i < messages.size(); ++i) {
    SCOPED_TRACE(sink_.fields[i].field.where);
    const DecodedRun& run = sink_.runs[sink_.fields[i].field.run];
    EXPECT_EQ(run.model, messages[i]["centre"].get<std::string>());
    EXPECT_TRUE(run.domain.starts_with(messages[i]["gridType"].get<std::string>())) << run.domain;
    expect_parameter(sink_.fields[i], messages[i]);
    expect_level(sink_.fields[i], messages[i]);
    expect_times(sink_.fields[i], run, messages[i], GetParam());
    expect_statistics(sink_.fields[i], messages[i]);
  }
}

TEST_P(GivenFile, HasTheSamples) {
  const json& messages = expected_["messages"];
  std::size_t found = 0;
  std::size_t all = 0;
  for (std::size_t i = 0; i < sink_.fields.size() && i < messages.size(); ++i) {
    SCOPED_TRACE(sink_.fields[i].field.where);
    const KeptField& kept = sink_.fields[i];
    const met::Grid& grid = sink_.grids[kept.field.grid];
    const met::Decoder decoder(kept.field.encoding, kept.field.points, kept.extent);
    for (const json& sample : messages[i]["samples"]) {
      ++all;
      std::optional<std::uint64_t> index = sample["i"].get<std::uint64_t>();
      if (!sample["lat"].is_null()) {
        index = find_point(grid, sample["lat"].get<double>(), sample["lon"].get<double>());
      } else {
        EXPECT_EQ(grid.type, met::GridType::Unlocated);
      }
      if (!index) {
        ADD_FAILURE() << "no point at " << sample.dump() << " of " << grid.summary();
        continue;
      }
      const float value = decoder.at(*index);
      const bool missing = sample["value"].is_null();
      const double wanted = missing ? std::nan("") : sample["value"].get<double>();
      const bool same =
          missing ? std::isnan(value) : std::fabs(value - wanted) <= std::fabs(wanted) * 2e-7 + 1e-9;
      EXPECT_TRUE(same) << sample.dump() << " found " << value;
      found += same;
    }
  }
  std::cout << found << " of " << all << " samples\n";
}

/// The values of a file equal ecCodes' to the last bit of a float.
TEST_P(GivenFile, EqualsEccodesBitForBit) {
  const std::vector<ReferenceField> reference =
      read_by_eccodes((shared_data() / "given" / GetParam()).string());
  // ecCodes may see fewer messages (see above), but none that are not stored; only refused ones are skipped
  // there too.
  ASSERT_LE(reference.size(), sink_.fields.size());
  std::uint64_t values = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    SCOPED_TRACE(sink_.fields[i].field.where);
    const std::vector<float> decoded = sink_.fields[i].decode();
    ASSERT_EQ(decoded.size(), reference[i].values.size());
    std::uint64_t different = 0;
    for (std::size_t p = 0; p < decoded.size(); ++p) {
      const bool both_missing = std::isnan(decoded[p]) && std::isnan(reference[i].values[p]);
      different += !both_missing && decoded[p] != reference[i].values[p];
    }
    EXPECT_EQ(different, 0U);
    values += decoded.size();
  }
  std::cout << values << " values of " << reference.size() << " fields equal\n";
}

std::string test_name(const ::testing::TestParamInfo<std::string>& file) {
  std::string name = file.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Given, GivenFile, ::testing::ValuesIn(given_grib_files()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GivenFile);

TEST(GivenFiles, AreThere) {
  NVMDB_NEED_SHARED_DATA();
  EXPECT_GT(given_grib_files().size(), 40U);
}

}  // namespace
}  // namespace nvmdb::ingest::testing
