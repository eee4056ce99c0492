// Goal: wherever the server dies, every acknowledged step is there, whole, nothing is visible in part, and
// what was
//       acknowledged as dropped does not come back.
// Method: for each fail point that the server has, by its own list, but for those that engine_kill_test is for: a
// server that kills itself there, clients
// that
//       ingest and drop until it is gone, or, when it was not reached, an ordinary end, in which the last
//       points lie. Then the pool is opened here and compared with what the clients were told. A point that
//       is not reached as often as asked for fails the test: it would prove nothing.

#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "storage/base/random.h"
#include "tests/e2e/kill_loop/fail_point_parts.h"
#include "tests/e2e/kill_loop/kill_loop.h"
#include "tests/support/settings.h"

namespace nvmdb::test {
namespace {

constexpr int kKilled = 128 + SIGKILL;
constexpr int kRoundsMax = 2;  ///< ingests and drops before a server is asked to end
constexpr std::uint64_t kNthMax = 12;

class FailPointKills : public KillLoop {
 protected:
  static std::vector<std::string> names() {
    ChildProcess lister({"/usr/bin/env", "NVMDB_FAIL_POINT_LIST=1", binary()});
    std::vector<std::string> found;
    for (std::string line; lister.read_line(line);) {
      if (!needs_small_memory(line)) found.push_back(line);
    }
    return lister.wait() == 0 ? found : std::vector<std::string>{};
  }

  /// One server with an armed point; true when it died there.
  bool run_server(const std::string& point, std::uint64_t nth, const InputFile& file) {
    Journal journal;
    std::string address;
    const auto server = start_server(address, point + ":" + std::to_string(nth) + ":kill");
    bool alive = !address.empty();
    for (int round = 0; alive && round < kRoundsMax; ++round) {
      const std::string model = "m" + std::to_string(models_++);
      alive = ingest(address, file, model, journal) && (round > 0 || drop(address, file, model, journal));
    }
    server->terminate();  // where it is dying already, nothing changes
    const int end = server->wait();
    EXPECT_TRUE(end == kKilled || end == 0) << point << ": the server ended with " << end;
    if (!alive && end != kKilled) {
      // Seen twice in some thousand runs, on a busy machine, and not explained: gRPC gives UNAVAILABLE of a server that
      // lives. What was acknowledged is checked all the same, and the point is tried again.
      std::printf("%s: a client failed, but the server was alive\n", point.c_str());
      ++refused_;
    }
    acknowledged_ += journal.steps.size();
    if (!std::filesystem::exists(pool() / "identity")) {
      // It died while it made the pool: the next one must be able to.
      EXPECT_TRUE(journal.steps.empty());
      const auto next = start_server(address);
      EXPECT_FALSE(address.empty()) << "no server starts after a kill at " << point;
      next->terminate();
      EXPECT_EQ(next->wait(), 0);
    }
    check_pool(journal, file, findings_);
    return end == kKilled;
  }

  /// What was learnt of a point: up to which time a server may be asked to die there, and on which pool.
  struct Reach {
    std::uint64_t nth_max = kNthMax;
    bool needs_new_pool = false;
    bool one_file =
        false;  ///< only this file leads there: a latitude-longitude grid of a GRIB file has no positions
    std::size_t file = 0;
  };
  /// Dies at `point`: somewhere in the work on the pool there is; else where it is first reached; else on a
  /// new pool.
  bool kill_with(const std::string& point, Reach& reach, const InputFile& file, SeededRandom& random) {
    if (!reach.needs_new_pool) {
      const std::uint64_t nth = 1 + random.below(reach.nth_max);
      if (run_server(point, nth, file)) return true;
      if (nth > 1 && run_server(point, 1, file)) {
        reach.nth_max = std::max<std::uint64_t>(1, nth / 2);
        return true;
      }
    }
    std::filesystem::remove_all(pool());
    const bool reached = run_server(point, 1, file);
    reach.needs_new_pool = reach.needs_new_pool || reached;
    return reached;
  }
  /// With the files in turn; a file that does not lead there even on a new pool is left out from then on.
  bool kill_at(const std::string& point, Reach& reach, std::uint64_t kill, SeededRandom& random) {
    const std::size_t first = reach.one_file ? reach.file : static_cast<std::size_t>(kill % files_.size());
    if (kill_with(point, reach, files_[first], random)) return true;
    if (reach.one_file) return false;
    const std::size_t other = (first + 1) % files_.size();
    reach.one_file = kill_with(point, reach, files_[other], random);
    reach.file = other;
    return reach.one_file;
  }

  const std::vector<InputFile> files_ = kill_loop_files();
  PoolFindings findings_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t models_ = 0;
  std::uint64_t refused_ = 0;  ///< clients that failed though the server lived
};

TEST_F(FailPointKills, NothingAcknowledgedIsLostWhereverTheServerDies) {
  const std::uint64_t seed = setting("NVMDB_KILL_SEED", 20240115);
  const std::uint64_t kills = setting("NVMDB_KILLS_PER_POINT", 5);
  const std::vector<std::string> points = names();
  if (points.empty()) GTEST_SKIP() << "the server was built without fail points";
  SeededRandom random(seed);
  for (const std::string& point : points) {
    std::uint64_t reached = 0;
    Reach reach;
    for (std::uint64_t kill = 0; kill < kills && !HasFatalFailure(); ++kill) {
      if (kill_at(point, reach, kill, random)) ++reached;
    }
    std::printf("%-24s killed there %llu of %llu times\n", point.c_str(),
                static_cast<unsigned long long>(reached), static_cast<unsigned long long>(kills));
    std::fflush(stdout);
    EXPECT_EQ(reached, kills) << point << " was not reached";
  }
  std::printf(
      "seed %llu: %zu points, %llu steps acknowledged, %llu lost, %llu partial, %llu resurrected, %llu there "
      "without their acknowledgement having arrived\n",
      static_cast<unsigned long long>(seed), points.size(), static_cast<unsigned long long>(acknowledged_),
      static_cast<unsigned long long>(findings_.lost), static_cast<unsigned long long>(findings_.partial),
      static_cast<unsigned long long>(findings_.resurrected),
      static_cast<unsigned long long>(findings_.unacknowledged));
  EXPECT_LE(refused_, points.size() / 5) << "clients fail of servers that live";
  EXPECT_EQ(findings_.lost, 0U);
  EXPECT_EQ(findings_.partial, 0U);
  EXPECT_EQ(findings_.resurrected, 0U);
  EXPECT_GT(acknowledged_, points.size() * kills) << "the kills came too early to test anything";
}

}  // namespace
}  // namespace nvmdb::test
