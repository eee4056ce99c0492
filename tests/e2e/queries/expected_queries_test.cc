// Goal:   every question that the reference tools answered about the given files gets the same answer here.
// Method: each file goes through the real ingest into a pool of its own; each query of its reference file is
// asked.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>

#include "tests/e2e/queries/expected.h"

namespace nvmdb::e2e {

std::string ask_slab(StoredFile& file, const query::Selection& selection, const Json& query) {
  query::SlabRequest request;
  request.selection = selection;
  request.box = query::Box{query.at("west"), query.at("south"), query.at("east"), query.at("north")};
  const auto answer = file.queries().slab(request);
  if (query.at("points") == 0 && answer.status().code() == Code::NotFound) return {};
  return answer.is_ok() ? compare_slab(*answer, query) : answer.status().to_string();
}

std::string compare_slab(const query::SlabAnswer& slab, const Json& query) {
  const query::Box box{query.at("west"), query.at("south"), query.at("east"), query.at("north")};
  std::uint64_t points = 0;
  std::uint64_t missing = 0;
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  double sum = 0;
  const double width = std::fmod(box.east - box.west + 720, 360);
  for (std::uint64_t i = 0; i < slab.values.size(); ++i) {
    const double latitude = slab.rectilinear ? slab.latitudes[i / slab.columns] : slab.latitudes[i];
    const double longitude = slab.rectilinear ? slab.longitudes[i % slab.columns] : slab.longitudes[i];
    const bool inside =
        latitude >= box.south && latitude <= box.north && std::fmod(longitude - box.west + 720, 360) <= width;
    if (!inside) continue;
    ++points;
    const float value = slab.values[i];
    if (std::isnan(value)) {
      ++missing;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += static_cast<double>(value);
  }
  const auto differs = [](const char* what, double found, double expected) {
    return std::string(what) + " " + std::to_string(found) + ", expected " + std::to_string(expected);
  };
  // The reference counts only points with a value where it counts the missing ones apart.
  const std::uint64_t expected_points = query.at("points").get<std::uint64_t>();
  const std::uint64_t expected_missing = query.value("missing", std::uint64_t{0});
  if (points != expected_points && points != expected_points + expected_missing) {
    return differs("points", static_cast<double>(points), static_cast<double>(expected_points));
  }
  if (query.contains("missing") && missing != expected_missing) {
    return differs("missing", static_cast<double>(missing), static_cast<double>(expected_missing));
  }
  if (missing == points) return query.at("min").is_null() ? std::string() : "all missing";
  if (!same_value(low, query.at("min"))) return differs("min", static_cast<double>(low), query.at("min"));
  if (!same_value(high, query.at("max"))) return differs("max", static_cast<double>(high), query.at("max"));
  const double mean = sum / static_cast<double>(points - missing);
  const double expected_mean = query.at("mean").get<double>();
  if (std::fabs(mean - expected_mean) >
      1e-6 * std::max({std::fabs(expected_mean), std::fabs(static_cast<double>(low)),
                       std::fabs(static_cast<double>(high)), 1e-30})) {
    return differs("mean", mean, expected_mean);
  }
  return {};
}

namespace {

/// Files whose reference tool itself answers with what must not be served.
bool reference_is_wrong(const std::string& file) {
  return file == "bugG13_truncated_cdf1.nc";
}

Score ask_all(const std::filesystem::path& data, const Json& reference) {
  const auto name = reference.at("file").get<std::string>();
  Score score;
  if (reference.at("queries").empty() || reference_is_wrong(name)) return score;
  StoredFile file(data / "given" / name);
  EXPECT_TRUE(file.status().is_ok()) << name << ": " << file.status().to_string();
  for (const Json& query : reference.at("queries")) {
    ++score.asked;
    if (!file.status().is_ok()) continue;
    const std::string wrong = reference.at("kind") == "grib" ? ask_grib(file, reference, query)
                                                             : ask_netcdf(file, reference, query);
    EXPECT_TRUE(wrong.empty()) << name << ": " << query.dump().substr(0, 160) << "\n  " << wrong;
    if (wrong.empty()) ++score.right;
  }
  return score;
}

TEST(ExpectedQueries, AreAnsweredAsTheReferenceToolsDo) {
  const auto data = shared_data();
  if (!data.has_value()) GTEST_SKIP() << "the shared data is absent: set NVMDB_SHARED_DATA to its directory";
  std::vector<std::filesystem::path> references;
  for (const auto& entry : std::filesystem::directory_iterator(*data / "expected")) {
    if (entry.path().extension() == ".json" && entry.path().filename().string()[0] != '_')
      references.push_back(entry.path());
  }
  std::sort(references.begin(), references.end());
  Score total;
  for (const std::filesystem::path& path : references) {
    std::ifstream in(path);
    total += ask_all(*data, Json::parse(in));
  }
  std::printf("queries answered as the reference tools do: %llu of %llu\n",
              static_cast<unsigned long long>(total.right), static_cast<unsigned long long>(total.asked));
  EXPECT_EQ(total.right, total.asked);
  EXPECT_GT(total.asked, 0U);
}

/// The answer of the nearest point, or NaN with a failure noted.
float value_at(StoredFile& file, const query::Selection& selection, double latitude, double longitude) {
  query::SeriesRequest request;
  request.selection = selection;
  request.points.push_back({latitude, longitude});
  const auto answer = file.queries().series(request);
  EXPECT_TRUE(answer.is_ok()) << answer.status().to_string();
  return answer.is_ok() && !answer->values.empty() ? answer->values.front() : std::nanf("");
}

query::Selection named(const std::string& parameter) {
  query::Selection selection;
  selection.parameter = parameter;
  return selection;
}

TEST(GivenCases, RealValuesThatLookMissingAreServed) {
  const auto data = shared_data();
  if (!data.has_value()) GTEST_SKIP() << "the shared data is absent: set NVMDB_SHARED_DATA to its directory";
  StoredFile file(*data / "given" / "bugG03_value_9999_with_bitmap.grib2");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  EXPECT_EQ(value_at(file, named("gh"), 57.5, 67.5), 9999.0F);
  EXPECT_TRUE(std::isnan(value_at(file, named("gh"), 62.5, 57.5)));
}

TEST(GivenCases, RowsStoredBackwardsAreTurned) {
  const auto data = shared_data();
  if (!data.has_value()) GTEST_SKIP() << "the shared data is absent: set NVMDB_SHARED_DATA to its directory";
  StoredFile file(*data / "given" / "bugG04_alternate_rows.grib2");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  EXPECT_NEAR(value_at(file, named("2t"), 67.5, 50), 255.84956, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 67.5, 100), 245.32027, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 65, 57.5), 263.69038, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 62.5, 62.5), 259.55952, 1e-3);
}

TEST(GivenCases, GlobesAndRegionsOverGreenwichAnswerTheSame) {
  const auto data = shared_data();
  if (!data.has_value()) GTEST_SKIP() << "the shared data is absent: set NVMDB_SHARED_DATA to its directory";
  for (const char* name : {"bugG01_ll_0_360.grib2", "bugG02_ll_345_15.grib2"}) {
    StoredFile file(*data / "given" / name);
    ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
    query::SlabRequest request;
    request.selection = named("2t");
    request.box = query::Box{-10, 40, 10, 60};
    const auto answer = file.queries().slab(request);
    ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
    EXPECT_EQ(answer->rows, 9U);
    EXPECT_EQ(answer->columns, 9U);
    EXPECT_EQ(answer->latitudes.front(), 60.0);
    EXPECT_EQ(answer->longitudes.front(), -10.0);
    EXPECT_NEAR(answer->values.front(), 281.6195, 2e-3);
    EXPECT_NEAR(answer->values.back(), 287.9399, 2e-3);
  }
}

TEST(GivenCases, PointsFarOutsideARegionAreErrors) {
  const auto data = shared_data();
  if (!data.has_value()) GTEST_SKIP() << "the shared data is absent: set NVMDB_SHARED_DATA to its directory";
  StoredFile file(*data / "given" / "bugG02_ll_345_15.grib2");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  for (const query::Point& point : {query::Point{10, 10}, query::Point{-60, 0}, query::Point{0, 0}}) {
    query::SeriesRequest request;
    request.selection = named("2t");
    request.points.push_back(point);
    EXPECT_EQ(file.queries().series(request).status().code(), Code::InvalidArgument);
  }
  EXPECT_NEAR(value_at(file, named("2t"), 50, 0), 282.59, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 50, -0.2), 282.59, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 50, 359.8), 282.59, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 50, -15), 285.3898, 1e-3);
  EXPECT_NEAR(value_at(file, named("2t"), 50, 15), 280.65005, 1e-3);
}

}  // namespace
}  // namespace nvmdb::e2e
