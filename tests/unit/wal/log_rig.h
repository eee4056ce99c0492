#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/page/page_allocator.h"
#include "tests/support/recorded_media.h"
#include "wal/log.h"

namespace nvmdb::wal {

inline LogOptions quiet_options(std::uint32_t streams = 2) {
  LogOptions options;
  options.streams = streams;
  options.log_bytes_max = 64ULL << 20U;
  options.ring_bytes = 64ULL << 10U;
  options.block_bytes_max = 4096;
  options.writer_threads = false;
  return options;
}

/// One session: opens the log of `media` as an engine does at start-up.
class LogSession {
 public:
  explicit LogSession(storage::PoolMedia& media, LogOptions options = quiet_options()) {
    auto pages = storage::PageAllocator::open(media);
    EXPECT_TRUE(pages.is_ok()) << pages.status().to_string();
    pages_ = std::move(pages).value();
    auto reader = LogReader::open(media, *pages_);
    EXPECT_TRUE(reader.is_ok()) << reader.status().to_string();
    reader_ = std::move(reader).value();
    clock_ = std::make_unique<EpochClock>(reader_->horizon().highest_seen.next());
    auto log = Log::start(media, *pages_, *clock_, options, reader_.get());
    EXPECT_TRUE(log.is_ok()) << log.status().to_string();
    log_ = std::move(log).value();
  }

  [[nodiscard]] Log& log() { return *log_; }
  [[nodiscard]] EpochClock& clock() { return *clock_; }
  [[nodiscard]] storage::PageAllocator& pages() { return *pages_; }
  [[nodiscard]] const LogReader& found() const { return *reader_; }

 private:
  std::unique_ptr<storage::PageAllocator> pages_;
  std::unique_ptr<LogReader> reader_;
  std::unique_ptr<EpochClock> clock_;
  std::unique_ptr<Log> log_;
};

/// An appender with its epoch slot, as a worker thread has them. Records get Tids in the order of their
/// commits.
class Worker {
 public:
  explicit Worker(LogSession& session) : session_(session), slot_(session.clock().acquire_slot()) {
    auto appender = session.log().new_appender();
    EXPECT_TRUE(appender.is_ok()) << appender.status().to_string();
    appender_ = std::move(appender).value();
  }
  ~Worker() {
    appender_.reset();
    session_.clock().release_slot(*slot_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] Log::Appender& appender() { return *appender_; }

  /// Appends a record; its epoch is in `tid` afterwards.
  [[nodiscard]] Status append(std::string_view payload, Tid* tid = nullptr) {
    NVMDB_TRY(appender_->reserve(payload.size()));
    const Epoch epoch = session_.clock().enter_commit(*slot_);
    if (!payload.empty()) std::memcpy(appender_->payload(), payload.data(), payload.size());
    const Tid made = Tid::make(epoch, ++sequence_);
    appender_->publish(made);
    session_.clock().leave_commit(*slot_);
    if (tid != nullptr) *tid = made;
    return Status::ok();
  }
  /// Appends and waits until it is durable.
  [[nodiscard]] Status commit(std::string_view payload) {
    Tid tid;
    NVMDB_TRY(append(payload, &tid));
    return session_.log().wait_durable(tid.epoch());
  }

 private:
  LogSession& session_;
  EpochClock::Slot* slot_;
  std::unique_ptr<Log::Appender> appender_;
  std::uint64_t sequence_ = 0;
};

/// All records of the log, in the order of streams and of each stream.
inline std::vector<std::string> records_of(const LogReader& reader) {
  std::vector<std::string> records;
  for (std::uint32_t stream = 0; stream < reader.stream_count(); ++stream) {
    const Status status = reader.for_each(stream, [&](const LogRecord& record) {
      EXPECT_LE(record.tid.epoch(), reader.horizon().durable);
      records.emplace_back(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
      return Status::ok();
    });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
  return records;
}

/// Opens the log of `media` anew and reads it.
inline Result<std::unique_ptr<LogReader>> reopen(test::RecordedMedia& media) {
  NVMDB_ASSIGN(auto pages, storage::PageAllocator::open(media));
  return LogReader::open(media, *pages);
}

}  // namespace nvmdb::wal
