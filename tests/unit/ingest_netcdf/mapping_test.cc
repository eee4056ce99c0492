#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ingest/decode/netcdf/chunk_filters.h"
#include "ingest/decode/netcdf/frames.h"
#include "ingest/decode/netcdf/positions.h"
#include "tests/unit/ingest_netcdf/netcdf_writer.h"

namespace nvmdb::ingest {
namespace {

constexpr int kFormats[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4};

TEST(WrfMapping, LeadTimesCountFromTheSimulationStartInRestarts) {
  for (const int format : kFormats) {
    const TemporaryFile file("restart.nc");
    write_small_wrfout(file.path(), format);
    MemorySink sink;
    ASSERT_TRUE(decode_path(file.path(), sink).is_ok());
    EXPECT_EQ(sink.broken_contract, "");
    EXPECT_EQ(met::format_time(sink.runs[0].reference_time), "2020-02-28T18:00:00Z");
    EXPECT_EQ(sink.steps_done, (std::vector<std::int64_t>{6 * 3600, 30 * 3600}));
    EXPECT_EQ(sink.runs[0].domain, "d03");
    EXPECT_EQ(sink.find("ITIMESTEP", 30 * 3600)->values, std::vector<float>{20});
  }
}

TEST(WrfMapping, NestThatMovesHasAGridPerFrame) {
  const TemporaryFile file("moving.nc");
  write_small_wrfout(file.path(), NC_64BIT_OFFSET);
  MemorySink sink;
  ASSERT_TRUE(decode_path(file.path(), sink).is_ok());
  EXPECT_EQ(sink.grid_of(*sink.find("T", 6 * 3600, 1)).latitudes[0], 40.0F);
  EXPECT_EQ(sink.grid_of(*sink.find("T", 30 * 3600, 1)).latitudes[0], 41.0F);
}

TEST(WrfMapping, StaggeredPositionsAreDerivedFromTheCentres) {
  const TemporaryFile file("stagger.nc");
  write_small_wrfout(file.path(), 0);
  MemorySink sink;
  ASSERT_TRUE(decode_path(file.path(), sink).is_ok());
  const met::Grid& grid = sink.grid_of(*sink.find("U", 6 * 3600, 2));
  ASSERT_EQ(grid.type, met::GridType::Curvilinear);
  EXPECT_EQ(grid.columns, 6U);
  // Around 40 N a step of 1 degree is so short that plain means agree to a few metres.
  EXPECT_NEAR(grid.longitudes[0], 99.5, 1e-4);
  EXPECT_NEAR(grid.longitudes[1], 100.5, 1e-4);
  EXPECT_NEAR(grid.longitudes[5], 104.5, 1e-4);
  EXPECT_NEAR(grid.latitudes[0], 40.0, 5e-3);
}

TEST(Stagger, CrossesTheDatelineAndKeepsToTheSphere) {
  const netcdf::Positions centre{{0, 0, 0}, {179, -179, -177}};
  const netcdf::Positions out = netcdf::stagger_columns(centre, 1, 3);
  const float wanted[] = {178, 180, -178, -176};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(std::remainder(double{out.longitudes[i]} - double{wanted[i]}, 360.0), 0, 1e-4) << i;
    EXPECT_NEAR(out.latitudes[i], 0, 1e-5);
  }
  // Over the pole: from 89 N, 0 E the great circle goes to 89 N, 180 E; the point half way is the pole.
  const netcdf::Positions pole = netcdf::stagger_rows({{89, 89}, {0, 180}}, 2, 1);
  EXPECT_NEAR(pole.latitudes[1], 90, 1e-4);
  EXPECT_NEAR(pole.latitudes[0], 88, 1e-4);
}

TEST(WrfTime, ReadsTheFormsThatFilesHave) {
  const met::UnixSeconds wanted = met::make_time(2008, 6, 27, 1, 0, 0).value();
  for (const char* text : {"2008-06-27_01:00:00", "2008-06-27_01_00_00", "2008_06_27_01_00_00",
                           "2008-06-27T01:00:00Z", "2008-06-27 01:00", "2008-06-26_25"}) {
    const auto time = netcdf::parse_wrf_time(text);
    if (std::string_view(text) == "2008-06-26_25") {
      EXPECT_FALSE(time.is_ok());
    } else {
      ASSERT_TRUE(time.is_ok()) << text;
      EXPECT_EQ(*time, wanted) << text;
    }
  }
  EXPECT_EQ(*netcdf::parse_wrf_time("2008-06-26_24:00:00"), wanted - 3600);
  for (const char* text :
       {"", "0000-00-00_00:00:00", "2008-06", "20080627", "2008-06-27_01:00:00x", "two thousand"}) {
    EXPECT_FALSE(netcdf::parse_wrf_time(text).is_ok()) << text;
  }
  EXPECT_TRUE(netcdf::is_no_time("0000-00-00_00:00:00"));
}

TEST(TimeUnits, AreThoseOfCf) {
  const auto units = netcdf::parse_time_units("hours since 2000-01-01 00:00:00");
  ASSERT_TRUE(units.is_ok());
  EXPECT_EQ(units->seconds, 3600);
  EXPECT_EQ(units->origin, 946684800);
  EXPECT_EQ(netcdf::parse_time_units("minutes since 2005-08-28 00:00:00 UTC")->seconds, 60);
  EXPECT_EQ(netcdf::parse_time_units("days since 1970-01-01")->origin, 0);
  EXPECT_FALSE(netcdf::parse_time_units("months since 1970-01-01").is_ok());
  EXPECT_FALSE(netcdf::parse_time_units("K").is_ok());
}

/// lat from south to north: stored from north to south; the CF time tells the steps.
TEST(PlainNetcdf, EvenAxesBecomeARegularGridFromNorthToSouth) {
  for (const int format : kFormats) {
    const TemporaryFile path("plain.nc");
    {
      NetcdfWriter file(path.path(), format);
      const int time = file.dimension("time", NC_UNLIMITED);
      const int lat = file.dimension("lat", 3);
      const int lon = file.dimension("lon", 4);
      const int times = file.variable("time", NC_DOUBLE, {time});
      const int lats = file.variable("lat", NC_FLOAT, {lat});
      const int lons = file.variable("lon", NC_FLOAT, {lon});
      const int values = file.variable("t2m", NC_SHORT, {time, lat, lon});
      file.text(times, "units", "hours since 2020-01-01 00:00:00");
      file.number(values, "scale_factor", 0.5F);
      file.number(values, "add_offset", 273.0F);
      file.number(values, "_FillValue", NC_SHORT, -99);
      file.end_definitions();
      file.records(times, 0, {2}, std::vector<double>{0, 6});
      file.values(lats, std::vector<float>{10, 20, 30});
      file.values(lons, std::vector<float>{0, 2, 4, 6});
      std::vector<short> packed(24);
      for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<short>(i);
      packed[5] = -99;
      file.records(values, 0, {2, 3, 4}, packed);
    }
    MemorySink sink;
    ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
    EXPECT_EQ(sink.broken_contract, "");
    EXPECT_EQ(sink.steps_done, (std::vector<std::int64_t>{0, 6 * 3600}));
    const StoredField* field = sink.find("t2m", 0);
    ASSERT_NE(field, nullptr);
    const met::Grid& grid = sink.grid_of(*field);
    EXPECT_EQ(grid.type, met::GridType::RegularLatLon);
    EXPECT_EQ(grid.first_latitude, 30);
    EXPECT_EQ(grid.last_latitude, 10);
    EXPECT_EQ(grid.row_step, 10);
    EXPECT_EQ(grid.column_step, 2);
    EXPECT_EQ(field->header.encoding.kind, met::EncodingKind::Float32);
    EXPECT_EQ(field->values[0], 8 * 0.5F + 273);    // north-west: file row 2
    EXPECT_EQ(field->values[8], 0 * 0.5F + 273);    // south-west: file row 0
    EXPECT_TRUE(std::isnan(field->values[4 + 1]));  // file value 5 is the fill value
    EXPECT_EQ(field->statistics.missing_count, 1U);
    EXPECT_EQ(field->statistics.maximum, 11 * 0.5 + 273);
  }
}

TEST(PlainNetcdf, IntegersWithAFillValueGetABitmap) {
  const TemporaryFile path("integers.nc");
  {
    NetcdfWriter file(path.path(), NC_64BIT_OFFSET);
    const int rows = file.dimension("south_north", 3);
    const int columns = file.dimension("west_east", 5);
    const int values = file.variable("CATEGORY", NC_INT, {rows, columns});
    file.number(values, "_FillValue", NC_INT, -1);
    file.end_definitions();
    file.values(values, std::vector<int>{7, -1, 3, 4, 5, 6, 7, 8, 9, 10, -1, 12, 13, 14, -1});
  }
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
  EXPECT_EQ(sink.broken_contract, "");
  const StoredField& field = sink.fields.at(0);
  EXPECT_TRUE(field.header.encoding.has_bitmap);
  EXPECT_EQ(field.statistics.missing_count, 3U);
  EXPECT_EQ(field.statistics.minimum, 3);
  EXPECT_TRUE(std::isnan(field.values[1]));
  EXPECT_TRUE(std::isnan(field.values[14]));
  EXPECT_EQ(field.values[13], 14);
  const met::Grid& grid = sink.grid_of(field);
  EXPECT_EQ(grid.type, met::GridType::Unlocated);
  EXPECT_NE(grid.description.find("no positions"), std::string::npos);
}

/// The record of a lone record variable is not padded, others are.
TEST(ClassicReader, FollowsTheRulesOfRecordPadding) {
  for (const bool lone : {true, false}) {
    for (const int format : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
      const TemporaryFile path("records.nc");
      {
        NetcdfWriter file(path.path(), format);
        const int time = file.dimension("Time", NC_UNLIMITED);
        const int rows = file.dimension("south_north", 1);
        const int columns = file.dimension("west_east", 3);
        const int shorts = file.variable("S", NC_SHORT, {time, rows, columns});
        const int minutes = lone ? -1 : file.variable("XTIME", NC_FLOAT, {time});
        if (!lone) file.text(minutes, "units", "minutes since 2020-01-01 00:00:00");
        if (lone) file.text(NC_GLOBAL, "SIMULATION_START_DATE", "2020-01-01_00:00:00");
        file.end_definitions();
        const std::size_t frames = lone ? 1 : 3;
        file.records(shorts, 0, {frames, 1, 3}, std::vector<short>{1, 2, 3, 4, 5, 6, 7, 8, 9});
        if (!lone) file.records(minutes, 0, {frames}, std::vector<float>{0, 60, 120});
      }
      MemorySink sink;
      ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
      EXPECT_EQ(sink.find("S", 0)->values, (std::vector<float>{1, 2, 3}));
      if (!lone) {
        EXPECT_EQ(sink.find("S", 7200)->values, (std::vector<float>{7, 8, 9}));
      }
    }
  }
}

TEST(ClassicReader, LoneRecordVariableHasRecordsWithoutPadding) {
  const TemporaryFile path("lone.nc");
  {
    NetcdfWriter file(path.path(), 0);
    const int time = file.dimension("time", NC_UNLIMITED);
    const int times = file.variable("time", NC_SHORT, {time});
    file.text(times, "units", "hours since 2020-01-01 00:00:00");
    file.end_definitions();
    file.records(times, 0, {4}, std::vector<short>{0, 1, 3, 7});
  }
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
  EXPECT_EQ(sink.steps_done, (std::vector<std::int64_t>{0, 3600, 3 * 3600, 7 * 3600}));
}

TEST(WrfMapping, FileWithoutNumbersSaysSo) {
  const TemporaryFile path("empty.nc");
  {
    NetcdfWriter file(path.path(), 0);
    const int text = file.dimension("n", 4);
    file.variable("name", NC_CHAR, {text});
  }
  MemorySink sink;
  const Status status = decode_path(path.path(), sink);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.message().find("no numeric variables"), std::string::npos);
}

TEST(WrfMapping, IdealisedPositionsAreNotBelieved) {
  const TemporaryFile path("ideal.nc");
  {
    NetcdfWriter file(path.path(), NC_NETCDF4);
    const int rows = file.dimension("south_north", 2);
    const int columns = file.dimension("west_east", 2);
    const int lat = file.variable("XLAT", NC_FLOAT, {rows, columns});
    const int lon = file.variable("XLONG", NC_FLOAT, {rows, columns});
    const int value = file.variable("HGT", NC_DOUBLE, {rows, columns});
    file.end_definitions();
    file.values(lat, std::vector<float>(4, 0));
    file.values(lon, std::vector<float>(4, 0));
    file.values(value, std::vector<double>{1, 2, 3, 1e300});
  }
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
  const StoredField* field = sink.find("HGT", 0);
  EXPECT_EQ(field->header.encoding.kind, met::EncodingKind::Float64);
  EXPECT_EQ(field->statistics.maximum, 1e300);
  EXPECT_EQ(sink.grid_of(*field).type, met::GridType::Unlocated);
  EXPECT_NE(sink.grid_of(*field).description.find("idealised"), std::string::npos);
}

}  // namespace
}  // namespace nvmdb::ingest
