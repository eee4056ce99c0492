#include <gtest/gtest.h>
#include <netcdf.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/ingest_netcdf/memory_sink.h"

namespace nvmdb::ingest {
namespace {

using nlohmann::json;

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

std::vector<std::filesystem::path> given_netcdf_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(shared_data() / "given")) {
    if (entry.path().extension() == ".nc") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Seconds since 1970 of "YYYY-MM-DD_HH:MM:SS", by the C library; nothing for a text that is no time.
std::optional<std::int64_t> seconds_of(const std::string& text) {
  std::tm parts{};
  if (std::sscanf(text.c_str(), "%d-%d-%d_%d:%d:%d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                  &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6 ||
      parts.tm_mon == 0)
    return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return timegm(&parts);
}

/// One expected file beside what was stored.
struct Comparison {
  explicit Comparison(const std::filesystem::path& file)
      : expected(read_json(shared_data() / "expected" / (file.filename().string() + ".json"))) {
    status = decode_path(file, sink);
    if (expected.contains("times")) {
      for (const json& time : expected["times"]) times.push_back(seconds_of(time.get<std::string>()));
    }
    reference = sink.runs.empty() ? 0 : sink.runs[0].reference_time;
  }

  /// Lead time of frame `index`; nothing when the frame must not be served (no time, incomplete, superseded).
  [[nodiscard]] std::optional<std::int64_t> step_of(std::size_t index) const {
    if (is_static()) return 0;
    if (index >= times.size() || !times[index]) return std::nullopt;
    for (std::size_t later = index + 1; later < times.size(); ++later) {
      if (times[later] == times[index]) return std::nullopt;
    }
    return *times[index] - reference;
  }
  [[nodiscard]] bool is_static() const {
    return std::none_of(times.begin(), times.end(), [](const auto& time) { return time.has_value(); });
  }
  /// All frames are stored, so that statistics over the whole variable are comparable.
  [[nodiscard]] bool is_complete() const {
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!step_of(i)) return false;
    }
    return true;
  }

  MemorySink sink;
  Status status;
  json expected;
  std::vector<std::optional<std::int64_t>> times;
  std::int64_t reference = 0;
};

/// Where a value of a variable is: [time], extra dimensions, rows, columns. Variables without a map have no
/// levels.
struct Shape {
  Shape(const json& variable) {
    for (const json& dimension : variable["dims"]) dimensions.push_back(dimension.get<std::string>());
    for (const json& size : variable["shape"]) sizes.push_back(size.get<std::uint64_t>());
    in_frames = !dimensions.empty() && dimensions[0] == "Time";
    const std::size_t rank = dimensions.size();
    located = rank >= 2 && dimensions[rank - 1].starts_with("west_east") &&
              dimensions[rank - 2].starts_with("south_north");
    numbered = located && rank > (in_frames ? 3U : 2U);
  }
  std::vector<std::string> dimensions;
  std::vector<std::uint64_t> sizes;
  bool in_frames = false;
  bool located = false;
  bool numbered = false;
};

struct Tally {
  int agree = 0;
  int total = 0;
  int withheld = 0;  ///< samples of frames that must not be served
};

void compare_samples(const Comparison& c, const std::string& name, const json& variable, Tally& tally) {
  const Shape shape(variable);
  for (const json& sample : variable.value("samples", json::array())) {
    const auto index = sample["index"].get<std::vector<std::uint64_t>>();
    const std::size_t first = shape.in_frames ? 1 : 0;
    const std::size_t last = shape.located ? index.size() - 2 : first;
    std::optional<std::int64_t> step = c.step_of(shape.in_frames ? index[0] : 0);
    if (!step) {
      ++tally.withheld;
      continue;
    }
    std::uint64_t level = 0;
    for (std::size_t i = first; i < last; ++i) level = level * shape.sizes[i] + index[i];
    std::uint64_t point = 0;
    for (std::size_t i = last; i < index.size(); ++i) point = point * shape.sizes[i] + index[i];
    const StoredField* field = c.sink.find(name, *step, shape.numbered ? static_cast<double>(level + 1) : 0);
    ++tally.total;
    ASSERT_NE(field, nullptr) << name << " step " << *step << " level " << level;
    ASSERT_LT(point, field->values.size()) << name;
    const float stored = field->values[point];
    const bool same = sample["value"].is_null() ? std::isnan(stored)
                                                : stored == static_cast<float>(sample["value"].get<double>());
    EXPECT_TRUE(same) << name << " at " << sample["index"] << ": stored " << stored << ", expected "
                      << sample["value"];
    if (same) ++tally.agree;
    if (!sample.contains("lat") || sample["lat"].is_null()) continue;
    const met::Grid& grid = c.sink.grid_of(*field);
    ASSERT_EQ(grid.type, met::GridType::Curvilinear) << name << ": " << grid.description;
    EXPECT_NEAR(grid.latitudes[point], sample["lat"].get<double>(), 1e-5) << name;
    EXPECT_NEAR(grid.longitudes[point], sample["lon"].get<double>(), 1e-5) << name;
  }
}

void compare_statistics(const Comparison& c, const std::string& name, const json& variable) {
  DecodedStatistics all{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0,
                        0};
  double present = 0;
  for (const StoredField& field : c.sink.fields) {
    if (field.header.parameter.short_name != name) continue;
    const auto count = static_cast<double>(field.header.points - field.statistics.missing_count);
    all.missing_count += field.statistics.missing_count;
    if (count == 0) continue;
    all.minimum = std::min(all.minimum, field.statistics.minimum);
    all.maximum = std::max(all.maximum, field.statistics.maximum);
    all.mean += field.statistics.mean * count;
    present += count;
  }
  EXPECT_EQ(all.missing_count, variable["missing_n"].get<std::uint64_t>()) << name;
  if (variable["min"].is_null()) return;
  EXPECT_EQ(static_cast<float>(all.minimum), static_cast<float>(variable["min"].get<double>())) << name;
  EXPECT_EQ(static_cast<float>(all.maximum), static_cast<float>(variable["max"].get<double>())) << name;
  const double scale = std::max(std::fabs(all.minimum), std::fabs(all.maximum));
  EXPECT_NEAR(all.mean / present, variable["mean"].get<double>(), 1e-6 * scale) << name;
}

TEST(GivenNetcdf, SamplesAndStatisticsAgreeWithTheReferenceReader) {
  NVMDB_NEED_SHARED_DATA();
  Tally all;
  for (const auto& file : given_netcdf_files()) {
    SCOPED_TRACE(file.filename().string());
    const Comparison c(file);
    EXPECT_EQ(c.sink.broken_contract, "");
    Tally tally;
    bool has_numbers = false;
    for (const auto& [name, variable] : c.expected["vars"].items()) {
      if (variable["dtype"] == "|S1") continue;
      has_numbers = true;
      compare_samples(c, name, variable, tally);
      if (c.is_complete()) compare_statistics(c, name, variable);
    }
    EXPECT_EQ(c.status.is_ok(), has_numbers) << c.status.to_string();
    std::printf("%-40s %4d of %4d samples agree, %d withheld, %zu fields, %zu rejections\n",
                file.filename().c_str(), tally.agree, tally.total, tally.withheld, c.sink.fields.size(),
                c.sink.rejections.size());
    all.agree += tally.agree;
    all.total += tally.total;
  }
  std::printf("all NetCDF files: %d of %d samples agree\n", all.agree, all.total);
  EXPECT_GT(all.total, 1000);
  EXPECT_EQ(all.agree, all.total);
}

TEST(GivenNetcdf, StepsAreTheTimesOfTheFile) {
  NVMDB_NEED_SHARED_DATA();
  for (const auto& file : given_netcdf_files()) {
    SCOPED_TRACE(file.filename().string());
    const Comparison c(file);
    if (!c.status.is_ok()) continue;
    std::vector<std::int64_t> wanted;
    for (std::size_t i = 0; i < std::max<std::size_t>(c.times.size(), 1); ++i) {
      if (const auto step = c.step_of(i)) wanted.push_back(*step);
    }
    EXPECT_EQ(c.sink.steps_done, wanted);
    const std::string start = c.expected["attrs"].value("SIMULATION_START_DATE", "");
    EXPECT_EQ(c.reference, seconds_of(start).value_or(0));
  }
}

/// Every value of every variable, bit for bit, against libnetcdf.
TEST(GivenNetcdf, EveryValueIsThatOfTheNetcdfLibrary) {
  NVMDB_NEED_SHARED_DATA();
  for (const auto& file : given_netcdf_files()) {
    SCOPED_TRACE(file.filename().string());
    const Comparison c(file);
    if (!c.status.is_ok()) continue;
    int id = -1;
    ASSERT_EQ(nc_open(file.c_str(), NC_NOWRITE, &id), NC_NOERR);
    std::size_t compared = 0;
    for (const auto& [name, variable] : c.expected["vars"].items()) {
      const bool is_float = variable["dtype"] == "float32";
      if (!is_float && variable["dtype"] != "int32" && variable["dtype"] != "int8") continue;
      const Shape shape(variable);
      int number = -1;
      ASSERT_EQ(nc_inq_varid(id, name.c_str(), &number), NC_NOERR);
      std::size_t size = 1;
      for (const std::uint64_t extent : shape.sizes) size *= extent;
      std::vector<float> floats(is_float ? size : 0);
      std::vector<int> integers(is_float ? 0 : size);
      ASSERT_EQ(is_float ? nc_get_var_float(id, number, floats.data())
                         : nc_get_var_int(id, number, integers.data()),
                NC_NOERR);
      const void* values = is_float ? static_cast<const void*>(floats.data()) : integers.data();
      for (const StoredField& field : c.sink.fields) {
        if (field.header.parameter.short_name != name) continue;
        const std::size_t levels = size / (shape.in_frames ? shape.sizes[0] : 1) / field.header.points;
        std::size_t frame = 0;
        while (shape.in_frames && c.step_of(frame) != field.header.step.end_seconds) ++frame;
        const std::size_t level = shape.numbered ? static_cast<std::size_t>(field.header.level.value) - 1 : 0;
        const std::size_t first = (frame * levels + level) * field.header.points;
        EXPECT_EQ(std::memcmp(static_cast<const char*>(values) + first * 4, field.extent.data(),
                              field.header.points * 4),
                  0)
            << name << " " << field.header.where;
        compared += field.header.points;
      }
    }
    nc_close(id);
    EXPECT_GT(compared, 0U);
  }
}

TEST(GivenNetcdf, TwinsInThreeFormatsGiveIdenticalFields) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink hdf5;
  ASSERT_TRUE(decode_path(shared_data() / "given/wrf_cropped.nc", hdf5).is_ok());
  for (const char* name : {"given/wrf_cropped.cdf1.nc", "given/wrf_cropped.cdf5.nc"}) {
    SCOPED_TRACE(name);
    MemorySink classic;
    ASSERT_TRUE(decode_path(shared_data() / name, classic).is_ok());
    ASSERT_EQ(classic.fields.size(), hdf5.fields.size());
    for (const StoredField& field : hdf5.fields) {
      const DecodedField& header = field.header;
      const StoredField* twin =
          classic.find(header.parameter.short_name, header.step.end_seconds, header.level.value);
      ASSERT_NE(twin, nullptr) << header.where;
      EXPECT_EQ(twin->extent, field.extent) << header.where;
      EXPECT_EQ(twin->header.parameter, header.parameter);
      EXPECT_EQ(twin->header.level, header.level);
      EXPECT_EQ(classic.grid_of(*twin).encode_definition(), hdf5.grid_of(field).encode_definition());
      EXPECT_EQ(classic.grid_of(*twin).latitudes, hdf5.grid_of(field).latitudes);
    }
    EXPECT_EQ(classic.runs[0].reference_time, hdf5.runs[0].reference_time);
    EXPECT_EQ(json::parse(classic.runs[0].attributes)["MAP_PROJ"],
              json::parse(hdf5.runs[0].attributes)["MAP_PROJ"]);
  }
}

TEST(GivenNetcdf, TruncatedFileGivesWholeFramesOnly) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink cut;
  MemorySink whole;
  ASSERT_TRUE(decode_path(shared_data() / "given/bugG13_truncated_cdf1.nc", cut).is_ok());
  ASSERT_TRUE(decode_path(shared_data() / "given/wrf_cropped.cdf1.nc", whole).is_ok());
  EXPECT_EQ(cut.steps_done, (std::vector<std::int64_t>{0, 3 * 3600}));
  EXPECT_TRUE(cut.was_rejected("frame 2"));
  EXPECT_TRUE(cut.was_rejected("frame 3"));
  for (const StoredRejection& rejection : cut.rejections) EXPECT_EQ(rejection.why.code(), Code::Corruption);
  EXPECT_EQ(cut.fields.size(), whole.fields.size() / 2);
  for (const StoredField& field : cut.fields) {
    const StoredField* twin = whole.find(field.header.parameter.short_name, field.header.step.end_seconds,
                                         field.header.level.value);
    ASSERT_NE(twin, nullptr);
    EXPECT_EQ(twin->extent, field.extent);
  }
}

TEST(GivenNetcdf, UnsetStandardLongitudeIsNotUsed) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink sink;
  ASSERT_TRUE(decode_path(shared_data() / "given/bugG16_mercator_standlon_1e20.nc", sink).is_ok());
  const json wanted = read_json(shared_data() / "expected/_cases.json")["G16"]["expected"][0];
  const StoredField* field = sink.find("T2", sink.steps_done.at(0));
  ASSERT_NE(field, nullptr);
  const met::Grid& grid = sink.grid_of(*field);
  EXPECT_LT(std::fabs(grid.standard_longitude), 360);
  EXPECT_EQ(grid.wrf_map_projection, 3);
  const std::size_t point = wanted["j"].get<std::size_t>() * grid.columns + wanted["i"].get<std::size_t>();
  EXPECT_NEAR(grid.latitudes[point], wanted["grid_lat"].get<double>(), 1e-6);
  EXPECT_NEAR(grid.longitudes[point], wanted["grid_lon"].get<double>(), 1e-6);
  EXPECT_NEAR(field->values[point], wanted["value"].get<double>(), 1e-5);
}

TEST(GivenNetcdf, DomainAcrossTheDatelineKeepsItsPositions) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink sink;
  ASSERT_TRUE(decode_path(shared_data() / "given/bugG17_lcc_crossing_dateline.nc", sink).is_ok());
  const json cases = read_json(shared_data() / "expected/_cases.json");
  int points = 0;
  for (const json& wanted : cases["G17"]["expected"]) {
    if (!wanted.contains("T2_times")) continue;
    ++points;
    for (std::size_t i = 0; i < sink.steps_done.size(); ++i) {
      const StoredField* field = sink.find("T2", sink.steps_done[i]);
      ASSERT_NE(field, nullptr);
      const met::Grid& grid = sink.grid_of(*field);
      const std::size_t point =
          wanted["j"].get<std::size_t>() * grid.columns + wanted["i"].get<std::size_t>();
      EXPECT_NEAR(grid.longitudes[point], wanted["grid_lon"].get<double>(), 1e-4);
      EXPECT_NEAR(field->values[point], wanted["T2_times"][i].get<double>(), 5e-5);
    }
  }
  EXPECT_EQ(points, 3);
}

TEST(GivenNetcdf, LastOfRepeatedFramesWins) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink sink;
  ASSERT_TRUE(decode_path(shared_data() / "given/bugG18_restart_duplicate_times.nc", sink).is_ok());
  const json wanted =
      read_json(shared_data() / "expected/_cases.json")["G18"]["expected"][0]["values_last_wins"];
  ASSERT_EQ(sink.steps_done.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const StoredField* field = sink.find("T2", sink.steps_done[i]);
    ASSERT_NE(field, nullptr);
    EXPECT_NEAR(field->values[10 * 26 + 10], wanted[i].get<double>(), 5e-5);
  }
}

TEST(GivenNetcdf, HourTwentyFourIsTheNextDay) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink sink;
  ASSERT_TRUE(decode_path(shared_data() / "given/bugX1_times_24h.nc", sink).is_ok());
  EXPECT_EQ(sink.steps_done, (std::vector<std::int64_t>{0, 3 * 3600, 6 * 3600, 12 * 3600}));
}

TEST(GivenNetcdf, StaticFilesHaveNoReferenceTime) {
  NVMDB_NEED_SHARED_DATA();
  for (const char* name : {"given/geo_em.d01_lon-lat.nc", "given/geo_em_d01_polarstereo.nc"}) {
    MemorySink sink;
    ASSERT_TRUE(decode_path(shared_data() / name, sink).is_ok());
    ASSERT_EQ(sink.runs.size(), 1U);
    EXPECT_EQ(sink.runs[0].model, "geo_em");
    EXPECT_EQ(sink.runs[0].significance, met::ReferenceSignificance::Missing);
    EXPECT_EQ(sink.runs[0].reference_time, 0);
    EXPECT_EQ(sink.rejections.size(), 0U);
  }
}

TEST(GivenNetcdf, NamesModelsAndLevels) {
  NVMDB_NEED_SHARED_DATA();
  MemorySink met_em;
  ASSERT_TRUE(decode_path(shared_data() / "given/met_em.d01.2005-08-28_12_00_00.nc", met_em).is_ok());
  EXPECT_EQ(met_em.runs[0].model, "met_em");
  EXPECT_EQ(met_em.find("TT", 0, 30)->header.level.type, "num_metgrid_levels");
  MemorySink wrf;
  ASSERT_TRUE(decode_path(shared_data() / "given/wrf_d01_allvars_cropped.nc", wrf).is_ok());
  EXPECT_EQ(wrf.runs[0].model, "wrf");
  EXPECT_EQ(wrf.runs[0].domain, "d01");
  const std::int64_t step = wrf.steps_done[0];
  EXPECT_EQ(wrf.find("T", step, 27)->header.level.type, "eta");
  EXPECT_EQ(wrf.find("W", step, 28)->header.level.type, "eta_stag");
  EXPECT_EQ(wrf.find("TSLB", step, 4)->header.level.type, "soil");
  EXPECT_EQ(wrf.find("HGT", step)->header.level.type, "surface");
  EXPECT_EQ(wrf.find("ZNU", step)->header.level.type, "none");
  EXPECT_EQ(wrf.find("ZNU", step)->header.points, 27U);
  EXPECT_EQ(wrf.find("ITIMESTEP", step)->header.encoding.kind, met::EncodingKind::Int32);
  EXPECT_EQ(wrf.find("U", step, 1)->header.parameter.stagger, "X");
  EXPECT_EQ(wrf.grid_of(*wrf.find("U", step, 1)).columns, 11U);
  MemorySink nest;
  ASSERT_TRUE(decode_path(shared_data() / "given/wrf_tip_d2.nc", nest).is_ok());
  EXPECT_EQ(nest.runs[0].domain, "d02");
}

}  // namespace
}  // namespace nvmdb::ingest
