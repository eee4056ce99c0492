#include "cli/values.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace nvmdb::cli {
namespace {

TEST(Values, ReadPoints) {
  const auto point = parse_point("-12.5,359.75");
  ASSERT_TRUE(point.is_ok());
  EXPECT_EQ(point->latitude, -12.5);
  EXPECT_EQ(point->longitude, 359.75);
  for (const char* text :
       {"", "1", "1,", ",1", "1,2,3", "91,0", "0,361", "0,-181", "a,b", "1 ,2", "nan,0", "1e400,0"}) {
    EXPECT_EQ(parse_point(text).status().code(), Code::InvalidArgument) << text;
  }
}

TEST(Values, ReadBoxes) {
  const auto box = parse_box("170,-10,-170,10");
  ASSERT_TRUE(box.is_ok());
  EXPECT_EQ(box->west, 170);
  EXPECT_EQ(box->south, -10);
  EXPECT_EQ(box->east, -170);
  EXPECT_EQ(box->north, 10);
  for (const char* text : {"", "1,2,3", "1,2,3,4,5", "0,10,5,-10", "0,0,400,10", "x,0,1,1"}) {
    EXPECT_EQ(parse_box(text).status().code(), Code::InvalidArgument) << text;
  }
}

TEST(Values, ReadLevelsAndLayers) {
  EXPECT_EQ(parse_level("500")->value, 500);
  EXPECT_EQ(parse_level("500")->bottom, std::nullopt);
  EXPECT_EQ(parse_level("-2.5")->value, -2.5);
  const auto layer = parse_level("0-0.1");
  ASSERT_TRUE(layer.is_ok());
  EXPECT_EQ(layer->value, 0);
  EXPECT_EQ(layer->bottom, 0.1);
  EXPECT_EQ(parse_level("-10--5")->bottom, -5);
  for (const char* text : {"", "x", "1-", "-", "1-x", "500hPa"}) {
    EXPECT_EQ(parse_level(text).status().code(), Code::InvalidArgument) << text;
  }
}

TEST(Values, ReadRuns) {
  EXPECT_EQ(*parse_run("latest"), std::nullopt);
  EXPECT_EQ(*parse_run("2024-01-15T00Z"), 1705276800);  // date -u -d 2024-01-15 +%s
  EXPECT_EQ(parse_run("yesterday").status().code(), Code::InvalidArgument);
  query::Selection selection;
  ASSERT_TRUE(parse_run_name("wrf/d01/2024-01-15T00Z", selection).is_ok());
  EXPECT_EQ(selection.model, "wrf");
  EXPECT_EQ(selection.domain, "d01");
  EXPECT_EQ(selection.run, 1705276800);
}

TEST(Points, AreReadFromAFile) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nvmdb_points_" + std::to_string(::getpid()));
  const auto read = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
    auto points = read_points(file.string());
    std::filesystem::remove(file);
    return points;
  };
  const auto points = read("lat,lon,name\n# stations\n30.5,114.3,Wuhan\r\n\n-12.1,-77\n");
  ASSERT_TRUE(points.is_ok()) << points.status().to_string();
  ASSERT_EQ(points->size(), 2U);
  EXPECT_EQ((*points)[0].longitude, 114.3);
  EXPECT_EQ((*points)[1].latitude, -12.1);
  const auto wrong = read("1,2\n91,0\n");
  EXPECT_EQ(wrong.status().code(), Code::InvalidArgument);
  EXPECT_NE(wrong.status().message().find("line 2"), std::string::npos) << wrong.status().message();
  EXPECT_EQ(read("").status().code(), Code::InvalidArgument);
  EXPECT_EQ(read("lat,lon\n").status().code(), Code::InvalidArgument);
  EXPECT_EQ(read_points("/nonexistent/points").status().code(), Code::NotFound);
}

}  // namespace
}  // namespace nvmdb::cli
