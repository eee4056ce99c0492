// Goal: after kill -9 of the server at any moment of an ingest, every acknowledged step is there, whole, and no other
//       step is visible in part.
// Method: a real server on a real pool; a real client ingests real files under ever new model names and prints each
//       step that the server acknowledged: its output is the journal, kept in this process. The server is killed
//       at a random time. Then the pool is opened here and compared with the journal; every checksum is checked.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "storage/base/random.h"
#include "storage/nvm/pool.h"
#include "tests/e2e/kill_loop/child_process.h"
#include "tests/support/fields/field_fixture.h"

namespace nvmdb {
namespace {

using test::ChildProcess;
using StepSet = std::set<std::pair<std::string, std::int64_t>>;  ///< model, end of the step in seconds


struct InputFile {
  std::string path;
  std::size_t steps;
  /// Fields of a step. wrf_cropped.nc: 4 variables on 12 levels, 2 on 13, T2, six position arrays
  /// (`ncdump -h`); the wave forecast: 3 messages a step (`grib_ls`).
  std::uint32_t fields_per_step;
};

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class KillLoop : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path("/dev/shm") / ("nvmdb-kill-loop-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static std::string binary() { return NVMDB_BINARY_DIR "/nvmdb"; }

  std::unique_ptr<ChildProcess> start_server(std::string& address) {
    auto server = std::make_unique<ChildProcess>(std::vector<std::string>{
        binary(), "serve", "--pool", (directory_ / "pool").string(), "--nvm", "192MiB", "--ingest-workers", "1", "--listen", "127.0.0.1:0"});
    std::string line;
    while (server->read_line(line)) {
      const std::string mark = "listening on ";
      if (const std::size_t at = line.find(mark); at != std::string::npos) {
        address = line.substr(at + mark.size());
        address = address.substr(0, address.find(' '));
        return server;
      }
    }
    return nullptr;
  }

  /// Ingests `file` again and again under new names until the server is gone; adds what was acknowledged.
  void ingest_until_killed(const std::string& address, const InputFile& file, const std::string& prefix, StepSet& journal) {
    for (int i = 0; i < 100; ++i) {
      ChildProcess client({binary(), "ingest", "--server", address, "--json", "--model",
                           prefix + std::to_string(i), file.path});
      std::string line;
      while (client.read_line(line)) {
        const nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
        if (!said.is_discarded() && said.value("event", "") == "step") {
          journal.emplace(said["model"].get<std::string>(), said["step_seconds"].get<std::int64_t>());
          ++acknowledged_now_;
        }
      }
      if (client.wait() != 0) return;
    }
  }

  /// A random moment: one in five anywhere from the start of the first ingest on, the others soon after the first
  /// acknowledgement, while steps are stored.
  void wait_for_the_moment(SeededRandom& random) {
    if (random.below(5) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(500'000)));
      return;
    }
    for (int i = 0; i < 20'000 && acknowledged_now_ == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(150'000)));
  }

  std::filesystem::path directory_;
  std::atomic<std::uint64_t> acknowledged_now_{0};
};

/// Checks everything that can be seen in the pool and drops it again. Adds to `lost` and `partial`.
void check_pool(const std::filesystem::path& pool_directory, const StepSet& journal, const InputFile& file,
                std::uint64_t& lost, std::uint64_t& partial, std::uint64_t& unacknowledged) {
  const auto pool = storage::Pool::open(pool_directory, {});
  ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
  Result<test::Stack> opened = test::Stack::open(**pool);
  ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
  test::Stack stack = std::move(*opened);
  StepSet visible;
  const std::vector<engine::Run> runs = stack.catalogue->runs().value();
  for (const engine::Run& run : runs) {
    std::map<std::int64_t, std::uint32_t> good;
    {
      const engine::ReadView view = stack.store->view().value();
      const std::vector<engine::InventoryRow> inventory = stack.catalogue->inventory(run.id).value();
      for (const engine::InventoryRow& row : inventory) {
        const auto column = stack.store->column(
            view, {run.id, row.member, row.parameter, row.level_type, row.level, row.bottom});
        ASSERT_TRUE(column.is_ok()) << column.status().to_string();
        for (const engine::FieldRef& field : (*column)->fields) {
          const Status sound = stack.store->verify(view, field);
          EXPECT_TRUE(sound.is_ok()) << sound.to_string();
          if (sound.is_ok()) ++good[field.field.key.step.end_seconds];
        }
      }
    }
    const std::vector<engine::StepRow> steps = stack.catalogue->steps(run.id).value();
    for (const engine::StepRow& step : steps) {
      visible.emplace(run.key.model, step.end_seconds);
      if (good[step.end_seconds] != step.field_count || step.field_count != file.fields_per_step) ++partial;
    }
    ASSERT_TRUE(stack.store->drop(run.id).is_ok());
  }
  for (const auto& step : journal) {
    if (!visible.contains(step)) {
      ++lost;
      ADD_FAILURE() << "acknowledged and lost: " << step.first << " step " << step.second;
    }
  }
  for (const auto& step : visible) {
    if (!journal.contains(step)) ++unacknowledged;
  }
}

TEST_F(KillLoop, NoAcknowledgedStepIsLostAndNoneIsPartlyThere) {
  const std::uint64_t seed = number_from_environment("NVMDB_KILL_SEED", 20240115);
  const std::uint64_t kills = number_from_environment("NVMDB_KILLS", 200);
  const std::vector<InputFile> files = {{NVMDB_SOURCE_DIR "/tests/data/wrf_cropped.nc", 4, 81},
                                        {NVMDB_SOURCE_DIR "/tests/data/Madagascar.wave.7days.grb", 27, 3}};
  SeededRandom random(seed);
  std::uint64_t acknowledged = 0, lost = 0, partial = 0, unacknowledged = 0;
  for (std::uint64_t kill = 0; kill < kills && !HasFatalFailure(); ++kill) {
    const InputFile& file = files[kill % files.size()];
    std::string address;
    std::unique_ptr<ChildProcess> server = start_server(address);
    ASSERT_NE(server, nullptr) << "the server did not start after " << kill << " kills";
    StepSet journal;
    acknowledged_now_ = 0;
    std::thread client([&] { ingest_until_killed(address, file, "k" + std::to_string(kill) + "-", journal); });
    wait_for_the_moment(random);
    server->kill_now();
    (void)server->wait();
    client.join();
    check_pool(directory_ / "pool", journal, file, lost, partial, unacknowledged);
    acknowledged += journal.size();
  }
  std::printf("seed %llu: %llu kills, %llu steps acknowledged, %llu lost, %llu partial, %llu there without their "
              "acknowledgement having arrived\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(kills),
              static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(lost),
              static_cast<unsigned long long>(partial), static_cast<unsigned long long>(unacknowledged));
  EXPECT_EQ(lost, 0U);
  EXPECT_EQ(partial, 0U);
  EXPECT_GT(acknowledged, kills) << "the kills came too early to test anything";
}

}  // namespace
}  // namespace nvmdb
