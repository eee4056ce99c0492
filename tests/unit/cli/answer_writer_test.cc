#include "cli/answer_writer.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/written.h"

namespace nvmdb::cli {

query::SeriesAnswer small_series() {
  query::SeriesAnswer answer;
  answer.provenance.run.key = {"wrf", "d01", 1705276800, ""};
  answer.provenance.member = 0;
  answer.provenance.parameter.short_name = "T2";
  answer.provenance.parameter.long_name = "TEMP at 2 M";
  answer.provenance.level_type = "surface";
  answer.provenance.units = "K";
  answer.provenance.grid_summary = "lambert 3 x 2";
  answer.steps = {met::Step::instant(0), met::Step::instant(5400)};
  answer.points = {{{30.5, 114.3}, {30.48, 114.25}, 4, 5000}, {{-12.1, -77}, {-12, -77.5}, 5, 6000.4}};
  answer.values = {273.15F, 1e-7F, std::numeric_limits<float>::quiet_NaN(), -0.5F};
  return answer;
}

query::SlabAnswer small_slab() {
  query::SlabAnswer answer;
  answer.provenance = small_series().provenance;
  answer.provenance.level_type = "depthBelowLandLayer";
  answer.provenance.level = 0;
  answer.provenance.bottom = 0.1;
  answer.step = {0, 21600, met::StepProcess::Accumulation};
  answer.rows = 2;
  answer.columns = 3;
  answer.rectilinear = true;
  answer.latitudes = {31, 30.75};
  answer.longitudes = {-1, 0, 1.25};
  answer.values = {1, 2, std::numeric_limits<float>::quiet_NaN(), 0.1F, 5e10F, -6};
  return answer;
}

namespace {

TEST(SeriesCsv, HasTheFixedColumns) {
  EXPECT_EQ(written([](Output& output) { return write_series_csv(small_series(), output); }),
            "model,run,member,param,level_type,level,lat,lon,grid_lat,grid_lon,step_seconds,valid_time,value,"
            "units\n"
            "wrf,2024-01-15T00Z,0,T2,surface,0,30.5,114.3,30.48,114.25,0,2024-01-15T00:00:00Z,273.15,K\n"
            "wrf,2024-01-15T00Z,0,T2,surface,0,30.5,114.3,30.48,114.25,5400,2024-01-15T01:30:00Z,1e-07,K\n"
            "wrf,2024-01-15T00Z,0,T2,surface,0,-12.1,-77,-12,-77.5,0,2024-01-15T00:00:00Z,,K\n"
            "wrf,2024-01-15T00Z,0,T2,surface,0,-12.1,-77,-12,-77.5,5400,2024-01-15T01:30:00Z,-0.5,K\n");
}

TEST(SeriesCsv, QuotesNamesWithCommas) {
  query::SeriesAnswer answer = small_series();
  answer.provenance.run.key.model = "a,b \"c\"";
  const std::string text = written([&](Output& output) { return write_series_csv(answer, output); });
  EXPECT_NE(text.find("\n\"a,b \"\"c\"\"\",2024-01-15T00Z,"), std::string::npos) << text;
}

TEST(SlabCsv, HasFactsThenValuesRowByRow) {
  EXPECT_EQ(
      written([](Output& output) { return write_slab_csv(small_slab(), output); }),
      "# model: wrf\n# domain: d01\n# run: 2024-01-15T00Z\n# member: 0\n# step: 0-6h\n"
      "# valid_time: 2024-01-15T06:00:00Z\n# param: T2\n# level_type: depthBelowLandLayer\n# level: 0-0.1\n"
      "# units: K\n# grid: lambert 3 x 2\n"
      "lat,lon,value\n31,-1,1\n31,0,2\n31,1.25,\n30.75,-1,0.1\n30.75,0,5e+10\n30.75,1.25,-6\n");
}

TEST(SeriesJson, IsACollectionOfPointSeries) {
  const auto json = nlohmann::json::parse(
      written([](Output& output) { return write_series(small_series(), Format::Json, output); }));
  EXPECT_EQ(json["type"], "CoverageCollection");
  EXPECT_EQ(json["domainType"], "PointSeries");
  ASSERT_EQ(json["coverages"].size(), 2U);
  const auto& second = json["coverages"][1];
  EXPECT_EQ(second["domain"]["axes"]["x"]["values"], nlohmann::json::array({-77.5}));
  EXPECT_EQ(second["domain"]["axes"]["y"]["values"], nlohmann::json::array({-12}));
  EXPECT_EQ(second["domain"]["axes"]["t"]["values"],
            nlohmann::json::array({"2024-01-15T00:00:00Z", "2024-01-15T01:30:00Z"}));
  const auto& range = second["ranges"]["T2"];
  EXPECT_EQ(range["type"], "NdArray");
  EXPECT_EQ(range["axisNames"], nlohmann::json::array({"t"}));
  EXPECT_EQ(range["shape"], nlohmann::json::array({2}));
  EXPECT_EQ(range["values"], nlohmann::json::array({nullptr, -0.5}));
  EXPECT_EQ(json["parameters"]["T2"]["unit"]["symbol"], "K");
}

TEST(SeriesJson, OfOnePointIsACoverage) {
  query::SeriesAnswer answer = small_series();
  answer.points.pop_back();
  answer.values.resize(2);
  const auto json = nlohmann::json::parse(
      written([&](Output& output) { return write_series(answer, Format::Json, output); }));
  EXPECT_EQ(json["type"], "Coverage");
  EXPECT_EQ(json["domain"]["domainType"], "PointSeries");
  EXPECT_TRUE(json["parameters"].contains("T2"));
}

TEST(SlabJson, IsAGrid) {
  const auto json = nlohmann::json::parse(
      written([](Output& output) { return write_slab(small_slab(), Format::Json, output); }));
  EXPECT_EQ(json["domain"]["domainType"], "Grid");
  EXPECT_EQ(json["domain"]["axes"]["x"]["values"], nlohmann::json::array({-1, 0, 1.25}));
  EXPECT_EQ(json["domain"]["axes"]["y"]["values"], nlohmann::json::array({31, 30.75}));
  EXPECT_EQ(json["domain"]["axes"]["t"]["values"], nlohmann::json::array({"2024-01-15T06:00:00Z"}));
  const auto& range = json["ranges"]["T2"];
  EXPECT_EQ(range["axisNames"], nlohmann::json::array({"t", "y", "x"}));
  EXPECT_EQ(range["shape"], nlohmann::json::array({1, 2, 3}));
  EXPECT_EQ(range["values"], nlohmann::json::array({1, 2, nullptr, 0.1, 5e10, -6}));
}

TEST(SlabJson, GivesPositionsOfACurvilinearGrid) {
  query::SlabAnswer answer = small_slab();
  answer.rectilinear = false;
  answer.latitudes = {1, 2, 3, 4, 5, 6};
  answer.longitudes = {7, 8, 9, 10, 11, 12};
  const auto json = nlohmann::json::parse(
      written([&](Output& output) { return write_slab(answer, Format::Json, output); }));
  EXPECT_EQ(json["domain"]["domainType"], "Grid");
  EXPECT_EQ(json["domain"]["axes"]["x"]["num"], 3);
  EXPECT_EQ(json["ranges"]["latitude"]["axisNames"], nlohmann::json::array({"y", "x"}));
  EXPECT_EQ(json["ranges"]["longitude"]["values"][5], 12);
}

TEST(SlabJson, GivesAListOfPointsAsMultiPoint) {
  query::SlabAnswer answer = small_slab();
  answer.rectilinear = false;
  answer.rows = 1;
  answer.columns = 2;
  answer.latitudes = {1, 2};
  answer.longitudes = {7, 8};
  answer.values = {3, 4};
  const auto json = nlohmann::json::parse(
      written([&](Output& output) { return write_slab(answer, Format::Json, output); }));
  EXPECT_EQ(json["domain"]["domainType"], "MultiPoint");
  EXPECT_EQ(json["domain"]["axes"]["composite"]["values"][1], nlohmann::json::array({8, 2}));
  EXPECT_EQ(json["ranges"]["T2"]["axisNames"], nlohmann::json::array({"composite"}));
}

TEST(SeriesText, AlignsForPeople) {
  const std::string text =
      written([](Output& output) { return write_series(small_series(), Format::Text, output); });
  EXPECT_NE(text.find("# model: wrf\n"), std::string::npos);
  EXPECT_NE(text.find("# point 2: -12.1,-77 at grid point -12,-77.5, index 5, 6000 m away\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2024-01-15T01:30:00Z  90m   1e-07    -0.5\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace nvmdb::cli
