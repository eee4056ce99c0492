#include "tests/crash/wal/log_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "storage/base/random.h"
#include "storage/nvm/root_words.h"
#include "tests/support/observed_media.h"

namespace nvmdb::wal {

struct Actors::Actor {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void()>* task = nullptr;
  bool stop = false;
  std::thread thread;

  void loop() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return task != nullptr || stop; });
      if (stop) return;
      (*task)();
      task = nullptr;
      changed.notify_all();
    }
  }
};

Actors::Actors(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    actors_.push_back(std::make_unique<Actor>());
    actors_.back()->thread = std::thread([actor = actors_.back().get()] { actor->loop(); });
  }
}

Actors::~Actors() {
  for (const auto& actor : actors_) {
    {
      const std::lock_guard lock(actor->mutex);
      actor->stop = true;
    }
    actor->changed.notify_all();
    actor->thread.join();
  }
}

void Actors::run(std::size_t index, const std::function<void()>& task) {
  Actor& actor = *actors_[index];
  std::unique_lock lock(actor.mutex);
  actor.task = &task;
  actor.changed.notify_all();
  actor.changed.wait(lock, [&] { return actor.task == nullptr; });
}

namespace {

/// One session of the workload.
class Session {
 public:
  Session(test::RecordedMedia& media, const WorkloadOptions& options, SeededRandom& random, History& history)
      : recorded_(media),
        options_(options),
        random_(random),
        history_(history),
        media_(media, [this] { acknowledge(); }),
        actors_(options.threads) {}

  void run() {
    actors_.run(0, [this] { start(); });
    for (std::size_t step = 0; step < options_.steps; ++step) {
      const std::size_t index = random_.below(options_.threads);
      actors_.run(index, [&] { act(index); });
    }
    actors_.run(0, [this] { stop(); });
  }

 private:
  struct Member {
    EpochClock::Slot* slot = nullptr;
    std::unique_ptr<Log::Appender> appender;
  };

  void start() {
    auto pages = storage::PageAllocator::open(media_);
    ASSERT_TRUE(pages.is_ok());
    pages_ = std::move(pages).value();
    auto reader = LogReader::open(media_, *pages_);
    ASSERT_TRUE(reader.is_ok()) << reader.status().to_string();
    clock_ = std::make_unique<EpochClock>((*reader)->horizon().highest_seen.next());
    auto log = Log::start(media_, *pages_, *clock_, options_.log, reader->get());
    ASSERT_TRUE(log.is_ok()) << log.status().to_string();
    log_ = std::move(log).value();
    members_.resize(options_.threads);
    for (Member& member : members_) {
      member.slot = clock_->acquire_slot();
      member.appender = std::move(log_->new_appender()).value();
    }
  }

  void stop() {
    for (Member& member : members_) {
      member.appender.reset();
      clock_->release_slot(*member.slot);
    }
    log_.reset();
  }

  void act(std::size_t index) {
    Member& member = members_[index];
    const double choice = random_.unit();
    if (choice < 0.85) {
      append(member);
      if (choice < 0.45) wait();
    } else if (choice < 0.95 || !options_.checkpoints) {
      wait();
    } else {
      checkpoint();
    }
    acknowledge();
  }

  void append(Member& member) {
    std::string record(random_.below(options_.longest) + 9, static_cast<char>('a' + random_.below(26)));
    const std::uint64_t id = ++history_.records;
    record.replace(0, 9, std::to_string(100'000'000 + id));
    const std::uint64_t closed = log_->statistics().epochs_closed;
    const Status reserved = member.appender->reserve(record.size());
    note_group(closed);
    ASSERT_TRUE(reserved.is_ok()) << reserved.to_string();
    const Epoch epoch = clock_->enter_commit(*member.slot);
    std::memcpy(member.appender->payload(), record.data(), record.size());
    member.appender->publish(Tid::make(epoch, id));
    clock_->leave_commit(*member.slot);
    pending_.push_back(std::move(record));
    epoch_of_[id] = epoch;
    history_.group_of[id] = history_.groups.size();
  }

  void wait() {
    const std::uint64_t closed = log_->statistics().epochs_closed;
    const Status status = log_->wait_durable(clock_->current());
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    note_group(closed);
  }

  /// If an epoch was closed, all that was pending is one group now.
  void note_group(std::uint64_t closed_before) {
    if (log_->statistics().epochs_closed == closed_before || pending_.empty()) return;
    history_.groups.push_back({log_->durable_epoch(), std::exchange(pending_, {})});
  }

  void checkpoint() {
    if (history_.groups.empty()) return;
    const std::uint64_t epoch = history_.groups[random_.below(history_.groups.size())].epoch.value;
    storage::Door& root = media_.root_words();
    if (storage::load_root_number(root, storage::kCheckpointEpochWord).value() >= epoch) return;
    storage::store_root_number(root, storage::kCheckpointEpochWord, epoch);
    root.flush(storage::kCheckpointEpochWord * 8, 8);
    ASSERT_TRUE(root.fence().is_ok());
    ASSERT_TRUE(log_->release_through(Epoch{epoch}).is_ok());
  }

  void acknowledge() {
    if (!log_) return;
    const Epoch durable = log_->durable_epoch();
    for (auto at = epoch_of_.begin(); at != epoch_of_.end();) {
      if (at->second > durable) {
        ++at;
        continue;
      }
      recorded_.ack(at->first);
      at = epoch_of_.erase(at);
    }
  }

  test::RecordedMedia& recorded_;
  const WorkloadOptions& options_;
  SeededRandom& random_;
  History& history_;
  test::ObservedMedia media_;
  Actors actors_;
  std::unique_ptr<storage::PageAllocator> pages_;
  std::unique_ptr<EpochClock> clock_;
  std::unique_ptr<Log> log_;
  std::vector<Member> members_;
  std::vector<std::string> pending_;
  std::map<std::uint64_t, Epoch> epoch_of_;  ///< of records not acknowledged yet, by id
};

}  // namespace

History run_workload(test::RecordedMedia& media, const WorkloadOptions& options) {
  SeededRandom random(options.seed);
  History history;
  for (std::size_t i = 0; i < options.sessions; ++i) {
    media.phase("session " + std::to_string(i + 1));
    Session(media, options, random, history).run();
  }
  return history;
}

std::string compare(const LogReader& reader, const History& history, std::span<const std::uint64_t> acks,
                    Epoch covered, std::size_t* durable_groups) {
  std::vector<std::string> found;
  for (std::uint32_t stream = 0; stream < reader.stream_count(); ++stream) {
    const Status status = reader.for_each(stream, [&](const LogRecord& record) {
      found.emplace_back(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
      return Status::ok();
    });
    if (!status.is_ok()) return status.to_string();
  }
  std::size_t durable = 0;
  std::vector<std::string> expected;
  for (const History::Group& group : history.groups) {
    if (group.epoch > reader.horizon().durable) break;
    ++durable;
    if (group.epoch > covered) expected.insert(expected.end(), group.records.begin(), group.records.end());
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  if (found != expected) {
    return "the log goes up to epoch " + std::to_string(reader.horizon().durable.value) + " with " +
           std::to_string(found.size()) + " records, expected " + std::to_string(expected.size());
  }
  for (const std::uint64_t ack : acks) {
    const auto known = history.group_of.find(ack);
    if (known == history.group_of.end()) continue;
    if (known->second >= durable) {
      return "record " + std::to_string(ack) + " of group " + std::to_string(known->second) +
             " was acknowledged, found " + std::to_string(durable) + " groups";
    }
  }
  if (durable_groups != nullptr) *durable_groups = durable;
  return {};
}

}  // namespace nvmdb::wal
