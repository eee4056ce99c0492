// Goal:   wherever the engine dies, every acknowledged transaction is there, each transaction is there whole
// or
//         not at all, and nothing that was once found missing comes back.
// Method: an engine process with little memory, so that rows overflow, are evicted, checkpointed and moved,
// and
//         log segments are used again. It dies by its own hand at each fail point of the engine, and, before
//         each of these lives, at a random moment by its parent's: so recoveries have something to do, and
//         are cut themselves. The parent is the oracle: it knows what the clients asked for and were told. A
//         point that is not reached as often as asked for fails the test.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "storage/base/check.h"
#include "storage/base/fail_point.h"
#include "storage/base/random.h"
#include "tests/e2e/kill_loop/fail_point_parts.h"
#include "tests/e2e/kill_loop/row_clients.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/settings.h"

namespace nvmdb::test {
namespace {

constexpr std::uint64_t kCommitsPerLife = 2500;
constexpr std::uint64_t kNthMax = 64;
constexpr int kAttempts = 12;
constexpr int kGarbageLives = 14;

class EngineKills : public ::testing::Test {
 protected:
  enum class End : std::uint8_t { Closed, Killed, Broken };

  /// One life of the engine; the parent kills it when `kill_at` transactions were committed.
  End run_life(const std::string& armed, std::uint64_t kill_at) {
    journal_->found_all = false;
    journal_->go_on = false;
    journal_->commits = 0;
    ++lives_;
    const pid_t child = fork();
    NVMDB_CHECK(child >= 0, "fork");
    if (child == 0) live(scratch_.path() / "pool", *journal_, {armed, kCommitsPerLife, seed_ + lives_});
    int status = 0;
    for (bool sent = false; waitpid(child, &status, WNOHANG) != child; usleep(100)) {
      look();
      if (sent || !journal_->go_on.load() || journal_->commits.load() < kill_at) continue;
      kill(child, SIGKILL);
      sent = true;
    }
    look();
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return End::Killed;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << armed << ": the engine ended with " << status;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::Closed : End::Broken;
  }
  void look() {
    if (!journal_->found_all.load() || journal_->go_on.load()) return;
    for (const std::string& wrong : check_rows(*journal_, findings_))
      ADD_FAILURE() << "life " << lives_ << ": " << wrong;
    journal_->go_on = true;
  }
  /// Recovery makes room only in a pool full of garbage. That is what an engine leaves that always dies
  /// before it collects any; else a death at a random moment gives recovery something to do.
  void prepare(const std::string& point) {
    if (point != "recovery.room") {
      if (run_life("", random_.below(kCommitsPerLife)) == End::Killed) ++random_kills_;
      return;
    }
    for (int i = 0; i < kGarbageLives && !HasFailure(); ++i)
      static_cast<void>(run_life("gc.victim:1:kill", ~0ULL));
  }
  /// Dies at `point`; false when that could not be brought about.
  bool kill_at(const std::string& point, std::uint64_t& nth_max) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      prepare(point);
      const std::uint64_t nth = point == "recovery.room" ? 1 : 1 + random_.below(nth_max);
      const End end = run_life(point + ":" + std::to_string(nth) + ":kill", ~0ULL);
      if (end == End::Killed) return true;
      if (end == End::Broken || HasFailure()) return false;
      nth_max = std::max<std::uint64_t>(1, nth / 2);
    }
    return false;
  }

  const ScratchDirectory scratch_;
  RowJournal* const journal_ = RowJournal::create();
  const std::uint64_t seed_ = setting("NVMDB_KILL_SEED", 20240115);
  SeededRandom random_{seed_};
  RowFindings findings_;
  std::uint64_t lives_ = 0;
  std::uint64_t random_kills_ = 0;
};

TEST_F(EngineKills, NothingAcknowledgedIsLostWhereverTheEngineDies) {
  const std::uint64_t kills = setting("NVMDB_KILLS_PER_POINT", 5);
  const std::vector<std::string> names = FailPoint::names();
  if (names.empty()) GTEST_SKIP() << "built without fail points";
  std::uint64_t points = 0;
  for (const std::string& point : names) {
    if (!is_engine_point(point)) continue;
    ++points;
    std::uint64_t reached = 0;
    std::uint64_t nth_max = kNthMax;
    for (std::uint64_t kill = 0; kill < kills && !HasFailure(); ++kill)
      reached += kill_at(point, nth_max) ? 1U : 0U;
    std::printf("%-24s killed there %llu of %llu times\n", point.c_str(),
                static_cast<unsigned long long>(reached), static_cast<unsigned long long>(kills));
    std::fflush(stdout);
    EXPECT_EQ(reached, kills) << point << " was not reached";
    if (HasFailure()) break;
  }
  while (random_kills_ < setting("NVMDB_KILLS", 200) && !HasFailure()) {
    if (run_life("", random_.below(kCommitsPerLife)) == End::Killed) ++random_kills_;
  }
  EXPECT_EQ(run_life("", ~0ULL), End::Closed);
  std::printf(
      "seed %llu: %llu points, %llu lives, %llu random kills, %llu transactions, %llu lost, %llu rows "
      "wrong\n",
      static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(points),
      static_cast<unsigned long long>(lives_), static_cast<unsigned long long>(random_kills_),
      static_cast<unsigned long long>(findings_.transactions),
      static_cast<unsigned long long>(findings_.lost), static_cast<unsigned long long>(findings_.wrong));
  EXPECT_GE(points, 40U);
}

}  // namespace
}  // namespace nvmdb::test
