#include "cli/remote_client.h"

#include <fcntl.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "nvmdb/v1/admin.grpc.pb.h"
#include "nvmdb/v1/catalog.grpc.pb.h"
#include "nvmdb/v1/ingest.grpc.pb.h"
#include "nvmdb/v1/query.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/host_port.h"
#include "server/listing.h"
#include "server/path_gate.h"
#include "server/wire.h"

namespace nvmdb::cli {
namespace {

namespace wire = server::wire;

Status file_error(const std::filesystem::path& file, int error) {
  const std::string what = file.string() + ": " + std::generic_category().message(error);
  if (error == ENOENT || error == ENOTDIR) return Status::not_found(what);
  if (error == EACCES || error == EPERM) return Status::permission_denied(what);
  return Status::io_error(what);
}

class RemoteClient final : public server::Client {
 public:
  RemoteClient(RemoteOptions options, const std::shared_ptr<grpc::Channel>& channel)
      : options_(std::move(options)),
        catalog_(v1::Catalog::NewStub(channel)),
        query_(v1::Query::NewStub(channel)),
        ingest_(v1::Ingest::NewStub(channel)),
        admin_(v1::Admin::NewStub(channel)) {}

  Result<std::vector<server::ModelRow>> models(const query::Selection& selection) override {
    v1::ListModelsRequest request;
    request.set_model(selection.model);
    request.set_domain(selection.domain);
    return list<server::ModelRow, v1::ListModelsResponse>(
        selection, request,
        [this](auto* context, const auto& asked, auto* answer) {
          return catalog_->ListModels(context, asked, answer);
        },
        [](const v1::ListModelsResponse& response) -> const auto& { return response.models(); });
  }
  Result<std::vector<engine::Run>> runs(const query::Selection& selection) override {
    v1::ListRunsRequest request;
    wire::put(selection, *request.mutable_selection());
    return list<engine::Run, v1::ListRunsResponse>(
        selection, request,
        [this](auto* context, const auto& asked, auto* answer) {
          return catalog_->ListRuns(context, asked, answer);
        },
        [](const v1::ListRunsResponse& response) -> const auto& { return response.runs(); });
  }
  Result<std::vector<server::ParameterRow>> parameters(const query::Selection& selection) override {
    v1::ListParametersRequest request;
    wire::put(selection, *request.mutable_selection());
    return list<server::ParameterRow, v1::ListParametersResponse>(
        selection, request,
        [this](auto* context, const auto& asked, auto* answer) {
          return catalog_->ListParameters(context, asked, answer);
        },
        [](const v1::ListParametersResponse& response) -> const auto& { return response.parameters(); });
  }
  Result<std::vector<server::StepRow>> steps(const query::Selection& selection) override {
    v1::ListStepsRequest request;
    wire::put(selection, *request.mutable_selection());
    return list<server::StepRow, v1::ListStepsResponse>(
        selection, request,
        [this](auto* context, const auto& asked, auto* answer) {
          return catalog_->ListSteps(context, asked, answer);
        },
        [](const v1::ListStepsResponse& response) -> const auto& { return response.steps(); });
  }

  Result<std::vector<server::GridRow>> grids(const query::Selection& selection) override {
    v1::GetGridRequest request;
    wire::put(selection, *request.mutable_selection());
    v1::GetGridResponse response;
    grpc::ClientContext context;
    prepare(context);
    NVMDB_TRY(take(catalog_->GetGrid(&context, request, &response)));
    std::vector<server::GridRow> rows;
    for (const v1::Grid& grid : response.grids()) rows.push_back(wire::take(grid));
    return rows;
  }

  Result<query::SeriesAnswer> series(const query::SeriesRequest& request) override {
    v1::SeriesRequest asked;
    wire::put(request, asked);
    // What the server answers at once, without a stream.
    constexpr std::size_t kFewPoints = 16;
    if (request.points.size() > kFewPoints) return streamed_series(asked, request.points);
    v1::SeriesResponse response;
    grpc::ClientContext context;
    prepare(context);
    const Status status = take(query_->Series(&context, asked, &response));
    if (status.code() == Code::OutOfSpace) return streamed_series(asked, request.points);
    NVMDB_TRY(status);
    if (response.series_size() != 1) return Status::corruption("series answer: expected one series");
    return wire::take_series(response.series(0), request.points);
  }

  Status slabs(const query::SlabRequest& request,
               const std::function<Status(const query::SlabAnswer&)>& visit) override {
    v1::SlabRequest asked;
    wire::put(request, asked);
    grpc::ClientContext context;
    prepare(context);
    const auto reader = query_->Slab(&context, asked);
    v1::SlabResponse response;
    query::SlabAnswer answer;
    std::uint32_t headed = 0;
    std::uint32_t expected = 1;
    bool located = true;
    Status failure;
    while (failure.is_ok() && reader->Read(&response)) {
      if (response.has_header()) {
        if (headed > 0) failure = finish_slab(answer, located, visit);
        if (failure.is_ok()) failure = begin_slab(response.header(), headed > 0, answer);
        located = !response.header().no_positions();
        expected = std::max(1U, response.header().slab_count());
        ++headed;
      } else {
        failure = headed > 0 ? append(response.chunk(), answer)
                             : Status::corruption("slab answer: a chunk before the header");
      }
    }
    if (!failure.is_ok()) {
      context.TryCancel();
      static_cast<void>(reader->Finish());
      return failure;
    }
    NVMDB_TRY(take(reader->Finish()));
    if (headed != expected) {
      return Status::corruption("slab answer: " + std::to_string(headed) + " of " + std::to_string(expected) +
                                " slabs came");
    }
    return finish_slab(answer, located, visit);
  }

  Result<query::CurtainAnswer> profile(const query::ProfileRequest& request) override {
    v1::ProfileRequest asked;
    wire::put(request, asked);
    v1::ProfileResponse response;
    grpc::ClientContext context;
    prepare(context);
    NVMDB_TRY(take(query_->Profile(&context, asked, &response)));
    return wire::take_curtain(response.curtain());
  }

  Result<query::CurtainAnswer> section(const query::SectionRequest& request) override {
    v1::SectionRequest asked;
    wire::put(request, asked);
    v1::SectionResponse response;
    grpc::ClientContext context;
    prepare(context);
    NVMDB_TRY(take(query_->Section(&context, asked, &response)));
    return wire::take_curtain(response.curtain());
  }

  Result<ingest::IngestReport> ingest(
      const std::filesystem::path& file, const ingest::IngestOptions& options,
      const std::function<void(const ingest::IngestedStep&)>& on_step) override {
    return options_.server_path ? ingest_path(file, options, on_step) : upload(file, options, on_step);
  }

  Result<engine::Run> drop(const query::Selection& selection) override {
    v1::DropRunRequest request;
    wire::put(selection, *request.mutable_selection());
    v1::DropRunResponse response;
    grpc::ClientContext context;
    prepare(context);
    NVMDB_TRY(take(admin_->DropRun(&context, request, &response)));
    return wire::take(response.run());
  }

  Result<std::vector<server::InfoItem>> info() override {
    v1::GetInfoResponse response;
    grpc::ClientContext context;
    prepare(context);
    NVMDB_TRY(take(admin_->GetInfo(&context, v1::GetInfoRequest(), &response)));
    std::vector<server::InfoItem> items;
    for (const v1::InfoItem& item : response.items()) items.push_back(wire::take(item));
    items.push_back({"server", "address", options_.address, ""});
    return items;
  }

  Status watch(std::optional<std::uint64_t> after, bool follow,
               const std::function<bool(const engine::Event&)>& visit) override {
    // How far there is to go when nothing is followed: Watch itself never ends.
    std::uint64_t last = 0;
    if (!follow) {
      NVMDB_ASSIGN(last, last_event());
      if (!after || *after >= last) return Status::ok();
    }
    v1::WatchRequest request;
    if (after) request.set_after_sequence(*after);
    grpc::ClientContext context;
    prepare(context);
    const auto reader = catalog_->Watch(&context, request);
    v1::WatchResponse response;
    while (reader->Read(&response)) {
      for (const v1::Event& message : response.events()) {
        const engine::Event event = wire::take(message);
        if (visit(event) && (follow || event.sequence < last)) continue;
        context.TryCancel();
        static_cast<void>(reader->Finish());
        return Status::ok();
      }
    }
    return take(reader->Finish());
  }

  bool unreachable() const override { return unreachable_; }

 private:
  using Deadline = std::optional<std::chrono::system_clock::time_point>;

  /// When a call that begins now has to end; nothing: it takes as long as it takes.
  [[nodiscard]] Deadline deadline() const {
    if (!options_.timeout_seconds) return std::nullopt;
    return std::chrono::system_clock::now() + std::chrono::seconds(*options_.timeout_seconds);
  }
  void prepare(grpc::ClientContext& context) const { prepare(context, deadline()); }
  static void prepare(grpc::ClientContext& context, const Deadline& deadline) {
    if (deadline) context.set_deadline(*deadline);
  }

  Status take(const grpc::Status& status) {
    const server::ReceivedStatus received = server::from_grpc(status);
    unreachable_ = !received.own && status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (unreachable_) {
      return Status::io_error("server " + options_.address +
                              " cannot be reached; start it with `nvmdb serve`, or name it with --server");
    }
    if (!received.own && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return Status::deadline_exceeded("server " + options_.address + " was not done within " +
                                       std::to_string(options_.timeout_seconds.value_or(0)) +
                                       " s; allow more with --timeout");
    }
    return received.status;
  }

  template <class Row, class Response, class Request, class Call, class Rows>
  Result<std::vector<Row>> list(const query::Selection& selection, Request request, Call call, Rows rows_of) {
    std::vector<Row> rows;
    const Deadline end = deadline();
    do {
      Response response;
      grpc::ClientContext context;
      prepare(context, end);
      request.set_page_size(10'000);
      NVMDB_TRY(take(call(&context, request, &response)));
      for (const auto& row : rows_of(response)) rows.push_back(wire::take(row));
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    if (rows.empty()) return server::nothing_matches(selection);
    return rows;
  }

  Result<query::SeriesAnswer> streamed_series(const v1::SeriesRequest& asked,
                                              const std::vector<query::Point>& points) {
    grpc::ClientContext context;
    prepare(context);
    const auto reader = query_->Points(&context, asked);
    v1::PointsResponse response;
    std::optional<query::SeriesAnswer> answer;
    Status failure;
    while (failure.is_ok() && reader->Read(&response)) {
      if (response.has_header() && !answer) {
        auto header = wire::take_header(response.header(), points, {});
        failure = header.status();
        if (header.is_ok()) answer = std::move(header).value();
      } else if (response.has_chunk() && answer) {
        failure = append_array(response.chunk(), answer->points.size() * answer->steps.size(), answer->values);
      } else {
        failure = Status::corruption("points answer: parts out of order");
      }
    }
    if (!failure.is_ok()) {
      context.TryCancel();
      static_cast<void>(reader->Finish());
      return failure;
    }
    NVMDB_TRY(take(reader->Finish()));
    if (!answer || answer->values.size() != answer->points.size() * answer->steps.size())
      return Status::corruption("points answer: incomplete");
    return std::move(*answer);
  }

  /// Takes a header; the positions of the slab before stay where they are the same.
  static Status begin_slab(const v1::SlabHeader& header, bool later, query::SlabAnswer& answer) {
    NVMDB_ASSIGN(query::SlabAnswer next, wire::take_header(header));
    if (header.same_positions()) {
      if (!later || next.rows != answer.rows || next.columns != answer.columns ||
          next.rectilinear != answer.rectilinear) {
        return Status::corruption("slab answer: the positions of a slab of another shape");
      }
      next.latitudes = std::move(answer.latitudes);
      next.longitudes = std::move(answer.longitudes);
    }
    answer = std::move(next);
    return Status::ok();
  }

  static Status finish_slab(const query::SlabAnswer& answer, bool located,
                            const std::function<Status(const query::SlabAnswer&)>& visit) {
    const std::uint64_t count = answer.rows * answer.columns;
    const std::uint64_t latitudes = !located ? 0 : answer.rectilinear ? answer.rows : count;
    const std::uint64_t longitudes = !located ? 0 : answer.rectilinear ? answer.columns : count;
    if (answer.values.size() != count || answer.latitudes.size() != latitudes ||
        answer.longitudes.size() != longitudes) {
      return Status::corruption("slab answer: incomplete: " + std::to_string(answer.values.size()) + " of " +
                                std::to_string(count) + " values came");
    }
    return visit(answer);
  }

  template <class Number>
  static Status append_array(const v1::SlabChunk& chunk, std::uint64_t most, std::vector<Number>& array) {
    const std::size_t count = chunk.data().size() / sizeof(Number);
    if (chunk.offset() != array.size() || chunk.data().size() % sizeof(Number) != 0 ||
        count > most - array.size()) {
      return Status::corruption("slab answer: chunk at " + std::to_string(chunk.offset()) + ", expected at " +
                                std::to_string(array.size()) + " of " + std::to_string(most));
    }
    const std::size_t at = array.size();
    array.resize(at + count);
    if (count != 0) std::memcpy(array.data() + at, chunk.data().data(), chunk.data().size());
    return Status::ok();
  }

  static Status append(const v1::SlabChunk& chunk, query::SlabAnswer& answer) {
    const std::uint64_t most = answer.rows * answer.columns;
    switch (chunk.array()) {
      case v1::SlabChunk::ARRAY_LATITUDES:
        return append_array(chunk, answer.rectilinear ? answer.rows : most, answer.latitudes);
      case v1::SlabChunk::ARRAY_LONGITUDES:
        return append_array(chunk, answer.rectilinear ? answer.columns : most, answer.longitudes);
      case v1::SlabChunk::ARRAY_VALUES:
        return append_array(chunk, most, answer.values);
      default:
        return Status::corruption("slab answer: a chunk of an unknown array");
    }
  }

  /// Passes acknowledgements on and keeps the report.
  template <class Reader, class Response>
  Result<ingest::IngestReport> take_report(Reader& stream, Response response,
                                           const std::function<void(const ingest::IngestedStep&)>& on_step) {
    std::optional<ingest::IngestReport> report;
    std::vector<ingest::IngestedStep> steps;
    while (stream.Read(&response)) {
      if (response.has_report()) {
        report = wire::take(response.report());
      } else {
        steps.push_back(wire::take(response.step()));
        if (on_step) on_step(steps.back());
      }
    }
    NVMDB_TRY(take(stream.Finish()));
    if (!report) return Status::corruption("ingest answer: no report came");
    report->steps = std::move(steps);
    return *report;
  }

  Result<ingest::IngestReport> ingest_path(const std::filesystem::path& file,
                                           const ingest::IngestOptions& options,
                                           const std::function<void(const ingest::IngestedStep&)>& on_step) {
    v1::IngestPathRequest request;
    request.set_path(file.string());
    request.mutable_options()->set_model(options.model);
    request.mutable_options()->set_domain(options.domain);
    grpc::ClientContext context;
    prepare(context);
    const auto reader = ingest_->IngestPath(&context, request);
    return take_report(*reader, v1::IngestPathResponse(), on_step);
  }

  Result<ingest::IngestReport> upload(const std::filesystem::path& file, const ingest::IngestOptions& options,
                                      const std::function<void(const ingest::IngestedStep&)>& on_step) {
    const server::OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts {};
    if (!fd.valid() || ::fstat(fd.get(), &facts) != 0) return file_error(file, errno);
    if (!S_ISREG(facts.st_mode)) {
      return Status::invalid_argument(file.string() + ": is " +
                                      (S_ISDIR(facts.st_mode) ? "a directory" : "not a regular file") +
                                      "; give a NetCDF or GRIB file");
    }
    grpc::ClientContext context;
    prepare(context);
    const auto stream = ingest_->IngestUpload(&context);
    v1::IngestUploadRequest request;
    v1::UploadHeader& header = *request.mutable_header();
    header.set_name(file.string());
    const auto file_bytes = static_cast<std::uint64_t>(facts.st_size);
    header.set_file_bytes(file_bytes);
    header.mutable_options()->set_model(options.model);
    header.mutable_options()->set_domain(options.domain);
    // A failed write means that the server has answered already: its answer says why.
    bool going = stream->Write(request);
    std::string& bytes = *request.mutable_data();
    std::uint64_t left = file_bytes;
    while (going && left > 0) {
      bytes.resize(std::min<std::uint64_t>(left, wire::kChunkBytes));
      const ssize_t count = ::read(fd.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        const Status failure = count < 0
                                   ? file_error(file, errno)
                                   : Status::io_error(file.string() + ": became shorter while it was read");
        context.TryCancel();
        static_cast<void>(stream->Finish());
        return failure;
      }
      bytes.resize(static_cast<std::size_t>(count));
      left -= static_cast<std::uint64_t>(count);
      going = stream->Write(request);
    }
    if (going) static_cast<void>(stream->WritesDone());
    return take_report(*stream, v1::IngestUploadResponse(), on_step);
  }

  Result<std::uint64_t> last_event() {
    NVMDB_ASSIGN(const std::vector<server::InfoItem> items, info());
    for (const server::InfoItem& item : items) {
      const auto* number = std::get_if<std::uint64_t>(&item.value);
      if (item.section == "content" && item.name == "last_event" && number != nullptr) return *number;
    }
    return Status::corruption("info answer: last_event is missing");
  }

  const RemoteOptions options_;
  bool unreachable_ = false;
  std::unique_ptr<v1::Catalog::Stub> catalog_;
  std::unique_ptr<v1::Query::Stub> query_;
  std::unique_ptr<v1::Ingest::Stub> ingest_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

}  // namespace

Result<std::unique_ptr<server::Client>> make_remote_client(const RemoteOptions& options) {
  NVMDB_ASSIGN(const server::HostPort address, server::parse_host_port(options.address));
  if (address.port == 0)
    return Status::invalid_argument("\"" + options.address + "\": a server has no port 0");
  // gRPC prints to stderr what is returned as a Status anyway; GRPC_VERBOSITY brings it back.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(8 << 20);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto channel =
      grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
  return std::unique_ptr<server::Client>(std::make_unique<RemoteClient>(options, channel));
}

}  // namespace nvmdb::cli
