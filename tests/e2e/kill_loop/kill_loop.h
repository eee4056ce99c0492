#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/kill_loop/child_process.h"

namespace nvmdb::test {

struct InputFile {
  std::string path;
  std::size_t steps = 0;
  std::uint32_t fields_per_step = 0;
  std::string reference_time;
};
/// wrf_cropped.nc: 4 variables on 12 levels, 2 on 13, T2, six position arrays (`ncdump -h`); the wave
/// forecast: 3 messages a step (`grib_ls`).
[[nodiscard]] std::vector<InputFile> kill_loop_files();

using StepSet = std::set<std::pair<std::string, std::int64_t>>;  ///< model, end of the step in seconds

/// What the client of a server was told and what it asked for. Outlives every server.
struct Journal {
  StepSet steps;                         ///< acknowledged
  std::set<std::string> drops_asked;     ///< models
  std::set<std::string> drops_answered;  ///< of them, those acknowledged
};

struct PoolFindings {
  std::uint64_t lost = 0;            ///< acknowledged steps that are not there
  std::uint64_t partial = 0;         ///< steps without some of their fields, runs dropped in part
  std::uint64_t resurrected = 0;     ///< steps of runs whose drop was acknowledged
  std::uint64_t unacknowledged = 0;  ///< steps there that the client was not told of; allowed
};

/// A pool in memory, servers on it, clients of them.
class KillLoop : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  [[nodiscard]] static std::string binary() { return NVMDB_BINARY_DIR "/nvmdb"; }
  [[nodiscard]] std::filesystem::path pool() const { return directory_ / "pool"; }

  /// Returns when the server listens at `address`, or has ended; `armed`: the fail points, may be empty.
  [[nodiscard]] std::unique_ptr<ChildProcess> start_server(std::string& address,
                                                           const std::string& armed = "");
  /// False: the client did not end well, so the server is gone. Adds the acknowledged steps.
  [[nodiscard]] bool ingest(const std::string& address, const InputFile& file, const std::string& model,
                            Journal& journal);
  /// As ingest().
  [[nodiscard]] bool drop(const std::string& address, const InputFile& file, const std::string& model,
                          Journal& journal);
  /// Checks everything that can be seen in the pool and drops it again. Adds to `findings`.
  void check_pool(const Journal& journal, const InputFile& file, PoolFindings& findings);

  std::filesystem::path directory_;
  std::atomic<std::uint64_t> acknowledged_now_{0};  ///< steps, since whoever looks set it to 0
};

}  // namespace nvmdb::test
