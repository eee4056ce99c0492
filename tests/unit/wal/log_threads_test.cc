#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "storage/base/mutex.h"
#include "storage/base/random.h"
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
