#pragma once

#include <grpcpp/impl/service_type.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "server/byte_budget.h"
#include "server/instance.h"
#include "server/listener.h"
#include "server/local_client.h"
#include "server/path_gate.h"
#include "server/work_pool.h"

namespace nvmdb::server {

class WatchHub;

/// What the services share. Outlives them.
struct ServiceContext {
  ServiceContext(Instance& opened, PathGate path_gate, WatchHub& watch_hub, WorkPool& query_pool,
                 WorkPool& ingest_pool, const ListenerOptions& options)
      : instance(opened),
        client(opened),
        gate(std::move(path_gate)),
        hub(watch_hub),
        long_queries(query_pool),
        ingests(ingest_pool),
        upload_bytes_max(options.upload_bytes_max),
        uploads(options.uploads_bytes_max) {}

  Instance& instance;
  LocalClient client;
  PathGate gate;
  WatchHub& hub;
  WorkPool& long_queries;
  WorkPool& ingests;
  const std::uint64_t upload_bytes_max;  ///< of one upload
  ByteBudget uploads;                    ///< temporary files of all of them
  ByteBudget slabs{1ULL << 30U};         ///< answers that are being sent
};

[[nodiscard]] std::unique_ptr<grpc::Service> make_catalog_service(ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> make_query_service(ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> make_ingest_service(ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> make_admin_service(ServiceContext& context);

}  // namespace nvmdb::server
