#include <algorithm>
#include <span>
#include <utility>

#include "nvmdb/v1/query.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/services.h"
#include "server/unary.h"
#include "server/wire.h"

namespace nvmdb::server {
namespace {

/// One Slab stream: computes in the pool, then sends the header and chunk after chunk, one write at a time,
/// so that a slow client holds its own answer and nothing else.
class SlabReactor final : public grpc::ServerWriteReactor<v1::SlabResponse> {
 public:
  SlabReactor(ServiceContext& context, grpc::CallbackServerContext& call, const v1::SlabRequest& request)
      : context_(context), held_(context.slabs), call_(call), request_(request) {}

  void start() {
    if (!context_.long_queries.submit([this] { compute(); })) {
      Finish(to_grpc(Status::overloaded("too many slabs wait; try again in a moment")));
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok || call_.IsCancelled()) return Finish(grpc::Status::CANCELLED);
    send_next();
  }
  void OnDone() override {
    delete this;
  }

 private:
  void compute() {
    if (call_.IsCancelled()) return Finish(grpc::Status::CANCELLED);
    const auto request = wire::take_slab_request(request_);
    if (!request.is_ok()) return Finish(to_grpc(request.status()));
    auto answer = context_.client.slab(*request);
    if (!answer.is_ok()) return Finish(to_grpc(answer.status()));
    answer_ = std::move(answer).value();
    const std::uint64_t bytes = answer_.values.size() * sizeof(float) +
                                (answer_.latitudes.size() + answer_.longitudes.size()) * sizeof(double);
    if (!held_.grow(bytes)) {
      return Finish(
          to_grpc(Status::overloaded("slabs being sent fill the server's buffers; try again in a moment")));
    }
    wire::put_header(answer_, *response_.mutable_header());
    StartWrite(&response_);
  }

  void send_next() {
    while (array_ <= v1::SlabChunk::ARRAY_VALUES) {
      const std::span<const std::byte> bytes = array_bytes();
      if (at_ < bytes.size()) {
        const std::size_t count = std::min(wire::kChunkBytes, bytes.size() - at_);
        const std::size_t element = array_ == v1::SlabChunk::ARRAY_VALUES ? sizeof(float) : sizeof(double);
        v1::SlabChunk& chunk = *response_.mutable_chunk();
        chunk.set_array(static_cast<v1::SlabChunk::Array>(array_));
        chunk.set_offset(at_ / element);
        chunk.set_data(bytes.data() + at_, count);
        at_ += count;
        StartWrite(&response_);
        return;
      }
      ++array_;
      at_ = 0;
    }
    Finish(grpc::Status::OK);
  }

  std::span<const std::byte> array_bytes() const {
    if (array_ == v1::SlabChunk::ARRAY_LATITUDES) return std::as_bytes(std::span(answer_.latitudes));
    if (array_ == v1::SlabChunk::ARRAY_LONGITUDES) return std::as_bytes(std::span(answer_.longitudes));
    return std::as_bytes(std::span(answer_.values));
  }

  ServiceContext& context_;
  ByteBudget::Share held_;
  grpc::CallbackServerContext& call_;
  const v1::SlabRequest& request_;
  query::SlabAnswer answer_;
  v1::SlabResponse response_;
  int array_ = v1::SlabChunk::ARRAY_LATITUDES;
  std::size_t at_ = 0;
};

class QueryService final : public v1::Query::CallbackService {
 public:
  explicit QueryService(ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* Series(grpc::CallbackServerContext* call, const v1::SeriesRequest* request,
                                   v1::SeriesResponse* response) override {
    // A series at a few points takes microseconds: less than a change of thread.
    constexpr int kPointsInline = 16;
    const auto count = std::int64_t{request->latitudes_size()} * request->selections_size();
    if (count > kPointsInline) {
      return answer_in_pool(context_.long_queries, call,
                            [this, request, response] { return answer(*request, *response); });
    }
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(to_grpc(answer(*request, *response)));
    return reactor;
  }

  grpc::ServerWriteReactor<v1::SlabResponse>* Slab(grpc::CallbackServerContext* call,
                                                   const v1::SlabRequest* request) override {
    auto* reactor = new SlabReactor(context_, *call, *request);
    reactor->start();
    return reactor;
  }

 private:
  Status answer(const v1::SeriesRequest& request, v1::SeriesResponse& response) {
    NVMDB_ASSIGN(const std::vector<query::SeriesRequest> requests, wire::take_series_requests(request));
    std::size_t bytes = 0;
    for (const query::SeriesRequest& one : requests) {
      NVMDB_ASSIGN(const query::SeriesAnswer answer, context_.client.series(one));
      // What a point and a step take on the wire, at most.
      bytes += answer.values.size() * sizeof(float) + answer.points.size() * 36 + answer.steps.size() * 22;
      if (bytes > wire::kUnaryValueBytesMax) {
        return Status::out_of_space("the answer to " + std::to_string(request.latitudes_size()) +
                                    " points and " + std::to_string(requests.size()) +
                                    " selections exceeds 3 MiB; ask for fewer at once");
      }
      wire::put(answer, *response.add_series());
    }
    return Status::ok();
  }

  ServiceContext& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_query_service(ServiceContext& context) {
  return std::make_unique<QueryService>(context);
}

}  // namespace nvmdb::server
