#include <optional>

#include "nvmdb/v1/catalog.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/paging.h"
#include "server/services.h"
#include "server/unary.h"
#include "server/watch_hub.h"
#include "server/wire.h"

namespace nvmdb::server {
namespace {

/// One Watch stream. It is writing, or waiting for a poke; what happens meanwhile is remembered in `poked_`.
/// Finish is called once, with no write under way, and deletes the reactor through OnDone.
class WatchReactor final : public grpc::ServerWriteReactor<v1::WatchResponse>, public WatchHub::Watcher {
 public:
  WatchReactor(ServiceContext& context, const v1::WatchRequest& request)
      : context_(context), model_(request.model()), domain_(request.domain()) {
    if (request.has_after_sequence()) last_ = request.after_sequence();
  }

  void start() {
    if (!last_) {
      const auto newest = context_.instance.catalogue().last_event();
      if (!newest.is_ok()) return end(newest.status());
      last_ = *newest;
    }
    // The client learns that it is connected before the first event.
    StartSendInitialMetadata();
    if (!context_.hub.add(this)) {
      return end(Status::overloaded("too many watchers, or the server is shutting down; try again later"));
    }
    poke();
  }

  void poke() override {
    advance([this] { poked_ = true; });
  }
  void stop() override {
    end(Status::overloaded("the server is shutting down; resume from the last event"));
  }
  void OnWriteDone(bool ok) override {
    advance([this, ok] {
      writing_ = false;
      if (!ok) ending_ = grpc::Status::CANCELLED;
    });
  }
  void OnCancel() override {
    advance([this] { ending_ = grpc::Status::CANCELLED; });
  }
  void OnDone() override {
    context_.hub.remove(this);
    delete this;
  }

 private:
  void end(const Status& why) {
    advance([this, &why] { ending_ = to_grpc(why); });
  }

  /// Applies a change of state, then starts the write or the Finish that is due.
  template <class Change>
  void advance(Change change) {
    std::optional<grpc::Status> finish;
    {
      const MutexLock lock(mutex_);
      change();
      if (finished_ || writing_) return;
      if (!ending_ && poked_) fill_response();
      if (ending_) {
        finished_ = true;
        finish = ending_;
      } else if (response_.events_size() > 0) {
        writing_ = true;
        StartWrite(&response_);
      }
    }
    // Without the lock: OnDone may delete this at once in another thread.
    if (finish) Finish(*finish);
  }

  void fill_response() NVMDB_REQUIRES(mutex_) {
    constexpr std::size_t kBatch = 256;
    response_.Clear();
    while (response_.events_size() == 0) {
      const auto events = context_.instance.catalogue().events_after(*last_, kBatch);
      if (!events.is_ok()) {
        ending_ = to_grpc(events.status());
        return;
      }
      if (events->empty()) {
        poked_ = false;
        return;
      }
      for (const engine::Event& event : *events) {
        last_ = event.sequence;
        if (!model_.empty() && event.run_key.model != model_) continue;
        if (!domain_.empty() && event.run_key.domain != domain_) continue;
        wire::put(event, *response_.add_events());
      }
    }
  }

  ServiceContext& context_;
  const std::string model_;
  const std::string domain_;
  Mutex mutex_;
  std::optional<std::uint64_t> last_;
  v1::WatchResponse response_;
  std::optional<grpc::Status> ending_ NVMDB_GUARDED_BY(mutex_);
  bool poked_ NVMDB_GUARDED_BY(mutex_) = false;
  bool writing_ NVMDB_GUARDED_BY(mutex_) = false;
  bool finished_ NVMDB_GUARDED_BY(mutex_) = false;
};

class CatalogService final : public v1::Catalog::CallbackService {
 public:
  explicit CatalogService(ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext*,
                                       const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, request, response](const Cancellation&) -> Status {
      query::Selection selection;
      selection.model = request->model();
      selection.domain = request->domain();
      NVMDB_ASSIGN(const std::vector<ModelRow> rows, or_empty(context_.client.models(selection)));
      return fill(*request, *response, rows, [&] { return response->add_models(); });
    });
  }

  grpc::ServerUnaryReactor* ListRuns(grpc::CallbackServerContext*, const v1::ListRunsRequest* request,
                                     v1::ListRunsResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, request, response](const Cancellation&) -> Status {
      NVMDB_ASSIGN(const query::Selection selection, wire::take_selection(request->selection()));
      NVMDB_ASSIGN(const std::vector<engine::Run> rows, or_empty(context_.client.runs(selection)));
      return fill(*request, *response, rows, [&] { return response->add_runs(); });
    });
  }

  grpc::ServerUnaryReactor* ListParameters(grpc::CallbackServerContext*,
                                           const v1::ListParametersRequest* request,
                                           v1::ListParametersResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, request, response](const Cancellation&) -> Status {
      NVMDB_ASSIGN(const query::Selection selection, wire::take_selection(request->selection()));
      NVMDB_ASSIGN(const std::vector<ParameterRow> rows, context_.client.parameters(selection));
      return fill(*request, *response, rows, [&] { return response->add_parameters(); });
    });
  }

  grpc::ServerUnaryReactor* ListSteps(grpc::CallbackServerContext*, const v1::ListStepsRequest* request,
                                      v1::ListStepsResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, request, response](const Cancellation&) -> Status {
      NVMDB_ASSIGN(const query::Selection selection, wire::take_selection(request->selection()));
      NVMDB_ASSIGN(const std::vector<StepRow> rows, context_.client.steps(selection));
      return fill(*request, *response, rows, [&] { return response->add_steps(); });
    });
  }

  grpc::ServerUnaryReactor* GetGrid(grpc::CallbackServerContext*, const v1::GetGridRequest* request,
                                    v1::GetGridResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, request, response](const Cancellation&) -> Status {
      NVMDB_ASSIGN(const query::Selection selection, wire::take_selection(request->selection()));
      NVMDB_ASSIGN(const std::vector<GridRow> rows, context_.client.grids(selection));
      for (const GridRow& row : rows) wire::put(row, *response->add_grids());
      return Status::ok();
    });
  }

  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(grpc::CallbackServerContext*,
                                                     const v1::WatchRequest* request) override {
    auto* reactor = new WatchReactor(context_, *request);
    reactor->start();
    return reactor;
  }

 private:
  /// An empty list is an answer; what the message of NotFound says is for people at a terminal.
  template <class Row>
  static Result<std::vector<Row>> or_empty(Result<std::vector<Row>> rows) {
    if (!rows.is_ok() && rows.status().code() == Code::NotFound) return std::vector<Row>();
    return rows;
  }

  template <class Request, class Response, class Row, class Add>
  static Status fill(const Request& request, Response& response, const std::vector<Row>& rows, Add add) {
    NVMDB_ASSIGN(const Page page, page_of(rows.size(), request.page_size(), request.page_token()));
    for (std::size_t i = page.first; i < page.last; ++i) wire::put(rows[i], *add());
    response.set_next_page_token(page.next_token);
    return Status::ok();
  }

  ServiceContext& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_catalog_service(ServiceContext& context) {
  return std::make_unique<CatalogService>(context);
}

}  // namespace nvmdb::server
