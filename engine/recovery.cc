#include "engine/recovery.h"

#include <atomic>

#include "engine/log_codec.h"
#include "storage/base/fail_point.h"

namespace nvmdb::engine {

namespace {

constexpr std::uint64_t kProgressEvery = 8192;

Status apply_record(RecoveryWorker& worker, const wal::LogRecord& record) {
  LogOperationReader reader(record.payload);
  LogOperation operation;
  while (!reader.at_end()) {
    NVMDB_TRY(reader.next(operation));
    NVMDB_TRY(worker.apply(operation, record.tid.order()));
  }
  return Status::ok();
}

}  // namespace

Status redo(RecoveryWork& work, const wal::LogReader& log) {
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> bytes{0};
  NVMDB_TRY(work.for_each(log.stream_count(), [&](RecoveryWorker& worker, std::size_t stream) {
    return log.for_each(static_cast<std::uint32_t>(stream), [&](const wal::LogRecord& record) -> Status {
      NVMDB_FAIL_POINT_TRY("recovery.record");
      NVMDB_TRY(apply_record(worker, record));
      bytes.fetch_add(record.payload.size(), std::memory_order_relaxed);
      if ((records.fetch_add(1, std::memory_order_relaxed) + 1) % kProgressEvery == 0) {
        work.report("redo", bytes.load(std::memory_order_relaxed), log.horizon().bytes);
      }
      return Status::ok();
    });
  }));
  work.database().recovery.records_applied = records.load(std::memory_order_relaxed);
  return Status::ok();
}

}  // namespace nvmdb::engine
