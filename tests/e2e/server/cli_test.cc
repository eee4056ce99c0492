#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "tests/e2e/server/processes.h"

namespace nvmdb::e2e {
namespace {

const std::string kWaves = "Madagascar.wave.7days.grb";
const std::string kWrf = "wrf_tip_d1.nc";

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class CliEndToEnd : public testing::Test {
 protected:
  void SetUp() override {
    data_ = shared_data();
    if (data_.empty()) GTEST_SKIP() << "the folder of real files is absent (NVMDB_SHARED_DATA)";
    pool_ = folder_.path() / "pool";
  }

  std::string given(const std::string& file) const { return (data_ / "given" / file).string(); }
  nlohmann::json expected(const std::string& file) const {
    return nlohmann::json::parse(std::ifstream(data_ / "expected" / (file + ".json")));
  }

  TemporaryFolder folder_;
  std::filesystem::path data_;
  std::filesystem::path pool_;
};

/// The values of a series CSV by asked point and step.
std::map<std::tuple<double, double, std::int64_t>, std::string> by_point(const std::string& csv) {
  std::map<std::tuple<double, double, std::int64_t>, std::string> values;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "model,run,member,param,level_type,level,lat,lon,grid_lat,grid_lon,step_seconds,valid_time,value,"
            "units");
  while (std::getline(lines, line)) {
    const std::vector<std::string> parts = split(line, ',');
    EXPECT_EQ(parts.size(), 14U) << line;
    if (parts.size() == 14)
      values[{std::stod(parts[6]), std::stod(parts[7]), std::stoll(parts[10])}] = parts[12];
  }
  return values;
}

float float_of(const std::string& text) {
  float value = std::nanf("");
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST_F(CliEndToEnd, SeriesHaveTheValuesOfEcCodes) {
  ServerProcess server(pool_);
  ASSERT_FALSE(server.address().empty()) << server.output();
  const Finished ingest = run_nvmdb({"ingest", "--server", server.address(), given(kWaves)});
  ASSERT_EQ(ingest.exit_code, 0) << ingest.err;
  const nlohmann::json messages = expected(kWaves)["messages"];
  std::map<std::pair<double, double>, bool> points;
  for (const auto& message : messages) {
    if (message["shortName"] != "swh") continue;
    for (const auto& sample : message["samples"]) points[{sample["lat"], sample["lon"]}] = true;
  }
  std::vector<std::string> words = {"series", "--server", server.address(), "--param", "swh"};
  for (const auto& [point, used] : points) {
    std::ostringstream at;
    at << point.first << "," << point.second;
    words.insert(words.end(), {"--at", at.str()});
  }
  const Finished series = run_nvmdb(words);
  ASSERT_EQ(series.exit_code, 0) << series.err;
  const auto values = by_point(series.out);
  int compared = 0;
  for (const auto& message : messages) {
    if (message["shortName"] != "swh") continue;
    for (const auto& sample : message["samples"]) {
      const auto found =
          values.find({sample["lat"], sample["lon"], message["endStep"].get<std::int64_t>() * 3600});
      ASSERT_NE(found, values.end());
      if (sample["value"].is_null()) {
        EXPECT_EQ(found->second, "");
      } else {
        // The reference prints ten digits; a float has nine.
        EXPECT_FLOAT_EQ(float_of(found->second), sample["value"].get<float>());
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

/// A profile is what series say of each of its levels; a section begins with the profile at its first point.
TEST_F(CliEndToEnd, ProfilesAndSectionsFitTheSeries) {
  const std::vector<std::string> place = {"--pool", pool_.string(), "--param", "T", "--step", "6h", "--format", "csv"};
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.end(), place.begin(), place.end());
    const Finished answer = run_nvmdb(words);
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    std::vector<std::string> lines;
    std::istringstream stream(answer.out);
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with("#")) lines.push_back(line);
    }
    return lines;
  };
  ASSERT_EQ(run_nvmdb({"ingest", "--pool", pool_.string(), NVMDB_SOURCE_DIR "/tests/data/wrf_cropped.nc"}).exit_code, 0);
  const std::vector<std::string> profile = ask({"profile", "--at", "29.1,89.8"});
  ASSERT_EQ(profile.size(), 1U + 12U);
  EXPECT_EQ(profile[0], "level,value");
  for (int level = 1; level <= 12; ++level) {
    const std::vector<std::string> series = ask({"series", "--at", "29.1,89.8", "--level", std::to_string(level)});
    ASSERT_EQ(series.size(), 2U);
    std::vector<std::string> cells;
    std::istringstream stream(series[1]);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    EXPECT_EQ(profile[static_cast<std::size_t>(level)], std::to_string(level) + "," + cells.at(12));
  }
  const std::vector<std::string> section = ask({"section", "--from", "29.1,89.8", "--to", "29.4,90", "--points", "3"});
  ASSERT_EQ(section.size(), 1U + 3U * 12U);
  EXPECT_EQ(section[0], "distance_m,lat,lon,level,value");
  for (std::size_t line = 1; line <= 12; ++line) EXPECT_EQ(section[line], "0,29.1,89.8," + profile[line]);
}

TEST_F(CliEndToEnd, ProfilesAndSectionsAreTheSameFromServerAndPool) {
  const std::vector<std::vector<std::string>> questions = {
      {"profile", "--param", "T", "--at", "29.1,89.8", "--step", "3h"},
      {"profile", "--param", "T", "--at", "29.1,89.8", "--format", "json"},
      {"profile", "--param", "temp", "--at", "29.1,89.8", "--pressure", "500,300", "--units", "degC", "--format", "text"},
      {"section", "--param", "T", "--from", "28.5,88.5", "--to", "29.5,90", "--points", "7"},
      {"section", "--param", "T", "--to", "29.5,90", "--from", "28.5,88.5", "--interp", "bilinear", "--format", "json"},
      {"section", "--param", "temp", "--from", "28.5,88.5", "--to", "29.5,90", "--height", "6000,9000", "--format", "netcdf"},
      {"section", "--param", "T", "--from", "28.5,88.5", "--to", "28.5,88.5"},
      {"profile", "--param", "T", "--at", "80,0"},
  };
  ASSERT_EQ(run_nvmdb({"ingest", "--pool", pool_.string(), NVMDB_SOURCE_DIR "/tests/data/wrf_cropped.nc"}).exit_code, 0);
  std::vector<Finished> answers;
  {
    ServerProcess server(pool_);
    ASSERT_FALSE(server.address().empty()) << server.output();
    for (const auto& question : questions) answers.push_back(run_nvmdb(with(question, {"--server", server.address()})));
    EXPECT_EQ(server.stop(), 0);
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Finished embedded = run_nvmdb(with(questions[i], {"--pool", pool_.string()}));
    EXPECT_EQ(embedded.exit_code, i < 6 ? 0 : 6) << i << ": " << embedded.err;
    EXPECT_EQ(embedded.exit_code, answers[i].exit_code) << i << ": " << answers[i].err;
    EXPECT_EQ(embedded.out, answers[i].out) << i;
    EXPECT_EQ(embedded.err, answers[i].err) << i;
  }
}

TEST_F(CliEndToEnd, AnswersAreTheSameFromServerAndPool) {
  const std::vector<std::vector<std::string>> questions = {
      {"series", "--param", "swh", "--at", "-33,35", "--at", "-8.4,23.1"},
      {"series", "--param", "swh", "--at", "-33.2,35.1", "--interp", "bilinear", "--format", "json"},
      {"series", "--param", "T2", "--at", "26.3,56.8", "--units", "degC"},
      {"slab", "--param", "T2", "--step", "all", "--bbox", "60,20,70,30"},
      {"slab", "--param", "T2", "--bbox", "60,20,70,30", "--clip", "--format", "json"},
      {"slab", "--param", "swh", "--step", "24h", "--bbox", "30,-20,50,0"},
      {"slab", "--param", "swh", "--step", "24h", "--format", "netcdf"},
      {"slab", "--param", "swh", "--step", "all", "--bbox", "30,-20,50,0", "--format", "json"},
      {"slab", "--param", "T2", "--step", "all", "--format", "netcdf"},
      {"slab", "--param", "swh", "--step", "all", "--bbox", "30,-20,50,0", "--format", "text"},
      {"models"},
      {"runs", "--format", "json"},
      {"params"},
      {"steps", "--param", "swh"},
      {"grid"},
      {"events", "--after", "0"},
      {"series", "--param", "nothing", "--at", "0,0"},
      {"series", "--param", "swh", "--at", "80,0"},
      {"runs", "--model", "nothing"},
  };
  std::vector<Finished> answers;
  {
    ServerProcess server(pool_);
    ASSERT_FALSE(server.address().empty()) << server.output();
    const Finished ingest = run_nvmdb({"ingest", "--server", server.address(), given(kWaves), given(kWrf)});
    ASSERT_EQ(ingest.exit_code, 0) << ingest.err;
    for (const auto& question : questions)
      answers.push_back(run_nvmdb(with(question, {"--server", server.address()})));
    EXPECT_EQ(server.stop(), 0);
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Finished embedded = run_nvmdb(with(questions[i], {"--pool", pool_.string()}));
    const std::string what = questions[i][0] + " " + std::to_string(i);
    EXPECT_EQ(embedded.exit_code, answers[i].exit_code) << what << ": " << embedded.err << answers[i].err;
    EXPECT_EQ(embedded.out, answers[i].out) << what;
    EXPECT_EQ(embedded.err, answers[i].err) << what;
  }
  EXPECT_EQ(answers[0].exit_code, 0);
  EXPECT_EQ(answers[3].exit_code, 0) << answers[3].err;
  EXPECT_EQ(answers[5].exit_code, 0) << answers[5].err;
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(answers[i].exit_code, 0) << i << ": " << answers[i].err;
  EXPECT_EQ(answers[16].exit_code, 7) << answers[16].err;
  EXPECT_EQ(answers[17].exit_code, 6) << answers[17].err;
  EXPECT_EQ(answers[18].exit_code, 7) << answers[18].err;
}

TEST_F(CliEndToEnd, SlabsHaveTheValuesOfTheFile) {
  const Finished ingest = run_nvmdb({"ingest", "--pool", pool_.string(), given(kWrf)});
  ASSERT_EQ(ingest.exit_code, 0) << ingest.err;
  const nlohmann::json samples = expected(kWrf)["vars"]["T2"]["samples"];
  const Finished slab = run_nvmdb({"slab", "--pool", pool_.string(), "--param", "T2"});
  ASSERT_EQ(slab.exit_code, 0) << slab.err;
  std::vector<std::string> rows;
  std::istringstream lines(slab.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#") || line.starts_with("lat")) continue;
    rows.push_back(line);
  }
  ASSERT_EQ(rows.size(), 200U * 200U);
  int compared = 0;
  for (const auto& sample : samples) {
    if (sample["index"][0] != 0) continue;
    const auto parts =
        split(rows[sample["index"][1].get<std::size_t>() * 200 + sample["index"][2].get<std::size_t>()], ',');
    EXPECT_FLOAT_EQ(float_of(parts[0]), sample["lat"].get<float>());
    EXPECT_FLOAT_EQ(float_of(parts[1]), sample["lon"].get<float>());
    EXPECT_FLOAT_EQ(float_of(parts[2]), sample["value"].get<float>());
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST_F(CliEndToEnd, SlabsOfAllStepsHaveTheValuesOfEcCodes) {
  const Finished ingest = run_nvmdb({"ingest", "--pool", pool_.string(), given(kWaves)});
  ASSERT_EQ(ingest.exit_code, 0) << ingest.err;
  const Finished slab = run_nvmdb({"slab", "--pool", pool_.string(), "--param", "swh", "--step", "all"});
  ASSERT_EQ(slab.exit_code, 0) << slab.err;
  std::map<std::tuple<std::int64_t, double, double>, std::string> values;  // by step, latitude, longitude
  std::istringstream lines(slab.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#") || line.starts_with("step")) continue;
    const auto parts = split(line, ',');
    ASSERT_EQ(parts.size(), 6U) << line;
    EXPECT_EQ(parts[0], parts[1]);
    values[{std::stoll(parts[1]), std::stod(parts[3]), std::stod(parts[4])}] = parts[5];
  }
  EXPECT_EQ(values.size(), 27U * 1683U);
  const nlohmann::json messages = expected(kWaves)["messages"];
  int compared = 0;
  for (const auto& message : messages) {
    if (message["shortName"] != "swh") continue;
    const std::int64_t seconds = message["endStep"].get<std::int64_t>() * 3600;
    for (const auto& sample : message["samples"]) {
      const auto found = values.find({seconds, sample["lat"].get<double>(), sample["lon"].get<double>()});
      ASSERT_NE(found, values.end());
      if (sample["value"].is_null()) {
        EXPECT_EQ(found->second, "");
      } else {
        EXPECT_FLOAT_EQ(float_of(found->second), sample["value"].get<float>());
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST_F(CliEndToEnd, AnswersAreTheSameForAFileOfManyPoints) {
  const std::string file = (folder_.path() / "stations.csv").string();
  {
    std::ofstream stations(file);
    for (int i = 0; i < 1000; ++i) stations << -40 + i % 50 << "," << 20 + i % 40 << ",station " << i << "\n";
  }
  const std::vector<std::string> question = {"series", "--param", "swh", "--points", file};
  Finished remote;
  {
    ServerProcess server(pool_);
    ASSERT_FALSE(server.address().empty()) << server.output();
    ASSERT_EQ(run_nvmdb({"ingest", "--server", server.address(), given(kWaves)}).exit_code, 0);
    remote = run_nvmdb(with(question, {"--server", server.address()}));
    EXPECT_EQ(server.stop(), 0);
  }
  EXPECT_EQ(remote.exit_code, 0) << remote.err;
  EXPECT_EQ(std::count(remote.out.begin(), remote.out.end(), '\n'), 1 + 1000 * 27);
  EXPECT_EQ(run_nvmdb(with(question, {"--pool", pool_.string()})).out, remote.out);
}

TEST_F(CliEndToEnd, RefusesNetcdfOnATerminal) {
  ASSERT_EQ(run_nvmdb({"ingest", "--pool", pool_.string(), given(kWaves)}).exit_code, 0);
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal) + ::unlockpt(terminal), 0);
  const Finished slab = run_nvmdb({"slab", "--pool", pool_.string(), "--param", "swh", "--format", "netcdf", "-o",
                                   ::ptsname(terminal)});
  EXPECT_EQ(slab.exit_code, 6);
  EXPECT_NE(slab.err.find("--output"), std::string::npos) << slab.err;
  ::close(terminal);
}

TEST_F(CliEndToEnd, KeepsWhatWasAcknowledgedWhenItIsKilled) {
  std::string before;
  {
    ServerProcess server(pool_);
    ASSERT_FALSE(server.address().empty()) << server.output();
    ASSERT_EQ(run_nvmdb({"ingest", "--server", server.address(), given(kWaves)}).exit_code, 0);
    before = run_nvmdb({"series", "--server", server.address(), "--param", "swh", "--at", "-33,35"}).out;
    server.kill();
  }
  EXPECT_FALSE(before.empty());
  ServerProcess server(pool_);
  ASSERT_FALSE(server.address().empty()) << server.output();
  EXPECT_EQ(run_nvmdb({"series", "--server", server.address(), "--param", "swh", "--at", "-33,35"}).out,
            before);
  const Finished again = run_nvmdb({"ingest", "--server", server.address(), given(kWaves)});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find(" 0 fields stored"), std::string::npos) << again.out;
}

TEST_F(CliEndToEnd, DropsARun) {
  ASSERT_EQ(run_nvmdb({"ingest", "--pool", pool_.string(), "--model", "waves", given(kWaves)}).exit_code, 0);
  EXPECT_EQ(run_nvmdb({"drop", "--pool", pool_.string(), "waves/x/2016-03-01T06Z"}).exit_code, 7);
  const Finished drop = run_nvmdb({"drop", "--pool", pool_.string(), "--model", "waves", "2016-03-01T06Z"});
  EXPECT_EQ(drop.exit_code, 0) << drop.err;
  EXPECT_EQ(run_nvmdb({"models", "--pool", pool_.string()}).exit_code, 7);
}

TEST_F(CliEndToEnd, TellsBadFilesInOneLine) {
  ServerProcess server(pool_);
  ASSERT_FALSE(server.address().empty()) << server.output();
  const std::filesystem::path empty = folder_.path() / "empty.nc";
  std::ofstream(empty).flush();
  const std::filesystem::path text = folder_.path() / "text.nc";
  std::ofstream(text) << "this is not a weather file\n";
  const std::map<std::string, int> cases = {{empty.string(), 6},
                                            {text.string(), 6},
                                            {folder_.path().string(), 6},
                                            {(folder_.path() / "no").string(), 1}};
  for (const auto& [file, code] : cases) {
    const Finished refused = run_nvmdb({"ingest", "--server", server.address(), file});
    EXPECT_EQ(refused.exit_code, code) << file << ": " << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_NE(refused.err.find(file), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run_nvmdb({"info", "--server", server.address()}).exit_code, 0);
}

TEST(CliExitCodes, TellWhyACommandFailed) {
  const TemporaryFolder folder;
  const std::string pool = (folder.path() / "pool").string();
  EXPECT_EQ(run_nvmdb({"--version"}).exit_code, 0);
  EXPECT_EQ(run_nvmdb({"--help"}).exit_code, 0);
  EXPECT_EQ(run_nvmdb({}).exit_code, 2);
  EXPECT_EQ(run_nvmdb({"series", "--param", "t", "--at", "100,0"}).exit_code, 2);
  const Finished unreachable = run_nvmdb({"models", "--server", "127.0.0.1:1"});
  EXPECT_EQ(unreachable.exit_code, 5);
  EXPECT_EQ(std::count(unreachable.err.begin(), unreachable.err.end(), '\n'), 1) << unreachable.err;
  EXPECT_EQ(run_nvmdb({"models", "--server", "nonsense"}).exit_code, 2);
  const Finished no_pool = run_nvmdb({"models", "--pool", pool});
  EXPECT_EQ(no_pool.exit_code, 6) << no_pool.err;
  EXPECT_FALSE(std::filesystem::exists(pool));
  EXPECT_EQ(run_nvmdb({"serve", "--pool", pool, "--no-create"}).exit_code, 6);
  EXPECT_EQ(run_nvmdb({"serve"}).exit_code, 2);
  EXPECT_EQ(run_nvmdb({"serve", "--pool", pool, "--nvm", "64MiB", "--listen", "0.0.0.0:0"}).exit_code, 6);
  EXPECT_EQ(run_nvmdb({"serve", "--pool", pool, "--archive", "/x"}).exit_code, 2);
}

TEST(Serve, RefusesASecondOwnerAndATakenPort) {
  const TemporaryFolder folder;
  ServerProcess server(folder.path() / "pool");
  ASSERT_FALSE(server.address().empty()) << server.output();
  const Finished second =
      run_nvmdb({"serve", "--pool", (folder.path() / "pool").string(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(second.exit_code, 6);
  EXPECT_NE(second.err.find(std::to_string(server.pid())), std::string::npos) << second.err;
  const Finished taken = run_nvmdb({"serve", "--pool", (folder.path() / "other").string(), "--nvm", "64MiB",
                                    "--listen", server.address()});
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_NE(taken.err.find("in use"), std::string::npos) << taken.err;
  EXPECT_EQ(run_nvmdb({"info", "--server", server.address()}).exit_code, 0);
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace nvmdb::e2e
