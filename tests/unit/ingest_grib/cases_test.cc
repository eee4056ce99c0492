#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "given_data.h"
#include "point_finder.h"

// Goal: the traps that other readers of GRIB fall into. Expected values: expected/_cases.json, as far as
// decoding (and not querying) is concerned.

namespace nvmdb::ingest::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kHour = 3600;

float value_at(const MemorySink& sink, std::size_t field, double latitude, double longitude) {
  const KeptField& kept = sink.fields.at(field);
  const auto index = find_point(sink.grids[kept.field.grid], latitude, longitude);
  EXPECT_TRUE(index.has_value()) << latitude << ", " << longitude;
  if (!index) return std::nanf("");
  return met::Decoder(kept.field.encoding, kept.field.points, kept.extent).at(*index);
}

void expect_value(float found, const json& wanted, double tolerance = 1e-5) {
  if (wanted.is_null()) {
    EXPECT_TRUE(std::isnan(found)) << found;
  } else {
    EXPECT_NEAR(found, wanted.get<double>(), std::fabs(wanted.get<double>()) * tolerance);
  }
}

class GribCase : public ::testing::Test {
 protected:
  void SetUp() override { NVMDB_NEED_SHARED_DATA(); }
  void decode(const std::string& file) { ASSERT_TRUE(decode_given(file, sink_).is_ok()); }
  /// Fields of a parameter as (start, end, value at 49 N 6 E), in the order of the file.
  struct AtPoint {
    std::int64_t start;
    std::int64_t end;
    float value;
  };
  std::vector<AtPoint> series(const std::string& name) {
    std::vector<AtPoint> found;
    for (std::size_t i = 0; i < sink_.fields.size(); ++i) {
      const DecodedField& field = sink_.fields[i].field;
      if (field.parameter.short_name != name) continue;
      found.push_back({field.step.start_seconds, field.step.end_seconds, value_at(sink_, i, 49, 6)});
    }
    return found;
  }
  MemorySink sink_;
};

TEST_F(GribCase, G01_KeepsTheGlobeFromWestToEast) {
  decode("bugG01_ll_0_360.grib2");
  const json slab = expected_case("G01")["expected"][0];
  EXPECT_EQ(sink_.runs[0].domain, "regular_ll_144x73");
  expect_value(value_at(sink_, 0, 60, -10), slab["nw_value"]);
  expect_value(value_at(sink_, 0, 40, 10), slab["se_value"]);
}

TEST_F(GribCase, G02_ReadsAGridAcrossGreenwich) {
  decode("bugG02_ll_345_15.grib2");
  EXPECT_EQ(sink_.grids[0].first_longitude, 345);
  EXPECT_DOUBLE_EQ(sink_.grids[0].column_step, 2.5);
  const json all = expected_case("G02")["expected"];
  for (const json& expected : all) {
    if (!expected.contains("nearest")) continue;
    const json& point = expected["nearest"];
    expect_value(value_at(sink_, 0, point["lat"].get<double>(), point["lon"].get<double>()), point["value"]);
  }
}

TEST_F(GribCase, G03_KeepsAReal9999ApartFromMissing) {
  decode("bugG03_value_9999_with_bitmap.grib2");
  const json expected = expected_case("G03")["expected"];
  for (const std::size_t i : {0U, 1U}) {
    const json& point = expected[i];
    expect_value(value_at(sink_, 0, point["lat"].get<double>(), point["lon"].get<double>()), point["value"],
                 0);
  }
  const DecodedStatistics& statistics = sink_.fields[0].statistics;
  EXPECT_EQ(statistics.missing_count, expected[2]["missing_points"].get<std::uint64_t>());
  EXPECT_EQ(statistics.minimum, expected[2]["min"].get<double>());
  EXPECT_EQ(statistics.maximum, expected[2]["max"].get<double>());
  EXPECT_NEAR(statistics.mean, expected[2]["mean"].get<double>(), 1e-3);
}

TEST_F(GribCase, G04_TurnsAlternateRowsBack) {
  decode("bugG04_alternate_rows.grib2");
  const json all = expected_case("G04")["expected"];
  for (const json& point : all) {
    if (!point.contains("lat")) continue;
    expect_value(value_at(sink_, 0, point["lat"].get<double>(), point["lon"].get<double>()), point["value"]);
  }
}

TEST_F(GribCase, G05_KeepsAccumulationsThatEndTogetherApart) {
  decode("bugG05_tp_same_endstep.grib2");
  ASSERT_EQ(sink_.fields.size(), 3U);
  std::set<met::Step> steps;
  for (std::size_t i = 0; i < 3; ++i) {
    const json expected = expected_case("G05")["expected"][i];
    const met::Step& step = sink_.fields[i].field.step;
    EXPECT_EQ(step.start_seconds, expected["window"][0].get<std::int64_t>() * kHour);
    EXPECT_EQ(step.end_seconds, expected["window"][1].get<std::int64_t>() * kHour);
    expect_value(value_at(sink_, i, 49, 6), expected["value"]);
    steps.insert(step);
  }
  EXPECT_EQ(steps.size(), 3U);
}

TEST_F(GribCase, G06_KeepsInstantsAndAccumulations) {
  decode("bugG06_mixed_steps.grib1");
  const json all = expected_case("G06")["expected"];
  for (const json& expected : all) {
    const auto found = series(expected["param"].get<std::string>());
    ASSERT_EQ(found.size(), expected["steps"].size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const json& step = expected["steps"][i];
      const std::string text = step.is_string() ? step.get<std::string>() : std::to_string(step.get<int>());
      EXPECT_EQ(found[i].start, std::stoll(text) * kHour);
      EXPECT_EQ(found[i].end, std::stoll(text.substr(text.find('-') + 1)) * kHour);
      EXPECT_NEAR(found[i].value, expected["values"][i].get<double>(), expected["abs_tol"].get<double>());
    }
  }
}

TEST_F(GribCase, G07_ReadsMinutes) {
  decode("bugG07_step_minutes.grib2");
  const json expected = expected_case("G07")["expected"];
  const auto instants = series("2t");
  ASSERT_EQ(instants.size(), expected[0]["values"].size());
  for (std::size_t i = 0; i < instants.size(); ++i) {
    EXPECT_EQ(instants[i].end, static_cast<std::int64_t>(i) * 900);
    EXPECT_NEAR(instants[i].value, expected[0]["values"][i].get<double>(), 0.002);
  }
  const auto windows = series("unknown");
  ASSERT_EQ(windows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(windows[i].start, static_cast<std::int64_t>(i) * 900);
    EXPECT_EQ(windows[i].end, static_cast<std::int64_t>(i + 1) * 900);
    EXPECT_NEAR(windows[i].value, expected[1]["values"][i].get<double>(), 0.002);
  }
}

TEST_F(GribCase, G08_ReadsNegativeForecastTimesOfBothCodings) {
  decode("bugG08_forecastTime_minus3h.grib2");
  EXPECT_EQ(sink_.fields[0].field.step, met::Step::instant(-3 * kHour));
  decode("aqm.pm25-PDMAX1-negative-step.grib2");
  const DecodedField& field = sink_.fields[1].field;
  const met::UnixSeconds reference = sink_.runs[field.run].reference_time;
  EXPECT_EQ(met::format_time(reference + field.step.start_seconds), "2024-05-16T05:00:00Z");
  EXPECT_EQ(met::format_time(reference + field.step.end_seconds), "2024-05-17T04:00:00Z");
}

TEST_F(GribCase, G09_ReadsConstantFields) {
  decode("bugG09_ccsds_constant.grib2");
  ASSERT_EQ(sink_.fields.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sink_.fields[i].field.encoding.kind, met::EncodingKind::Constant);
    EXPECT_TRUE(sink_.fields[i].extent.empty());
    expect_value(value_at(sink_, i, 49, 6), expected_case("G09")["expected"][i]["value"]);
  }
}

TEST_F(GribCase, G10_DoesNotScaleTheReferenceOfAConstantField) {
  for (const char* file : {"simple_nbits0_D1.grb2", "jpeg2000_nbits0_D1.grb2"}) decode(file);
  for (const KeptField& kept : sink_.fields) {
    EXPECT_EQ(kept.decode()[0], expected_case("G10")["expected"][0]["value"].get<float>());
  }
}

TEST_F(GribCase, G11_KeepsBothFieldsOfAMessage) {
  decode("bugG11_multifield_uv.grib2");
  const json expected = expected_case("G11")["expected"][0];
  ASSERT_EQ(sink_.fields.size(), 2U);
  EXPECT_EQ(sink_.fields[0].field.parameter.short_name, "u");
  EXPECT_EQ(sink_.fields[1].field.parameter.short_name, "v");
  EXPECT_NEAR(value_at(sink_, 0, 65, 62.5), expected["u"].get<double>(), 0.002);
  EXPECT_NEAR(value_at(sink_, 1, 65, 62.5), expected["v"].get<double>(), 0.002);
  decode("multifield_reuse_bitmap.grib2");
  EXPECT_EQ(sink_.fields.size(), 4U);
}

TEST_F(GribCase, G12_IsNotMisledByWordsInsideData) {
  decode("bugG12_7777_and_GRIB_inside_data.grib2");
  const json expected = expected_case("G12")["expected"][0];
  ASSERT_EQ(sink_.fields.size(), 2U);
  EXPECT_TRUE(sink_.rejections.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sink_.fields[i].field.step.end_seconds, expected["steps"][i].get<std::int64_t>() * kHour);
  }
  const std::vector<float> values = sink_.fields[0].decode();
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], expected["values_first_message"][i].get<float>());
}

TEST_F(GribCase, G20_KeepsTwoRunsApart) {
  decode("bugG20_two_runs_same_valid_time.grib1");
  ASSERT_EQ(sink_.fields.size(), 7U);
  ASSERT_EQ(sink_.runs.size(), 2U);
  EXPECT_EQ(sink_.runs[1].reference_time - sink_.runs[0].reference_time, 12 * kHour);
  EXPECT_EQ(sink_.runs[0].version, "0001");
}

/// Two layers that ecCodes' whole-number levels make one.
TEST_F(GribCase, KeepsFractionalLayersApart) {
  decode("gfs.t12z.pgrbf120.2p5deg.grib2");
  std::set<std::string> soil;
  std::set<std::string> sigma;
  std::set<std::string> vorticity;
  for (const KeptField& kept : sink_.fields) {
    const met::Level& level = kept.field.level;
    if (level.type == "depthBelowLandLayer") soil.insert(met::format_level(level.value, level.bottom));
    if (level.type == "sigmaLayer") sigma.insert(met::format_level(level.value, level.bottom));
    if (level.type == "potentialVorticity") vorticity.insert(met::format_level(level.value, level.bottom));
  }
  EXPECT_EQ(soil, (std::set<std::string>{"0-0.1", "0.1-0.4", "0.4-1", "1-2"}));
  EXPECT_EQ(sigma, (std::set<std::string>{"0.33-1", "0.44-1", "0.44-0.72", "0.72-0.94"}));
  EXPECT_EQ(vorticity, (std::set<std::string>{"-2", "2"}));
}

/// No two fields of a file may have the same key: the second would overwrite the first.
TEST_F(GribCase, GivesEveryFieldItsOwnKey) {
  for (const std::string& file : given_grib_files()) {
    SCOPED_TRACE(file);
    MemorySink sink;
    ASSERT_TRUE(decode_given(file, sink).is_ok());
    std::set<std::string> keys;
    for (const KeptField& kept : sink.fields) {
      const DecodedField& f = kept.field;
      const DecodedRun& run = sink.runs[f.run];
      const std::string key = run.model + "/" + run.domain + "/" + run.version + "/" +
                              met::format_time(run.reference_time) + "/" + std::to_string(f.member) + "/" +
                              f.parameter.short_name + "/" + f.parameter.discriminator + "/" + f.level.type +
                              "/" + met::format_level(f.level.value, f.level.bottom) + "/" +
                              met::format_step(f.step) + "/" + std::string(met::process_name(f.step.process));
      EXPECT_TRUE(keys.insert(key).second) << key << " again at " << f.where;
    }
  }
}

/// Both given files hold the same field; one of them is packed in second order.
TEST_F(GribCase, ReadsSecondOrderPackingAsItsSimpleTwin) {
  decode("second_order_general.grib1");
  decode("simple_packed_twin.grib1");
  ASSERT_EQ(sink_.fields.size(), 2U);
  EXPECT_EQ(sink_.fields[0].decode(), sink_.fields[1].decode());
  EXPECT_EQ(sink_.fields[0].field.encoding.kind, met::EncodingKind::Packed);
}

/// Both given files hold the same field in two scanning modes.
TEST_F(GribCase, GivesOneOrderForAllScanningModes) {
  decode("scan_ipos_jneg.grib2");
  decode("scan_ineg_jpos.grib2");
  ASSERT_EQ(sink_.fields.size(), 2U);
  EXPECT_EQ(sink_.fields[0].decode(), sink_.fields[1].decode());
}

TEST_F(GribCase, DecodesTheSameIntoSmallSpaces) {
  for (const char* file : {"fields_with_missing_values.grib", "aqm.o3-AK-polar-stereographic.grib2",
                           "reduced_gg_n48.grib", "ieee754_double.grb2"}) {
    MemorySink large;
    MemorySink small(24);
    ASSERT_TRUE(decode_given(file, large).is_ok());
    ASSERT_TRUE(decode_given(file, small).is_ok());
    ASSERT_EQ(large.fields.size(), small.fields.size());
    for (std::size_t i = 0; i < large.fields.size(); ++i)
      EXPECT_EQ(large.fields[i].extent, small.fields[i].extent);
  }
}

}  // namespace
}  // namespace nvmdb::ingest::testing
