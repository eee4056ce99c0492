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

/// The same as small_series(), of two intervals that end together.
query::SeriesAnswer interval_series() {
  query::SeriesAnswer answer = small_series();
  answer.steps = {{0, 21600, met::StepProcess::Accumulation}, {10800, 21600, met::StepProcess::Accumulation}};
  return answer;
}

TEST(SeriesCsv, TellsIntervalsApart) {
  const std::string text = written([](Output& output) { return write_series_csv(interval_series(), output); });
  EXPECT_TRUE(text.starts_with(
      "model,run,member,param,level_type,level,lat,lon,grid_lat,grid_lon,step_seconds,valid_time,value,units,"
      "step_start_seconds,step_type\n"
      "wrf,2024-01-15T00Z,0,T2,surface,0,30.5,114.3,30.48,114.25,21600,2024-01-15T06:00:00Z,273.15,K,0,accum\n"
      "wrf,2024-01-15T00Z,0,T2,surface,0,30.5,114.3,30.48,114.25,21600,2024-01-15T06:00:00Z,1e-07,K,10800,accum\n"))
      << text;
}

TEST(SeriesText, TellsIntervalsApart) {
  const std::string text =
      written([](Output& output) { return write_series(interval_series(), Format::Text, output); });
  EXPECT_NE(text.find("0-6h"), std::string::npos) << text;
  EXPECT_NE(text.find("3-6h"), std::string::npos) << text;
  EXPECT_NE(text.find("accum"), std::string::npos) << text;
}

TEST(SeriesJson, TellsIntervalsApart) {
  const auto json = nlohmann::json::parse(
      written([](Output& output) { return write_series(interval_series(), Format::Json, output); }));
  EXPECT_EQ(json["coverages"][0]["domain"]["axes"]["t"]["bounds"],
            nlohmann::json::array({"2024-01-15T00:00:00Z", "2024-01-15T06:00:00Z", "2024-01-15T03:00:00Z",
                                   "2024-01-15T06:00:00Z"}));
  EXPECT_EQ(json["nvmdb:step_types"], nlohmann::json::array({"accum", "accum"}));
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
      "# step_type: accum\n# valid_time: 2024-01-15T06:00:00Z\n# param: T2\n# level_type: depthBelowLandLayer\n# level: 0-0.1\n"
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

/// small_slab() three hours later, with other values.
query::SlabAnswer later_slab() {
  query::SlabAnswer answer = small_slab();
  answer.step = {10800, 32400, met::StepProcess::Accumulation};
  for (float& value : answer.values) value += 100;
  return answer;
}

std::string written_steps(Format format, const query::SlabAnswer& first, const query::SlabAnswer& second) {
  return written([&](Output& output) -> Status {
    SlabWriter writer(format, output);
    NVMDB_TRY(writer.add(first));
    NVMDB_TRY(writer.add(second));
    return writer.finish();
  });
}

TEST(SlabWriter, MakesATableOfAllSteps) {
  EXPECT_EQ(written_steps(Format::Csv, small_slab(), later_slab()),
            "# model: wrf\n# domain: d01\n# run: 2024-01-15T00Z\n# member: 0\n# param: T2\n"
            "# level_type: depthBelowLandLayer\n# level: 0-0.1\n# units: K\n# grid: lambert 3 x 2\n"
            "step_start_seconds,step_seconds,valid_time,lat,lon,value\n"
            "0,21600,2024-01-15T06:00:00Z,31,-1,1\n0,21600,2024-01-15T06:00:00Z,31,0,2\n"
            "0,21600,2024-01-15T06:00:00Z,31,1.25,\n0,21600,2024-01-15T06:00:00Z,30.75,-1,0.1\n"
            "0,21600,2024-01-15T06:00:00Z,30.75,0,5e+10\n0,21600,2024-01-15T06:00:00Z,30.75,1.25,-6\n"
            "10800,32400,2024-01-15T09:00:00Z,31,-1,101\n10800,32400,2024-01-15T09:00:00Z,31,0,102\n"
            "10800,32400,2024-01-15T09:00:00Z,31,1.25,\n10800,32400,2024-01-15T09:00:00Z,30.75,-1,100.1\n"
            "10800,32400,2024-01-15T09:00:00Z,30.75,0,5e+10\n10800,32400,2024-01-15T09:00:00Z,30.75,1.25,94\n");
}

TEST(SlabWriter, WritesABlockOfTextForEachStep) {
  const std::string text = written_steps(Format::Text, small_slab(), later_slab());
  EXPECT_NE(text.find("# step: 0-6h\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\n# model: wrf\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# step: 3-9h\n"), std::string::npos) << text;
}

TEST(SlabWriter, MakesOneCoverageWithATimeAxis) {
  const auto json = nlohmann::json::parse(written_steps(Format::Json, small_slab(), later_slab()));
  EXPECT_EQ(json["domain"]["axes"]["t"]["values"],
            nlohmann::json::array({"2024-01-15T06:00:00Z", "2024-01-15T09:00:00Z"}));
  EXPECT_EQ(json["ranges"]["T2"]["shape"], nlohmann::json::array({2, 2, 3}));
  EXPECT_EQ(json["ranges"]["T2"]["values"].size(), 12U);
  EXPECT_EQ(json["ranges"]["T2"]["values"][11], 94);
}

TEST(SlabWriter, RefusesAMovingGridWhereOneGridIsNeeded) {
  query::SlabAnswer moved = later_slab();
  moved.longitudes[0] = -2;
  (void)written([&](Output& output) -> Status {
    SlabWriter writer(Format::Json, output);
    NVMDB_TRY(writer.add(small_slab()));
    EXPECT_EQ(writer.add(moved).code(), Code::InvalidArgument);
    return Status::ok();
  });
}

TEST(SlabJson, HasContinuousLongitudesOverTheDateLine) {
  query::SlabAnswer answer = small_slab();
  answer.longitudes = {179, -180, -179};
  const auto json = nlohmann::json::parse(
      written([&](Output& output) { return write_slab(answer, Format::Json, output); }));
  EXPECT_EQ(json["domain"]["axes"]["x"]["values"], nlohmann::json::array({179, 180, 181}));
  const std::string csv = written([&](Output& output) { return write_slab_csv(answer, output); });
  EXPECT_NE(csv.find("31,-180,2\n"), std::string::npos) << csv;
}

TEST(Slab, OfAGridWithoutPositionsHasValuesOnly) {
  query::SlabAnswer answer = small_slab();
  answer.rectilinear = false;
  answer.latitudes.clear();
  answer.longitudes.clear();
  const std::string csv = written([&](Output& output) { return write_slab_csv(answer, output); });
  EXPECT_NE(csv.find("\nlat,lon,value\n,,1\n,,2\n,,\n"), std::string::npos) << csv;
  const auto json = nlohmann::json::parse(
      written([&](Output& output) { return write_slab(answer, Format::Json, output); }));
  EXPECT_EQ(json["domain"]["axes"]["x"]["num"], 3);
  EXPECT_FALSE(json["ranges"].contains("latitude"));
  EXPECT_TRUE(slab_netcdf(answer).is_ok());
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
