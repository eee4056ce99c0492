#include "nvmdb/v1/admin.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/services.h"
#include "server/unary.h"
#include "server/wire.h"
#include "storage/base/fail_point.h"

namespace nvmdb::server {
namespace {

class AdminService final : public v1::Admin::CallbackService {
 public:
  explicit AdminService(ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* Ping(grpc::CallbackServerContext* call, const v1::PingRequest*,
                                 v1::PingResponse*) override {
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext*, const v1::GetInfoRequest*,
                                    v1::GetInfoResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, response](const Cancellation&) -> Status {
      NVMDB_ASSIGN(const std::vector<InfoItem> items, context_.client.info());
      for (const InfoItem& item : items) wire::put(item, *response->add_items());
      return Status::ok();
    });
  }

  grpc::ServerUnaryReactor* DropRun(grpc::CallbackServerContext*, const v1::DropRunRequest* request,
                                    v1::DropRunResponse* response) override {
    return answer_in_pool(context_.long_queries, context_.deadline_ns(), [this, request, response](const Cancellation&) -> Status {
      NVMDB_ASSIGN(const query::Selection selection, wire::take_selection(request->selection()));
      NVMDB_ASSIGN(const engine::Run run, context_.client.drop(selection));
      NVMDB_FAIL_POINT("server.dropped");
      wire::put(run, *response->mutable_run());
      return Status::ok();
    });
  }

 private:
  ServiceContext& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_admin_service(ServiceContext& context) {
  return std::make_unique<AdminService>(context);
}

}  // namespace nvmdb::server
