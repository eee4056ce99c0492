#pragma once

#include <cstdint>
#include <string>

#include "ingest/jobs/reply_reader.h"
#include "ingest/jobs/source_file.h"
#include "ingest/jobs/worker_process.h"
#include "storage/base/cancellation.h"

namespace nvmdb::ingest {

/// How a job ended.
struct JobEnd {
  enum class Kind {
    Done,           ///< `status` is what the decoder says of the file
    HandlerFailed,  ///< `status` is the handler's, or that of a job cancelled; the worker is in the middle of the file and of no use any
                    ///< more
    WorkerFailed,   ///< it crashed, hung or broke the protocol; `status` says how
  };
  Kind kind = Kind::Done;
  Status status;
};

struct JobOptions {
  std::uint32_t cpu_seconds = 60;  ///< plus 1 s per 20 MB of file
  std::uint32_t hang_seconds = 30;
  DecodeLimits limits;
  const Cancellation* cancellation = nullptr;
};

/// Has one worker decode one file and gives what it finds to `handler`, while it goes on decoding.
/// Threads: one per worker.
[[nodiscard]] JobEnd run_job(WorkerProcess& worker, const SourceFile& source, const JobOptions& options,
                             ReplyHandler& handler);

}  // namespace nvmdb::ingest
