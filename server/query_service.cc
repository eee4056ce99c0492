#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "nvmdb/v1/query.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/services.h"
#include "server/unary.h"
#include "server/wire.h"

namespace nvmdb::server {
namespace {

/// One Slab stream: computes a slab in the pool, then sends its header and chunk after chunk, one write at a time,
/// so that a slow client holds its own answer and nothing else; then the next slab.
class SlabReactor final : public grpc::ServerWriteReactor<v1::SlabResponse> {
 public:
  SlabReactor(ServiceContext& context, grpc::CallbackServerContext& call, const v1::SlabRequest& request)
      : context_(context), held_(context.slabs), call_(call), request_(request) {}

  void start() {
    if (!context_.long_queries.submit([this] { begin(); })) {
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
  void begin() {
    const auto request = wire::take_slab_request(request_);
    if (!request.is_ok()) return Finish(to_grpc(request.status()));
    auto slabs = context_.instance.query().slabs(*request);
    if (!slabs.is_ok()) return Finish(to_grpc(slabs.status()));
    slabs_ = std::move(slabs).value();
    compute();
  }

  void compute() {
    if (call_.IsCancelled()) return Finish(grpc::Status::CANCELLED);
    auto answer = context_.instance.query().slab(slabs_[next_]);
    if (!answer.is_ok()) return Finish(to_grpc(answer.status()));
    const bool same_positions = next_ > 0 && answer->rectilinear == answer_.rectilinear &&
                                answer->rows == answer_.rows && answer->latitudes == answer_.latitudes &&
                                answer->longitudes == answer_.longitudes;
    answer_ = std::move(answer).value();
    held_.clear();
    const std::uint64_t bytes = answer_.values.size() * sizeof(float) +
                                (answer_.latitudes.size() + answer_.longitudes.size()) * sizeof(double);
    if (!held_.grow(bytes)) {
      return Finish(
          to_grpc(Status::overloaded("slabs being sent fill the server's buffers; try again in a moment")));
    }
    v1::SlabHeader& header = *response_.mutable_header();
    header.Clear();
    wire::put_header(answer_, header);
    header.set_slab_index(static_cast<std::uint32_t>(next_));
    header.set_slab_count(static_cast<std::uint32_t>(slabs_.size()));
    header.set_same_positions(same_positions);
    array_ = same_positions ? v1::SlabChunk::ARRAY_VALUES : v1::SlabChunk::ARRAY_LATITUDES;
    at_ = 0;
    ++next_;
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
    if (next_ == slabs_.size()) return Finish(grpc::Status::OK);
    if (!context_.long_queries.submit([this] { compute(); }))
      Finish(to_grpc(Status::overloaded("too many slabs wait; try again in a moment")));
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
  std::vector<query::SlabRequest> slabs_;
  std::size_t next_ = 0;
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
