#include "ingest/ingestor.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "ingest/field_import.h"
#include "ingest/jobs/job_runner.h"
#include "ingest/jobs/quarantine.h"
#include "ingest/jobs/source_file.h"
#include "ingest/jobs/worker_pool.h"
#include "storage/base/clock.h"
#include "storage/base/fail_point.h"

namespace nvmdb::ingest {
namespace {

/// How many workers decode the file side by side.
std::uint32_t part_count(const SourceFile& source, const IngestorOptions& options) {
  if (source.format() == FileFormat::Grib || source.format() == FileFormat::Unknown) return 1;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(source.size() / options.part_bytes_min, 1, options.workers));
}

/// Adds what another worker brought of the same file.
void add_report(const IngestReport& from, IngestReport& to) {
  to.steps.insert(to.steps.end(), from.steps.begin(), from.steps.end());
  std::stable_sort(to.steps.begin(), to.steps.end(), [](const IngestedStep& a, const IngestedStep& b) {
    return std::tie(a.run.reference_time, a.end_seconds) < std::tie(b.run.reference_time, b.end_seconds);
  });
  to.rejections.insert(to.rejections.end(), from.rejections.begin(), from.rejections.end());
  to.rejections_omitted += from.rejections_omitted;
  to.fields_stored += from.fields_stored;
  to.fields_unchanged += from.fields_unchanged;
  to.bytes_stored += from.bytes_stored;
}

Result<std::filesystem::path> default_worker_binary() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Status::io_error("cannot find this executable: " + error.message());
  return self.parent_path() / "nvmdb-ingest-worker";
}

}  // namespace

struct Ingestor::State {
  State(engine::FieldStore& s, const IngestorOptions& o, std::unique_ptr<WorkerPool> p)
      : store(s), options(o), pool(std::move(p)) {}

  engine::FieldStore& store;
  const IngestorOptions options;
  std::unique_ptr<WorkerPool> pool;
  Quarantine quarantine;

  Result<IngestReport> ingest(const SourceFile& source, const IngestOptions& how,
                              const std::function<void(const IngestedStep&)>& on_step);
  /// One share of a file: decoded by one worker, stored by the calling thread.
  Status run_part(const SourceFile& source, FieldImport& import, std::uint32_t part, std::uint32_t part_count,
                  const Cancellation* cancellation);
  Status run_jobs(const SourceFile& source, FieldImport& import, const JobOptions& job_options);
};

Result<std::unique_ptr<Ingestor>> Ingestor::start(engine::FieldStore& store, const IngestorOptions& options) {
  IngestorOptions complete = options;
  if (complete.worker_binary.empty()) {
    NVMDB_ASSIGN(complete.worker_binary, default_worker_binary());
  }
  if (::access(complete.worker_binary.c_str(), X_OK) != 0) {
    return Status::io_error("there is no ingest worker at " + complete.worker_binary.string());
  }
  const WorkerOptions worker{.binary = complete.worker_binary,
                             .memory_bytes = complete.worker_memory_bytes,
                             .cpu_seconds = complete.worker_cpu_seconds,
                             .allow_without_sandbox = complete.allow_without_sandbox,
                             .environment = complete.worker_environment};
  NVMDB_ASSIGN(std::unique_ptr<WorkerPool> pool, WorkerPool::start(worker, complete.workers));
  return std::unique_ptr<Ingestor>(new Ingestor(std::make_unique<State>(store, complete, std::move(pool))));
}

Ingestor::Ingestor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ingestor::~Ingestor() = default;

const std::string& Ingestor::sandbox() const {
  return state_->pool->sandbox();
}
std::vector<int> Ingestor::idle_workers() const {
  return state_->pool->idle_pids();
}

Result<IngestReport> Ingestor::ingest_file(const std::filesystem::path& path, const IngestOptions& options,
                                           const std::function<void(const IngestedStep&)>& on_step) {
  NVMDB_ASSIGN(const SourceFile source, SourceFile::open(path));
  return state_->ingest(source, options, on_step);
}

Result<IngestReport> Ingestor::ingest_fd(int fd, const std::string& name, const IngestOptions& options,
                                         const std::function<void(const IngestedStep&)>& on_step) {
  NVMDB_ASSIGN(const SourceFile source, SourceFile::reopen(fd, name));
  return state_->ingest(source, options, on_step);
}

Result<IngestReport> Ingestor::State::ingest(const SourceFile& source, const IngestOptions& how,
                                             const std::function<void(const IngestedStep&)>& on_step) {
  const std::uint64_t begun = system_clock().monotonic_ns();
  NVMDB_TRY(quarantine.check(source));
  const std::uint32_t parts = part_count(source, options);
  std::mutex step_mutex;
  const auto tell = [&](const IngestedStep& step) {
    const std::lock_guard lock(step_mutex);
    if (on_step) on_step(step);
  };
  std::vector<std::unique_ptr<FieldImport>> imports;
  for (std::uint32_t part = 0; part < parts; ++part) {
    imports.push_back(std::make_unique<FieldImport>(store, source, how, tell));
  }
  std::vector<Status> results(parts);
  std::vector<std::thread> threads;
  for (std::uint32_t part = 1; part < parts; ++part) {
    threads.emplace_back(
        [&, part] { results[part] = run_part(source, *imports[part], part, parts, how.cancellation); });
  }
  results[0] = run_part(source, *imports[0], 0, parts, how.cancellation);
  for (std::thread& thread : threads) thread.join();

  IngestReport report = imports[0]->report();
  for (std::uint32_t part = 1; part < parts; ++part) add_report(imports[part]->report(), report);
  const auto failed = std::find_if(results.begin(), results.end(), [](const Status& s) { return !s.is_ok(); });
  Status status = failed == results.end() ? Status::ok() : *failed;
  if (status.is_ok() && parts > 1 && report.steps.empty()) {
    status = Status::corruption("no variable of the NetCDF file could be read");
  }
  if (!status.is_ok()) {
    std::string message = status.message();
    if (message.find(source.name()) == std::string::npos) message = source.name() + ": " + message;
    if (const std::size_t stored = report.steps.size(); stored > 0) {
      message += "; " + std::to_string(stored) + (stored == 1 ? " step was" : " steps were") +
                 " stored before and stay";
    }
    return Status(status.code(), std::move(message));
  }
  report.nanoseconds = system_clock().monotonic_ns() - begun;
  return report;
}

Status Ingestor::State::run_part(const SourceFile& source, FieldImport& import, std::uint32_t part,
                                 std::uint32_t part_count, const Cancellation* cancellation) {
  JobOptions job_options{options.worker_cpu_seconds, options.hang_seconds, {}, cancellation};
  job_options.limits.part = part;
  job_options.limits.part_count = part_count;
  NVMDB_TRY(run_jobs(source, import, job_options));
  NVMDB_FAIL_POINT_TRY("ingest.finish");
  return import.finish();
}

Status Ingestor::State::run_jobs(const SourceFile& source, FieldImport& import, const JobOptions& job_options) {
  for (bool fresh = false;; fresh = true) {
    NVMDB_ASSIGN(WorkerPool::Lease lease, pool->acquire(fresh, job_options.cancellation));
    const bool was_fresh = lease.worker().jobs() == 0;
    NVMDB_FAIL_POINT_TRY("ingest.job");
    const JobEnd end = run_job(lease.worker(), source, job_options, import);
    if (end.kind == JobEnd::Kind::Done) {
      // What crashes a parser often only damages its memory first: such a worker serves nobody else.
      if (end.status.is_ok() && !import.saw_damage()) lease.keep();
      return end.status;
    }
    if (end.kind == JobEnd::Kind::HandlerFailed) return end.status;
    NVMDB_TRY(source.check_unchanged());
    if (was_fresh) {
      quarantine.note_crash(source, end.status);
      return end.status;
    }
    // An earlier file may be to blame: once more, in a worker that has read nothing else.
    import.restart();
  }
}

}  // namespace nvmdb::ingest
