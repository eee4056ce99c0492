#include <span>
#include <utility>
#include <vector>

#include "nvmdb/v1/query.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/memory_guard.h"
#include "server/parts_reactor.h"
#include "server/services.h"
#include "server/unary.h"
#include "server/wire.h"

namespace nvmdb::server {
namespace {

/// A slab of each step that is asked.
class SlabReactor final : public PartsReactor<v1::SlabResponse> {
 public:
  SlabReactor(ServiceContext& context, grpc::CallbackServerContext& call, WorkPool& pool, const v1::SlabRequest& request)
      : PartsReactor(context, call, pool), request_(request) {}

 private:
  Result<std::size_t> begin() override {
    NVMDB_ASSIGN(const query::SlabRequest request, wire::take_slab_request(request_));
    NVMDB_ASSIGN(slabs_, context().instance.query().slabs(request, &cancellation()));
    return slabs_.size();
  }

  Status compute(std::size_t part, v1::SlabResponse& response, std::vector<Array>& arrays) override {
    NVMDB_ASSIGN(query::SlabAnswer next, context().instance.query().slab(slabs_[part], &cancellation()));
    const bool same_positions = part > 0 && next.rectilinear == answer_.rectilinear && next.rows == answer_.rows &&
                                next.latitudes == answer_.latitudes && next.longitudes == answer_.longitudes;
    answer_ = std::move(next);
    v1::SlabHeader& header = *response.mutable_header();
    wire::put_header(answer_, header);
    header.set_slab_index(static_cast<std::uint32_t>(part));
    header.set_slab_count(static_cast<std::uint32_t>(slabs_.size()));
    header.set_same_positions(same_positions);
    if (!same_positions) {
      arrays.push_back({v1::SlabChunk::ARRAY_LATITUDES, std::as_bytes(std::span(answer_.latitudes)), sizeof(double)});
      arrays.push_back({v1::SlabChunk::ARRAY_LONGITUDES, std::as_bytes(std::span(answer_.longitudes)), sizeof(double)});
    }
    arrays.push_back({v1::SlabChunk::ARRAY_VALUES, std::as_bytes(std::span(answer_.values)), sizeof(float)});
    return Status::ok();
  }

  const v1::SlabRequest& request_;
  std::vector<query::SlabRequest> slabs_;
  query::SlabAnswer answer_;
};

/// The series of each selection at all points.
class PointsReactor final : public PartsReactor<v1::PointsResponse> {
 public:
  PointsReactor(ServiceContext& context, grpc::CallbackServerContext& call, WorkPool& pool,
                const v1::SeriesRequest& request)
      : PartsReactor(context, call, pool), request_(request) {}

 private:
  Result<std::size_t> begin() override {
    NVMDB_ASSIGN(questions_, wire::take_series_questions(request_));
    return questions_.selections.size();
  }

  Status compute(std::size_t part, v1::PointsResponse& response, std::vector<Array>& arrays) override {
    questions_.common.selection = questions_.selections[part];
    NVMDB_ASSIGN(query::SeriesAnswer next, context().instance.query().series(questions_.common, &cancellation()));
    const bool same_points = part > 0 && next.points == answer_.points;
    answer_ = std::move(next);
    v1::PointsHeader& header = *response.mutable_header();
    wire::put_header(answer_, same_points, header);
    header.set_series_index(static_cast<std::uint32_t>(part));
    header.set_series_count(static_cast<std::uint32_t>(questions_.selections.size()));
    arrays.push_back({v1::SlabChunk::ARRAY_VALUES, std::as_bytes(std::span(answer_.values)), sizeof(float)});
    return Status::ok();
  }

  const v1::SeriesRequest& request_;
  wire::SeriesQuestions questions_;
  query::SeriesAnswer answer_;
};

class QueryService final : public v1::Query::CallbackService {
 public:
  explicit QueryService(ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* Series(grpc::CallbackServerContext* call, const v1::SeriesRequest* request,
                                   v1::SeriesResponse* response) override {
    // A series at a few points takes microseconds: less than a change of thread.
    constexpr int kPointsInline = 16;
    const auto count = std::int64_t{request->latitudes_size()} * request->selections_size();
    if (count <= kPointsInline) {
      const Status status =
          within_memory([&] { return answer(*request, *response, Effort::Short, nullptr); });
      if (status.code() != Code::Overloaded && status.code() != Code::OutOfSpace) {
        grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
        reactor->Finish(to_grpc(status));
        return reactor;
      }
      response->Clear();
    }
    return answer_in_pool(context_.long_queries, context_.deadline_ns(),
                          [this, request, response](const Cancellation& cancellation) {
                            return answer(*request, *response, Effort::Any, &cancellation);
                          });
  }

  grpc::ServerWriteReactor<v1::PointsResponse>* Points(grpc::CallbackServerContext* call,
                                                       const v1::SeriesRequest* request) override {
    auto* reactor = new PointsReactor(context_, *call, context_.bulk, *request);
    reactor->start();
    return reactor;
  }

  grpc::ServerWriteReactor<v1::SlabResponse>* Slab(grpc::CallbackServerContext* call,
                                                   const v1::SlabRequest* request) override {
    // A cut-out of one step is what somebody at a screen waits for.
    const bool is_short = request->has_box() && !request->selection().step().all();
    auto* reactor = new SlabReactor(context_, *call, is_short ? context_.long_queries : context_.bulk, *request);
    reactor->start();
    return reactor;
  }

  grpc::ServerUnaryReactor* Profile(grpc::CallbackServerContext*, const v1::ProfileRequest* request,
                                    v1::ProfileResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(),
                          [this, request, response](const Cancellation&) -> Status {
                            NVMDB_ASSIGN(const query::ProfileRequest asked, wire::take_profile_request(*request));
                            return put_curtain(context_.client.profile(asked), *response->mutable_curtain());
                          });
  }

  grpc::ServerUnaryReactor* Section(grpc::CallbackServerContext*, const v1::SectionRequest* request,
                                    v1::SectionResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(),
                          [this, request, response](const Cancellation&) -> Status {
                            NVMDB_ASSIGN(const query::SectionRequest asked, wire::take_section_request(*request));
                            return put_curtain(context_.client.section(asked), *response->mutable_curtain());
                          });
  }

 private:
  static Status put_curtain(const Result<query::CurtainAnswer>& answer, v1::Curtain& to) {
    NVMDB_TRY(answer.status());
    // What a point takes on the wire, and a level, at most.
    const std::size_t bytes =
        answer->values.size() * sizeof(float) + answer->points.size() * 60 + answer->levels.size() * 16;
    if (bytes > wire::kUnaryValueBytesMax) {
      return Status::out_of_space("the answer of " + std::to_string(answer->points.size()) + " points and " +
                                  std::to_string(answer->levels.size()) +
                                  " levels exceeds 3 MiB; ask for fewer points or levels");
    }
    wire::put(*answer, to);
    return Status::ok();
  }

  /// Short: what gRPC's own threads may do; other questions get Overloaded or OutOfSpace.
  enum class Effort : std::uint8_t { Short, Any };

  Status answer(const v1::SeriesRequest& request, v1::SeriesResponse& response, Effort effort,
                const Cancellation* cancellation) {
    // Fields that nobody read before are compared with their checksums first: a quarter of a millisecond of that.
    constexpr std::uint64_t kCheckBytesShort = 2ULL << 20U;
    constexpr std::uint64_t kValuesShort = 16384;
    NVMDB_ASSIGN(wire::SeriesQuestions questions, wire::take_series_questions(request));
    const std::string too_large = "the answer to " + std::to_string(questions.common.points.size()) + " points and " +
                                  std::to_string(questions.selections.size()) +
                                  " selections exceeds 3 MiB; ask for fewer at once, or call Points";
    std::size_t bytes = 0;
    // Refused before it is computed, not after.
    questions.common.values_max = wire::kUnaryValueBytesMax / sizeof(float);
    if (effort == Effort::Short) {
      questions.common.values_max = kValuesShort;
      questions.common.check_bytes_max = kCheckBytesShort;
      questions.common.only_short = true;
    }
    for (const query::Selection& selection : questions.selections) {
      questions.common.selection = selection;
      const auto answer = context_.instance.query().series(questions.common, cancellation);
      if (answer.status().code() == Code::OutOfSpace) return Status::out_of_space(too_large);
      NVMDB_TRY(answer.status());
      // What a point and a step take on the wire, at most.
      bytes += answer->values.size() * sizeof(float) + answer->points.size() * 36 + answer->steps.size() * 22;
      if (bytes > wire::kUnaryValueBytesMax) return Status::out_of_space(too_large);
      wire::put(*answer, *response.add_series());
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
