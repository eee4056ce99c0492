#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/nvm/media.h"
#include "tests/support/crash_states.h"
#include "tests/support/recorded_media.h"
#include "wal/log.h"

namespace nvmdb::wal {

/// Threads that each run one task at a time, handed to them by one caller: real threads, so that fences have
/// owners, in an order that only the caller decides.
class Actors {
 public:
  explicit Actors(std::size_t count);
  ~Actors();
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;
  /// Runs `task` on thread `index` and returns when it ended.
  void run(std::size_t index, const std::function<void()>& task);
  [[nodiscard]] std::size_t count() const { return actors_.size(); }

 private:
  struct Actor;
  std::vector<std::unique_ptr<Actor>> actors_;
};

struct WorkloadOptions {
  std::size_t threads = 1;
  std::uint64_t seed = 1;
  std::size_t steps = 40;  ///< of each session
  std::size_t sessions = 2;
  std::size_t longest = 600;  ///< of records
  bool checkpoints = false;   ///< sometimes set the checkpoint word and free segments
  LogOptions log;
};

/// What was done to the log and what must hold of it: the oracle.
struct History {
  struct Group {
    Epoch epoch;
    std::vector<std::string> records;
  };
  std::vector<Group> groups;                      ///< in the order in which they were written
  std::uint64_t records = 0;                      ///< appended; their ids are 1 to this
  std::map<std::uint64_t, std::size_t> group_of;  ///< acknowledgement id -> index in groups
};

/// Runs sessions of appends, waits and restarts on `media`, one step at a time on seeded threads.
/// Acknowledges a record on the media as soon as anybody could see that it is durable, also from inside a
/// fence.
[[nodiscard]] History run_workload(test::RecordedMedia& media, const WorkloadOptions& options);

/// Compares what a reader finds with the history: exactly the groups above the checkpoint up to some group
/// that is not before the last acknowledged one. Returns what is wrong; `durable_groups` is how far the log
/// goes.
[[nodiscard]] std::string compare(const LogReader& reader, const History& history,
                                  std::span<const std::uint64_t> acks, Epoch covered,
                                  std::size_t* durable_groups);

}  // namespace nvmdb::wal
