#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "storage/base/mutex.h"
#include "storage/base/random.h"
#include "tests/support/observed_media.h"
#include "tests/unit/wal/log_rig.h"

namespace nvmdb::wal {
namespace {

using test::RecordedMedia;
using test::RecordedOptions;

/// "t:n:padding"; the reader checks the padding.
std::string make_record(std::size_t thread, std::size_t number, std::size_t size) {
  std::string record = std::to_string(thread) + ":" + std::to_string(number) + ":";
  if (record.size() < size)
    record.append(size - record.size(), static_cast<char>('a' + (thread + number) % 26));
  return record;
}

struct Load {
  std::size_t threads = 4;
  std::size_t records = 400;  ///< of each thread
  std::size_t longest = 300;
  double wait_chance = 0.3;
  LogOptions options;
};

/// Threads append and wait at random. What the log acknowledged is kept by the threads; in the end all of it,
/// each record once and each thread's records in order, must be in the log that a new reader finds.
void hammer(const Load& load) {
  RecordedMedia media(RecordedOptions{.regions = 2, .pages = 40});
  std::map<std::string, Epoch> published;
  Mutex mutex;
  std::atomic<std::size_t> early{0};
  {
    LogSession session(media, load.options);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < load.threads; ++t) {
      threads.emplace_back([&, t] {
        SeededRandom random(t + 1);
        Worker worker(session);
        std::map<std::string, Epoch> own;
        for (std::size_t i = 0; i < load.records; ++i) {
          const std::string record = make_record(t, i, random.below(load.longest));
          Tid tid;
          if (!worker.append(record, &tid).is_ok()) ADD_FAILURE() << "append";
          own.emplace(record, tid.epoch());
          if (random.chance(load.wait_chance) || i + 1 == load.records) {
            if (!session.log().wait_durable(tid.epoch()).is_ok()) ADD_FAILURE() << "wait";
            if (session.log().durable_epoch() < tid.epoch()) early.fetch_add(1);
          }
        }
        const MutexLock lock(mutex);
        published.merge(own);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(session.log().statistics().records, published.size());
  }
  EXPECT_EQ(early.load(), 0U);
  const auto reader = std::move(reopen(media)).value();
  std::map<std::string, std::size_t> next;
  std::size_t found = 0;
  for (std::uint32_t stream = 0; stream < reader->stream_count(); ++stream) {
    const Status status = reader->for_each(stream, [&](const LogRecord& record) {
      const std::string text(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
      const auto known = published.find(text);
      if (known == published.end()) return Status::corruption("a record nobody wrote: " + text);
      if (known->second != record.tid.epoch()) return Status::corruption("wrong epoch: " + text);
      const std::size_t colon = text.find(':');
      const std::size_t number = std::stoul(text.substr(colon + 1));
      if (number != next[text.substr(0, colon)]++) return Status::corruption("out of order: " + text);
      ++found;
      return Status::ok();
    });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
  EXPECT_EQ(found, published.size());
}

TEST(LogThreads, KeepEveryRecordWithCallersAsLeaders) {
  hammer({.options = quiet_options(3)});
}

TEST(LogThreads, KeepEveryRecordWithBackgroundThreads) {
  LogOptions options = quiet_options(3);
  options.writer_threads = true;
  options.epoch_interval_us = 100;
  hammer({.threads = 6, .wait_chance = 0.1, .options = options});
}

TEST(LogThreads, KeepEveryRecordUnderBackPressure) {
  LogOptions options = quiet_options(2);
  options.ring_bytes = 4096;
  hammer({.longest = 1900, .wait_chance = 0.02, .options = options});
}

TEST(LogThreads, KeepEveryRecordOfGroupsHandedToTheWriters) {
  LogOptions options = quiet_options(4);
  options.writer_threads = true;
  options.ring_bytes = 1ULL << 20U;
  options.epoch_interval_us = 5000;
  hammer({.records = 150, .longest = 60'000, .wait_chance = 0.1, .options = options});
}

// While one caller's fence is under way three more commit and wait: they need one more group, not three.
TEST(LogThreads, WriteCallersThatComeMeanwhileAsOneGroup) {
  RecordedMedia recorded;
  std::atomic<bool> hold{false};
  std::atomic<bool> held{false};
  test::ObservedMedia media(recorded, [&] {
    if (!hold.exchange(false)) return;
    held.store(true);
    held.wait(true);
  });
  LogSession session(media, quiet_options(1));
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(std::make_unique<Worker>(session));
  ASSERT_TRUE(workers[0]->commit("warm up").is_ok());
  const std::uint64_t groups = session.log().statistics().epochs_closed;
  const std::uint64_t fences = recorded.fence_count();

  hold.store(true);
  std::thread leader([&] { EXPECT_TRUE(workers[0]->commit("leader").is_ok()); });
  while (!held.load()) std::this_thread::yield();
  std::vector<Tid> tids(4);
  for (std::size_t i = 1; i < 4; ++i) ASSERT_TRUE(workers[i]->append("follower", &tids[i]).is_ok());
  std::vector<std::thread> followers;
  for (std::size_t i = 1; i < 4; ++i) {
    followers.emplace_back([&, i] { EXPECT_TRUE(session.log().wait_durable(tids[i].epoch()).is_ok()); });
  }
  EXPECT_LT(session.log().durable_epoch(), tids[1].epoch());
  held.store(false);
  held.notify_one();
  leader.join();
  for (std::thread& follower : followers) follower.join();
  EXPECT_EQ(session.log().statistics().epochs_closed - groups, 2U);
  EXPECT_EQ(recorded.fence_count() - fences, 2U);
}

TEST(LogThreads, TellAllWaitersOfAFailure) {
  RecordedMedia media;
  LogOptions options = quiet_options(2);
  options.writer_threads = true;
  LogSession session(media, options);
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  std::atomic<int> ready{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Worker worker(session);
      if (!worker.commit("good").is_ok()) ADD_FAILURE() << "first commit";
      ready.fetch_add(1);
      Status status;
      while (status.is_ok()) status = worker.commit("until it fails");
      if (status.code() == Code::IoError) failed.fetch_add(1);
    });
  }
  while (ready.load() < 4) std::this_thread::yield();
  media.fail_fences(0, ~0ULL);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 4);
}

}  // namespace
}  // namespace nvmdb::wal
