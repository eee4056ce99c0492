#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "query/geometry/sphere.h"
#include "tests/e2e/queries/stored_file.h"

namespace nvmdb::e2e {
namespace {

/// A value that NCL computed: tests/data/derived/ncl_reference.txt.
struct Reference {
  std::string parameter;
  std::size_t time = 0;
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  int level = 0;
  double value = 0;  // NaN: missing
};

std::map<std::string, std::vector<Reference>> references() {
  std::ifstream file(std::string(NVMDB_SOURCE_DIR) + "/tests/data/derived/ncl_reference.txt");
  std::map<std::string, std::vector<Reference>> found;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string value;
    Reference r;
    words >> name >> r.parameter >> r.time >> r.row >> r.column >> r.level >> value;
    r.value = value == "nan" ? std::nan("") : std::stod(value);
    found[name].push_back(r);
  }
  return found;
}

/// Why NCL's value is none to compare with; empty where it is one.
std::string exception_reason(const Reference& r, std::uint64_t rows, std::uint64_t columns, int levels) {
  const bool is_parcel = r.parameter == "cape" || r.parameter == "cin";
  if (is_parcel && r.level == levels && r.value == 0)
    return "NCL lifts no parcel of the highest level and says 0";
  if (r.parameter != "updraft_helicity") return {};
  const bool at_edge = r.row == 0 || r.column == 0 || r.row + 2 >= rows || r.column + 2 >= columns;
  if (at_edge && r.value == 0)
    return "NCL computes nothing in the outermost cells (two deep in the east and north) and says 0";
  // The highest level of this file is 5.5 km high.
  return levels < 20 ? "NCL needs three interfaces more above the highest height" : std::string();
}

/// The smallest magnitude that relative differences are taken of: what is less is noise of float32 inputs.
double scale_of(const std::string& parameter) {
  static const std::map<std::string, double> scales{{"td", 1},
                                                    {"td2", 1},
                                                    {"ua", 0.01},
                                                    {"va", 0.01},
                                                    {"wa", 0.001},
                                                    {"omg", 0.01},
                                                    {"uvmet_u", 0.01},
                                                    {"uvmet_v", 0.01},
                                                    {"uvmet10_u", 0.01},
                                                    {"uvmet10_v", 0.01},
                                                    {"avo", 1},
                                                    {"pvo", 0.1},
                                                    {"ctt", 1},
                                                    {"rh", 1},
                                                    {"helicity", 1},
                                                    {"dbz", 1},
                                                    {"mdbz", 1},
                                                    // NCL's table of pseudoadiabats is solved to some 3e-4 K:
                                                    // that is 0.003 J/kg, or 0.09 m where buoyancy crosses 0.
                                                    {"cape", 30},
                                                    {"cin", 30},
                                                    {"mcape", 30},
                                                    {"mcin", 30},
                                                    {"lfc", 900}};
  const auto found = scales.find(parameter);
  return found == scales.end() ? 1e-6 : found->second;
}

/// How many values of all files may differ by more than 1e-4 of themselves, by what scale_of() forgives.
constexpr std::size_t kForgivenMax = 12;

query::SlabRequest request_for(const Reference& r, const met::Step& at) {
  query::SlabRequest request;
  request.selection.parameter = r.parameter;
  if (r.level > 0) request.selection.level.emplace(r.level);
  request.selection.step.emplace(met::StepSelector{false, false, at.end_seconds, at.end_seconds});
  return request;
}

class DerivedReference : public testing::TestWithParam<std::string> {};

TEST_P(DerivedReference, AgreesWithNcl) {
  const auto shared = shared_data();
  if (!shared.has_value())
    GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA";
  const std::vector<Reference> wanted = references()[GetParam()];
  ASSERT_FALSE(wanted.empty());
  StoredFile file(*shared / "given" / GetParam());
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  std::map<std::string, std::pair<double, std::string>> worst;
  std::size_t compared = 0;
  std::size_t forgiven = 0;
  std::map<std::string, std::size_t> exceptions;
  std::map<std::string, query::SlabAnswer> slabs;
  std::vector<met::Step> steps;
  int levels = 0;
  for (const StoredFile::Row& row : file.inventory()) {
    if (row.short_name == "T") steps = row.row.steps;
    if (row.short_name == "T") levels = std::max(levels, static_cast<int>(row.row.level));
  }
  for (const Reference& r : wanted) {
    const std::string key = r.parameter + " " + std::to_string(r.time) + " " + std::to_string(r.level);
    if (!slabs.contains(key)) {
      auto answer = file.queries().slab(request_for(r, steps.at(r.time)));
      ASSERT_TRUE(answer.is_ok()) << key << ": " << answer.status().to_string();
      slabs[key] = std::move(answer).value();
    }
    const query::SlabAnswer& slab = slabs[key];
    const auto found = static_cast<double>(slab.values.at(r.row * slab.columns + r.column));
    if (const std::string why = exception_reason(r, slab.rows, slab.columns, levels); !why.empty()) {
      ++exceptions[r.parameter + ": " + why];
      continue;
    }
    ++compared;
    double difference = std::fabs(found - r.value) / std::max(std::fabs(r.value), scale_of(r.parameter));
    if (std::isnan(found) != std::isnan(r.value)) difference = 1e9;
    if (std::isnan(found) && std::isnan(r.value)) difference = 0;
    if (std::fabs(found - r.value) > 1e-4 * std::fabs(r.value)) ++forgiven;
    auto& known = worst[r.parameter];
    if (difference < known.first) continue;
    std::ostringstream text;
    text << key << " at " << r.row << "," << r.column << ": " << found << ", NCL " << r.value;
    known = {difference, text.str()};
  }
  for (const auto& [parameter, found] : worst) {
    std::cout << parameter << ": " << found.first << " (" << found.second << ")\n";
    EXPECT_LE(found.first, 1e-4) << found.second;
  }
  for (const auto& [why, count] : exceptions) std::cout << count << " not compared, " << why << "\n";
  std::cout << compared << " of " << wanted.size() << " values compared, " << forgiven
            << " of them small and beyond 1e-4 of themselves\n";
  EXPECT_LE(forgiven, kForgivenMax);
}

TEST(DerivedQueries, NameWhatIsMissing) {
  const auto shared = shared_data();
  if (!shared.has_value())
    GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA";
  StoredFile file(*shared / "given" / "wrf_cropped.nc");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::SlabRequest request;
  request.selection.parameter = "mcape";
  const auto missing = file.queries().slab(request);
  EXPECT_EQ(missing.status().code(), Code::NotFound);
  EXPECT_NE(missing.status().message().find("lacks HGT, PSFC"), std::string::npos)
      << missing.status().message();
  request.selection.parameter = "cape_2d";
  EXPECT_NE(file.queries().slab(request).status().message().find("mcape, mcin, lcl, lfc"), std::string::npos);
  request.selection.parameter = "tk";
  EXPECT_EQ(file.queries().slab(request).status().code(), Code::InvalidArgument);  // which level?
  request.selection.level = 13;
  EXPECT_EQ(file.queries().slab(request).status().code(), Code::NotFound);
}

TEST(DerivedQueries, ConvertAndInterpolate) {
  const auto shared = shared_data();
  if (!shared.has_value())
    GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA";
  StoredFile file(*shared / "given" / "wrf_python_ci_mercator.nc");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::SeriesRequest request;
  request.selection.parameter = "slp";
  request.points = {{25.5, -87.5}};
  const auto hpa = file.queries().series(request);
  ASSERT_TRUE(hpa.is_ok()) << hpa.status().to_string();
  ASSERT_EQ(hpa->values.size(), 4U);
  EXPECT_EQ(hpa->provenance.units, "hPa");
  EXPECT_NE(hpa->provenance.parameter.long_name.find("computed from P, PB, T"), std::string::npos);
  request.units = "Pa";
  EXPECT_NEAR(file.queries().series(request)->values[0], 100 * hpa->values[0], 1);
  request.units.clear();
}

TEST(DerivedQueries, AddUpRainOfIntervals) {
  const auto shared = shared_data();
  if (!shared.has_value())
    GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA";
  StoredFile file(*shared / "given" / "wrf_d01_allvars_cropped.nc");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::SlabRequest request;
  double greatest = 0;
  std::vector<double> sum(80, 0.0);
  for (const std::int64_t hour : {12, 15, 18, 21}) {
    request.selection.step.emplace(met::StepSelector{false, false, hour * 3600, hour * 3600});
    request.selection.parameter = "rain_interval";
    const auto rain = file.queries().slab(request);
    request.selection.parameter = "rain";
    const auto total = file.queries().slab(request);
    ASSERT_TRUE(rain.is_ok() && total.is_ok()) << rain.status().to_string();
    EXPECT_EQ(rain->step,
              (met::Step{hour == 12 ? 0 : (hour - 3) * 3600, hour * 3600, met::StepProcess::Accumulation}));
    for (std::size_t i = 0; i < 80; ++i) {
      sum[i] += static_cast<double>(rain->values.at(i));
      EXPECT_NEAR(sum[i], total->values.at(i), 1e-4);
      greatest = std::max(greatest, sum[i]);
    }
  }
  EXPECT_GT(greatest, 0.1);
  request.selection.step.emplace(met::StepSelector{false, true, 12 * 3600, 21 * 3600});
  request.selection.parameter = "rain_interval";
  EXPECT_EQ(file.queries().slab(request)->step.start_seconds, 12 * 3600);
}

// The nest of this file moves: a cell is another place three hours later.
TEST(DerivedQueries, TakeNoDifferenceOfDifferentPlaces) {
  const auto shared = shared_data();
  if (!shared.has_value())
    GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA";
  StoredFile file(*shared / "given" / "wrf_python_ci_mercator.nc");
  ASSERT_TRUE(file.status().is_ok()) << file.status().to_string();
  query::SlabRequest request;
  request.selection.parameter = "rain_interval";
  request.selection.step.emplace(met::StepSelector{false, false, 12 * 3600, 12 * 3600});
  EXPECT_FALSE(std::isnan(file.queries().slab(request)->values.at(100)));
  request.selection.step.emplace(met::StepSelector{false, false, 15 * 3600, 15 * 3600});
  const auto moved = file.queries().slab(request);
  ASSERT_TRUE(moved.is_ok()) << moved.status().to_string();
  for (const float value : moved->values) EXPECT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(Files, DerivedReference,
                         testing::Values("wrf_python_ci_mercator.nc", "wrf_d01_allvars_cropped.nc",
                                         "wrf_cropped.nc"),
                         [](const auto& value) {
                           std::string name = value.param;
                           std::erase_if(name, [](char c) { return c == '.' || c == '_'; });
                           return name;
                         });

}  // namespace
}  // namespace nvmdb::e2e
