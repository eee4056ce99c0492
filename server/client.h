#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/catalogue.h"
#include "ingest/ingestor.h"
#include "query/answer.h"
#include "query/request.h"
#include "storage/base/result.h"

namespace nvmdb::server {

/// A model and domain with what is stored of it.
struct ModelRow {
  std::string model;
  std::string domain;
  std::string format;
  std::uint64_t run_count = 0;
  met::UnixSeconds oldest_run = 0;
  met::UnixSeconds newest_run = 0;
  std::uint64_t field_count = 0;
  std::uint64_t field_bytes = 0;
};

struct LevelValue {
  double value = 0;
  double bottom = 0;
  bool operator==(const LevelValue&) const = default;
};

/// A parameter on one level type of a run.
struct ParameterRow {
  engine::RunKey run;
  met::Parameter parameter;
  std::string level_type;
  std::vector<LevelValue> levels;
  std::vector<std::uint32_t> members;
  std::uint64_t step_count = 0;
  met::Step first_step;
  met::Step last_step;
  std::string grid_summary;
};

struct StepRow {
  engine::RunKey run;
  met::Step step;
  met::UnixSeconds valid_time = 0;
  std::uint64_t field_count = 0;
};

struct GridRow {
  engine::RunKey run;
  std::string summary;
  met::Grid grid;  ///< without position arrays
  std::uint64_t field_columns = 0;
  std::string example_parameter;
};

/// One thing that `info` tells. Units: "bytes", "ns" or none.
struct InfoItem {
  std::string section;
  std::string name;
  std::variant<std::string, std::uint64_t> value;
  std::string unit;
};

/// What the client commands ask of a database: the same questions and answers whether it is open in this
/// process (LocalClient) or behind gRPC (cli/remote_client.h). The services answer through a LocalClient.
/// Errors: those of query::QueryEngine, engine::Catalogue and ingest::Ingestor; a remote client adds
///         DeadlineExceeded, and IoError with unreachable() when there is no connection.
/// Threads: one at a time, but LocalClient: any number.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  /// Listings take model, domain, run and version of the selection, the narrower ones also parameter, level
  /// and member. Without a run, parameters, steps and grids are those of the newest fitting run of each model
  /// and domain.
  [[nodiscard]] virtual Result<std::vector<ModelRow>> models(const query::Selection& selection) = 0;
  [[nodiscard]] virtual Result<std::vector<engine::Run>> runs(const query::Selection& selection) = 0;
  [[nodiscard]] virtual Result<std::vector<ParameterRow>> parameters(const query::Selection& selection) = 0;
  [[nodiscard]] virtual Result<std::vector<StepRow>> steps(const query::Selection& selection) = 0;
  [[nodiscard]] virtual Result<std::vector<GridRow>> grids(const query::Selection& selection) = 0;

  [[nodiscard]] virtual Result<query::SeriesAnswer> series(const query::SeriesRequest& request) = 0;
  /// Calls `visit` with the slab that is asked or, of a request for all steps, with one after the other, until it
  /// fails.
  [[nodiscard]] virtual Status slabs(const query::SlabRequest& request,
                                     const std::function<Status(const query::SlabAnswer&)>& visit) = 0;

  [[nodiscard]] virtual Result<query::CurtainAnswer> profile(const query::ProfileRequest& request) = 0;
  [[nodiscard]] virtual Result<query::CurtainAnswer> section(const query::SectionRequest& request) = 0;

  /// Ingests a file of this machine.
  [[nodiscard]] virtual Result<ingest::IngestReport> ingest(
      const std::filesystem::path& file, const ingest::IngestOptions& options,
      const std::function<void(const ingest::IngestedStep&)>& on_step) = 0;

  /// Drops the one run that the selection names, and returns it.
  /// Errors: NotFound, InvalidArgument (several fit: they are listed).
  [[nodiscard]] virtual Result<engine::Run> drop(const query::Selection& selection) = 0;
  [[nodiscard]] virtual Result<std::vector<InfoItem>> info() = 0;

  /// Events above `after` (none: from now on), until `visit` returns false or, when `follow` is false, none
  /// is left.
  [[nodiscard]] virtual Status watch(std::optional<std::uint64_t> after, bool follow,
                                     const std::function<bool(const engine::Event&)>& visit) = 0;

  /// True when the last error was that the server cannot be reached.
  [[nodiscard]] virtual bool unreachable() const { return false; }
};

}  // namespace nvmdb::server
