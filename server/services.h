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
#include "server/stall_watch.h"
#include "server/work_pool.h"
#include "storage/base/clock.h"

namespace nvmdb::server {

class WatchHub;

/// What the services share. Outlives them.
struct ServiceContext {
  ServiceContext(Instance& opened, PathGate path_gate, WatchHub& watch_hub, WorkPool& query_pool,
                 WorkPool& bulk_pool, WorkPool& ingest_pool, const ListenerOptions& options)
      : instance(opened),
        client(opened),
        gate(std::move(path_gate)),
        hub(watch_hub),
        long_queries(query_pool),
        bulk(bulk_pool),
        ingests(ingest_pool),
        upload_bytes_max(options.upload_bytes_max),
        uploads(options.uploads_bytes_max),
        answer_bytes_max(options.answer_bytes_max),
        answer_seconds_max(options.answer_seconds_max),
        stalls(options.stall_seconds_max) {}

  Instance& instance;
  LocalClient client;
  PathGate gate;
  WatchHub& hub;
  WorkPool& long_queries;  ///< listings, series of some points, cut-out slabs
  WorkPool& bulk;          ///< whole fields, all steps, many points
  WorkPool& ingests;
  const std::uint64_t upload_bytes_max;  ///< of one upload
  ByteBudget uploads;                    ///< temporary files of all of them
  ByteBudget answers{1ULL << 30U};       ///< parts of streamed answers that are being sent
  const std::uint64_t answer_bytes_max;  ///< of one streamed answer
  const std::uint64_t answer_seconds_max;
  StallWatch stalls;

  /// When an answer that is asked for now has to be sent; of Clock::monotonic_ns().
  [[nodiscard]] std::uint64_t deadline_ns() const {
    constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
    return system_clock().monotonic_ns() + answer_seconds_max * kNanosecondsPerSecond;
  }
};

[[nodiscard]] std::unique_ptr<grpc::Service> make_catalog_service(ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> make_query_service(ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> make_ingest_service(ServiceContext& context);
[[nodiscard]] std::unique_ptr<grpc::Service> make_admin_service(ServiceContext& context);

}  // namespace nvmdb::server
