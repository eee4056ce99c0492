#include <netcdf.h>
#include <netcdf_mem.h>

#include <array>
#include <cmath>

#include "cli/answer_writer.h"
#include "tests/unit/cli/written.h"

namespace nvmdb::cli {
namespace {

/// A file in memory, read by libnetcdf.
class NetcdfReader {
 public:
  explicit NetcdfReader(std::string bytes) : bytes_(std::move(bytes)) {
    EXPECT_EQ(nc_open_mem("test", NC_NOWRITE, bytes_.size(), bytes_.data(), &file_), NC_NOERR);
  }
  ~NetcdfReader() { nc_close(file_); }
  NetcdfReader(const NetcdfReader&) = delete;
  NetcdfReader& operator=(const NetcdfReader&) = delete;

  std::string text(const char* variable, const char* attribute) const {
    const int id = variable == nullptr ? NC_GLOBAL : id_of(variable);
    std::size_t length = 0;
    EXPECT_EQ(nc_inq_attlen(file_, id, attribute, &length), NC_NOERR) << attribute;
    std::string value(length, '\0');
    EXPECT_EQ(nc_get_att_text(file_, id, attribute, value.data()), NC_NOERR) << attribute;
    return value;
  }
  std::vector<double> values(const char* variable, std::size_t count) const {
    std::vector<double> out(count);
    EXPECT_EQ(nc_get_var_double(file_, id_of(variable), out.data()), NC_NOERR) << variable;
    return out;
  }
  std::vector<std::string> dimensions(const char* variable) const {
    std::array<int, NC_MAX_VAR_DIMS> ids{};
    int count = 0;
    EXPECT_EQ(nc_inq_var(file_, id_of(variable), nullptr, nullptr, &count, ids.data(), nullptr), NC_NOERR);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      std::array<char, NC_MAX_NAME + 1> name{};
      EXPECT_EQ(nc_inq_dimname(file_, ids[static_cast<std::size_t>(i)], name.data()), NC_NOERR);
      names.emplace_back(name.data());
    }
    return names;
  }

 private:
  int id_of(const char* variable) const {
    int id = -1;
    EXPECT_EQ(nc_inq_varid(file_, variable, &id), NC_NOERR) << variable;
    return id;
  }
  std::string bytes_;
  int file_ = -1;
};

TEST(SeriesNetcdf, IsACfTimeSeries) {
  const auto bytes = series_netcdf(small_series());
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  const NetcdfReader file(*bytes);
  EXPECT_EQ(file.text(nullptr, "Conventions"), "CF-1.8");
  EXPECT_EQ(file.text(nullptr, "featureType"), "timeSeries");
  EXPECT_EQ(file.text("time", "units"), "seconds since 2024-01-15 00:00:00");
  EXPECT_EQ(file.text("T2", "units"), "K");
  EXPECT_EQ(file.text("lat", "standard_name"), "latitude");
  EXPECT_EQ(file.dimensions("T2"), (std::vector<std::string>{"station", "time"}));
  EXPECT_EQ(file.values("time", 2), (std::vector<double>{0, 5400}));
  EXPECT_EQ(file.values("lat", 2), (std::vector<double>{30.5, -12.1}));
  EXPECT_EQ(file.values("grid_lon", 2), (std::vector<double>{114.25, -77.5}));
  const std::vector<double> values = file.values("T2", 4);
  EXPECT_EQ(static_cast<float>(values[0]), 273.15F);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], -0.5);
}

TEST(SlabNetcdf, HasCoordinateVariables) {
  query::SlabAnswer answer = small_slab();
  answer.provenance.parameter.short_name = "2t";
  const auto bytes = slab_netcdf(answer);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  const NetcdfReader file(*bytes);
  EXPECT_EQ(file.dimensions("p2t"), (std::vector<std::string>{"lat", "lon"}));
  EXPECT_EQ(file.text("p2t", "short_name"), "2t");
  EXPECT_EQ(file.values("lat", 2), (std::vector<double>{31, 30.75}));
  EXPECT_EQ(file.values("lon", 3), (std::vector<double>{-1, 0, 1.25}));
  EXPECT_EQ(file.values("time", 1), (std::vector<double>{21600}));
  EXPECT_EQ(file.values("p2t", 6)[4], 5e10F);
}

TEST(SeriesNetcdf, HasBoundsOfIntervals) {
  query::SeriesAnswer answer = small_series();
  answer.steps = {{0, 3600, met::StepProcess::Accumulation}, {0, 7200, met::StepProcess::Accumulation}};
  const auto bytes = series_netcdf(answer);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  const NetcdfReader file(*bytes);
  EXPECT_EQ(file.text("time", "bounds"), "time_bnds");
  EXPECT_EQ(file.dimensions("time_bnds"), (std::vector<std::string>{"time", "nv"}));
  EXPECT_EQ(file.values("time_bnds", 4), (std::vector<double>{0, 3600, 0, 7200}));
  EXPECT_EQ(file.text("T2", "cell_methods"), "time: sum");
}

TEST(SeriesNetcdf, HasNoTimeCoordinateWhereIntervalsEndTogether) {
  query::SeriesAnswer answer = small_series();
  answer.steps = {{0, 7200, met::StepProcess::Accumulation}, {3600, 7200, met::StepProcess::Accumulation}};
  const auto bytes = series_netcdf(answer);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  const NetcdfReader file(*bytes);
  // A coordinate variable, named as its dimension, must grow strictly (CF 1.8 section 1.3).
  EXPECT_EQ(file.dimensions("time"), (std::vector<std::string>{"step"}));
  EXPECT_EQ(file.dimensions("T2"), (std::vector<std::string>{"station", "step"}));
}

TEST(SlabsNetcdf, HasATimeAxis) {
  const query::SlabAnswer answer = small_slab();
  std::vector<float> values = answer.values;
  values.insert(values.end(), answer.values.begin(), answer.values.end());
  const auto bytes =
      slabs_netcdf(answer, {met::Step::instant(0), {0, 21600, met::StepProcess::Average}}, values);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  const NetcdfReader file(*bytes);
  EXPECT_EQ(file.dimensions("T2"), (std::vector<std::string>{"time", "lat", "lon"}));
  EXPECT_EQ(file.values("time", 2), (std::vector<double>{0, 21600}));
  EXPECT_EQ(file.values("time_bnds", 4), (std::vector<double>{0, 0, 0, 21600}));
  EXPECT_EQ(file.text("T2", "cell_methods"), "time: mean");
  EXPECT_EQ(file.values("T2", 12)[10], 5e10F);
}

TEST(SlabNetcdf, HasContinuousLongitudesOverTheDateLine) {
  query::SlabAnswer answer = small_slab();
  answer.longitudes = {170, -180, -170};
  const auto bytes = slab_netcdf(answer);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  EXPECT_EQ(NetcdfReader(*bytes).values("lon", 3), (std::vector<double>{170, 180, 190}));
}

TEST(SlabNetcdf, GivesPositionsOfACurvilinearGrid) {
  query::SlabAnswer answer = small_slab();
  answer.rectilinear = false;
  answer.latitudes = {1, 2, 3, 4, 5, 6};
  answer.longitudes = {7, 8, 9, 10, 11, 12};
  const auto bytes = slab_netcdf(answer);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  const NetcdfReader file(*bytes);
  EXPECT_EQ(file.dimensions("T2"), (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(file.dimensions("lat"), (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(file.text("T2", "coordinates"), "time forecast_reference_time forecast_period lat lon");
  EXPECT_EQ(file.values("lon", 6)[5], 12);
}

}  // namespace
}  // namespace nvmdb::cli
