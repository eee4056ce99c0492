#include "server/local_client.h"

#include <utility>

#include "server/listing.h"
#include "server/pool_info.h"
#include "storage/base/cancellation.h"

namespace nvmdb::server {

std::uint64_t LocalClient::deadline_ns() const {
  constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
  if (!timeout_seconds_) return Cancellation::kNever;
  return system_clock().monotonic_ns() + *timeout_seconds_ * kNanosecondsPerSecond;
}

Result<std::vector<ModelRow>> LocalClient::models(const query::Selection& selection) {
  return list_models(instance_.catalogue(), selection);
}
Result<std::vector<engine::Run>> LocalClient::runs(const query::Selection& selection) {
  return list_runs(instance_.catalogue(), selection);
}
Result<std::vector<ParameterRow>> LocalClient::parameters(const query::Selection& selection) {
  return list_parameters(instance_.catalogue(), selection);
}
Result<std::vector<StepRow>> LocalClient::steps(const query::Selection& selection) {
  return list_steps(instance_.catalogue(), selection);
}
Result<std::vector<GridRow>> LocalClient::grids(const query::Selection& selection) {
  return list_grids(instance_.catalogue(), selection);
}
Result<query::SeriesAnswer> LocalClient::series(const query::SeriesRequest& request) {
  const Cancellation cancellation(deadline_ns());
  return instance_.query().series(request, &cancellation);
}
Status LocalClient::slabs(const query::SlabRequest& request,
                          const std::function<Status(const query::SlabAnswer&)>& visit) {
  const Cancellation cancellation(deadline_ns());
  NVMDB_ASSIGN(const std::vector<query::SlabRequest> requests, instance_.query().slabs(request, &cancellation));
  for (const query::SlabRequest& one : requests) {
    NVMDB_ASSIGN(const query::SlabAnswer answer, instance_.query().slab(one, &cancellation));
    NVMDB_TRY(visit(answer));
  }
  return Status::ok();
}

Result<query::CurtainAnswer> LocalClient::profile(const query::ProfileRequest& request) {
  return instance_.query().profile(request);
}
Result<query::CurtainAnswer> LocalClient::section(const query::SectionRequest& request) {
  return instance_.query().section(request);
}

Result<ingest::IngestReport> LocalClient::ingest(
    const std::filesystem::path& file, const ingest::IngestOptions& options,
    const std::function<void(const ingest::IngestedStep&)>& on_step) {
  NVMDB_ASSIGN(ingest::Ingestor * ingestor, instance_.ingestor());
  ingest::IngestOptions cancellable = options;
  const Cancellation cancellation(deadline_ns());
  cancellable.cancellation = &cancellation;
  return ingestor->ingest_file(file, cancellable, on_step);
}

Result<engine::Run> LocalClient::drop(const query::Selection& selection) {
  NVMDB_ASSIGN(std::vector<engine::Run> runs, list_runs(instance_.catalogue(), selection));
  if (runs.size() > 1) {
    std::string names;
    for (std::size_t i = 0; i < runs.size() && i < 5; ++i)
      names += (i == 0 ? "" : "; ") + engine::format_run(runs[i].key);
    return Status::invalid_argument(std::to_string(runs.size()) + " runs match (" + names +
                                    (runs.size() > 5 ? "; ..." : "") +
                                    "): name one with --model, --domain and RUN");
  }
  NVMDB_TRY(instance_.fields().drop(runs.front().id));
  return std::move(runs.front());
}

Result<std::vector<InfoItem>> LocalClient::info() {
  return pool_info(instance_);
}

Status LocalClient::watch(std::optional<std::uint64_t> after, bool follow,
                          const std::function<bool(const engine::Event&)>& visit) {
  const engine::Catalogue& catalogue = instance_.catalogue();
  // How soon the end of a deadline is noticed; events wake it at once.
  constexpr std::uint64_t kWaitMs = 50;
  const Cancellation cancellation(deadline_ns());
  std::uint64_t last = 0;
  if (after) {
    last = *after;
  } else {
    NVMDB_ASSIGN(last, catalogue.last_event());
  }
  while (true) {
    NVMDB_ASSIGN(const std::vector<engine::Event> events, catalogue.events_after(last, 256));
    for (const engine::Event& event : events) {
      last = event.sequence;
      if (!visit(event)) return Status::ok();
    }
    if (!events.empty()) continue;
    if (!follow) return Status::ok();
    NVMDB_TRY(cancellation.check());
    static_cast<void>(catalogue.wait_for_event(last, kWaitMs));
  }
}

}  // namespace nvmdb::server
