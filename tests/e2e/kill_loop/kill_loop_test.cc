// Goal: after kill -9 of the server at any moment of an ingest, every acknowledged step is there, whole, and
// no other
//       step is visible in part.
// Method: a real server on a real pool; a real client ingests real files under ever new model names and
// prints each
//       step that the server acknowledged: its output is the journal, kept in this process. The server is
//       killed at a random time. Then the pool is opened here and compared with the journal; every checksum
//       is checked.

#include "tests/e2e/kill_loop/kill_loop.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "storage/base/random.h"
#include "tests/support/settings.h"

namespace nvmdb::test {
namespace {

/// A random moment: one in five anywhere from the start of the first ingest on, the others soon after the
/// first acknowledgement, while steps are stored.
void wait_for_the_moment(SeededRandom& random, const std::atomic<std::uint64_t>& acknowledged) {
  if (random.below(5) == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(500'000)));
    return;
  }
  for (int i = 0; i < 20'000 && acknowledged == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(150'000)));
}

TEST_F(KillLoop, NoAcknowledgedStepIsLostAndNoneIsPartlyThere) {
  const std::uint64_t seed = setting("NVMDB_KILL_SEED", 20240115);
  const std::uint64_t kills = setting("NVMDB_KILLS", 200);
  const std::vector<InputFile> files = kill_loop_files();
  SeededRandom random(seed);
  PoolFindings findings;
  std::uint64_t acknowledged = 0;
  for (std::uint64_t kill = 0; kill < kills && !HasFatalFailure(); ++kill) {
    const InputFile& file = files[kill % files.size()];
    std::string address;
    const std::unique_ptr<ChildProcess> server = start_server(address);
    ASSERT_FALSE(address.empty()) << "the server did not start after " << kill << " kills";
    Journal journal;
    acknowledged_now_ = 0;
    std::thread client([&] {
      const std::string model = "k" + std::to_string(kill) + "-";
      for (int i = 0; i < 100 && ingest(address, file, model + std::to_string(i), journal); ++i) {
      }
    });
    wait_for_the_moment(random, acknowledged_now_);
    server->kill_now();
    (void)server->wait();
    client.join();
    check_pool(journal, file, findings);
    acknowledged += journal.steps.size();
  }
  std::printf(
      "seed %llu: %llu kills, %llu steps acknowledged, %llu lost, %llu partial, %llu there without their "
      "acknowledgement having arrived\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(kills),
      static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(findings.lost),
      static_cast<unsigned long long>(findings.partial),
      static_cast<unsigned long long>(findings.unacknowledged));
  EXPECT_EQ(findings.lost, 0U);
  EXPECT_EQ(findings.partial, 0U);
  EXPECT_GT(acknowledged, kills) << "the kills came too early to test anything";
}

}  // namespace
}  // namespace nvmdb::test
