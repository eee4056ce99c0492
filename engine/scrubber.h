#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine/field_store.h"

namespace nvmdb::engine {

struct ScrubProgress {
  std::uint64_t bytes_per_second = 0;  ///< at most; 0: only when pass() is called
  std::uint64_t passes = 0;            ///< completed
  std::uint64_t fields = 0;            ///< in this pass or, between passes, in the last one
  std::uint64_t checkpoint_pages = 0;
  std::uint64_t bytes = 0;
  met::UnixSeconds last_end = 0;  ///< of the last pass; 0: none yet
};

/// Reads what nobody asks for: goes over all fields, positions of grids and checkpoint tuples again and again,
/// compares them with their checksums, and puts what is damaged on the field store's list. Its thread gets little
/// of a processor that others want, and reads no faster than it is told.
/// Threads: any number; one pass at a time.
class Scrubber {
 public:
  Scrubber(FieldStore& store, std::uint64_t bytes_per_second);
  ~Scrubber();
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  /// Passes in a thread of its own from now on, ten minutes apart.
  void start();
  /// One pass in the calling thread. Damage is no error of it. Errors: Overloaded, IoError, Conflict
  /// (stopped).
  [[nodiscard]] Status pass();
  [[nodiscard]] ScrubProgress progress() const;

 private:
  void run();
  [[nodiscard]] Status scrub_fields();
  [[nodiscard]] Status scrub_grids();
  [[nodiscard]] Status scrub_checkpoint();
  /// Counts what was read, and waits until so much may have been read. Errors: Conflict (stopped).
  [[nodiscard]] Status pay(std::uint64_t bytes);

  FieldStore& store_;
  const std::uint64_t bytes_per_second_;
  std::atomic<std::uint64_t> passes_{0};
  std::atomic<std::uint64_t> fields_{0};
  std::atomic<std::uint64_t> checkpoint_pages_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<met::UnixSeconds> last_end_{0};

  std::mutex pass_mutex_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  ///< guarded by mutex_
  std::thread thread_;
};

}  // namespace nvmdb::engine
