#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/field_store.h"
#include "storage/base/cancellation.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

struct IngestOptions {
  std::string model{};   ///< empty: as the file says
  std::string domain{};  ///< empty: as the file says
  const Cancellation* cancellation = nullptr;  ///< asked between pieces; outlives the call
};

/// A step of a file that is now durable and visible (or was already there).
struct IngestedStep {
  engine::RunKey run;
  std::int64_t end_seconds = 0;
  std::uint32_t fields_stored = 0;
  std::uint32_t fields_unchanged = 0;
  std::uint64_t bytes_stored = 0;
};

struct Rejection {
  std::string where;
  Status why;
};

struct IngestReport {
  std::string format;  ///< "GRIB", "NetCDF classic", ...
  std::vector<IngestedStep> steps;
  std::vector<Rejection> rejections;
  std::uint64_t rejections_omitted = 0;  ///< beyond the first 1000
  std::uint64_t fields_stored = 0;
  std::uint64_t fields_unchanged = 0;
  std::uint64_t bytes_stored = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t nanoseconds = 0;
};

struct IngestorOptions {
  std::filesystem::path worker_binary{};  ///< empty: nvmdb-ingest-worker beside this executable
  std::uint32_t workers = 2;
  std::uint64_t worker_memory_bytes = 4ULL << 30U;
  std::uint32_t worker_cpu_seconds = 60;  ///< CPU of a worker for one file, plus 1 s per 20 MB of file
  /// The steps of a NetCDF file of twice this size and more are shared out to several workers.
  std::uint64_t part_bytes_min = 16ULL << 20U;
  std::uint32_t hang_seconds = 30;        ///< without any progress
  bool allow_without_sandbox = false;     ///< else ingest is refused where Landlock or seccomp is missing
  std::vector<std::string> worker_environment{};  ///< "NAME=VALUE" besides the fixed environment of workers
};

/// Ingests files: a sandboxed worker process decodes, this process stores. Worker death is an error of that
/// file. Threads: any number of ingest() calls; they share the workers.
class Ingestor {
 public:
  /// Starts the workers. Errors: IoError (worker binary not found or will not start), PermissionDenied (no
  /// sandbox).
  [[nodiscard]] static Result<std::unique_ptr<Ingestor>> start(engine::FieldStore& store,
                                                               const IngestorOptions& options);
  ~Ingestor();
  Ingestor(const Ingestor&) = delete;
  Ingestor& operator=(const Ingestor&) = delete;

  /// Stores what the file holds. `on_step` is told of each step as soon as it is durable.
  /// Errors: NotFound, PermissionDenied, InvalidArgument (a directory, empty, not GRIB or NetCDF, refused),
  /// Corruption,
  ///         IoError, OutOfSpace, Overloaded, DeadlineExceeded (cancelled). Steps acknowledged before an error stay;
  ///         of the step that was under way nothing does.
  [[nodiscard]] Result<IngestReport> ingest_file(
      const std::filesystem::path& path, const IngestOptions& options,
      const std::function<void(const IngestedStep&)>& on_step = {});
  /// Same, of an open file (kept open by the caller); `name` is for messages.
  [[nodiscard]] Result<IngestReport> ingest_fd(int fd, const std::string& name, const IngestOptions& options,
                                               const std::function<void(const IngestedStep&)>& on_step = {});

  /// What protects the workers, in words: "Landlock ABI 7 (files, network), seccomp allow-list, ...".
  [[nodiscard]] const std::string& sandbox() const;
  /// Process ids of the workers that have no job now.
  [[nodiscard]] std::vector<int> idle_workers() const;

  struct State;

 private:
  explicit Ingestor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::ingest
