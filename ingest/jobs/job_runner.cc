#include "ingest/jobs/job_runner.h"

#include <algorithm>
#include <csignal>
#include <optional>

#include "storage/base/clock.h"

namespace nvmdb::ingest {
namespace {

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kFileBytesPerCpuSecond = 20'000'000;
/// A job may last this many times its CPU budget: decoding also waits for the disk, and for the store.
constexpr std::uint64_t kWallPerCpu = 10;
/// How soon a job notices that it was cancelled.
constexpr int kPollMs = 25;

/// One job of one worker: sends the input, stores the replies.
class JobRunner {
 public:
  JobRunner(WorkerProcess& worker, const SourceFile& source, const JobOptions& options, ReplyHandler& handler)
      : worker_(worker),
        source_(source),
        options_(options),
        reader_(limits(), worker.ring(), worker.ring_progress(), handler) {}

  JobEnd run() {
    const std::uint64_t cpu_seconds = options_.cpu_seconds + source_.size() / kFileBytesPerCpuSecond;
    const std::uint64_t deadline =
        system_clock().monotonic_ns() + kWallPerCpu * cpu_seconds * kNanosecondsPerSecond;
    const protocol::Job job{source_.format(), options_.limits};
    if (const Status sent = worker_.submit(source_.rewound(), source_.size(), job, cpu_seconds);
        !sent.is_ok()) {
      return failed(sent.message());
    }
    while (!reader_.outcome().has_value()) {
      if (system_clock().monotonic_ns() > deadline) return stopped("took too long");
      if (std::optional<JobEnd> end = step(); end.has_value()) return *end;
    }
    return {JobEnd::Kind::Done, *reader_.outcome()};
  }

 private:
  [[nodiscard]] ReplyLimits limits() const {
    ReplyLimits limits;
    limits.decode = options_.limits;
    const std::uint64_t ratio = limits.decode.declared_ratio_max;
    if (source_.size() > limits.total_bytes_max / ratio) limits.total_bytes_max = source_.size() * ratio;
    return limits;
  }

  /// Reads one packet; a value when the job is over.
  std::optional<JobEnd> step() {
    const Result<protocol::Channel::Packet> packet = receive();
    if (const Status wanted = still_wanted(options_.cancellation); !wanted.is_ok()) {
      (void)worker_.reap(true);
      return JobEnd{JobEnd::Kind::HandlerFailed, wanted};
    }
    if (packet.status().code() == Code::NotFound) return died();
    if (packet.status().code() == Code::DeadlineExceeded) {
      return stopped("made no progress for " + std::to_string(options_.hang_seconds) + " s");
    }
    if (!packet.is_ok()) return stopped(packet.status().message());
    if (const Status status = reader_.read(packet->bytes); !status.is_ok()) {
      if (reader_.violated()) return stopped(status.message());
      return JobEnd{JobEnd::Kind::HandlerFailed, status};
    }
    if (const std::optional<std::uint64_t> credit = reader_.take_credit(); credit.has_value()) {
      ByteWriter reply;
      protocol::encode(protocol::Credit{*credit}, reply);
      // A failure means that it is dying: what it said before is still to be read.
      (void)worker_.channel().send(reply.bytes(), false);
    }
    return std::nullopt;
  }

  /// Errors: those of Channel::receive(); DeadlineExceeded also when the job is cancelled.
  Result<protocol::Channel::Packet> receive() {
    for (int left_ms = static_cast<int>(options_.hang_seconds) * 1000;; left_ms -= kPollMs) {
      auto packet = worker_.channel().receive(std::min(left_ms, kPollMs), false);
      const bool over = left_ms <= kPollMs || !still_wanted(options_.cancellation).is_ok();
      if (packet.status().code() != Code::DeadlineExceeded || over) return packet;
    }
  }

  JobEnd died() {
    const WorkerProcess::Death death = worker_.reap(false);
    if (const auto call = reader_.forbidden_call(); call.has_value()) {
      return failed("decoder tried a forbidden system call (number " + std::to_string(*call) +
                    ") and was stopped");
    }
    if (death.signal == SIGXCPU) return failed("decoder used more CPU time than it may");
    return failed("decoder crashed (" + death.text() + ")");
  }
  JobEnd stopped(const std::string& why) {
    (void)worker_.reap(true);
    return failed("decoder was stopped: " + why);
  }
  static JobEnd failed(const std::string& how) {
    return {JobEnd::Kind::WorkerFailed, Status::corruption(how)};
  }

  WorkerProcess& worker_;
  const SourceFile& source_;
  const JobOptions& options_;
  ReplyReader reader_;
};

}  // namespace

JobEnd run_job(WorkerProcess& worker, const SourceFile& source, const JobOptions& options,
               ReplyHandler& handler) {
  return JobRunner(worker, source, options, handler).run();
}

}  // namespace nvmdb::ingest
