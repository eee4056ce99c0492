#pragma once

#include <memory>

#include "server/client.h"
#include "server/instance.h"

namespace nvmdb::server {

/// Answers from a pool that is open in this process.
/// Threads: any number.
class LocalClient final : public Client {
 public:
  /// `instance` must outlive the client.
  explicit LocalClient(Instance& instance) : instance_(instance) {}

  [[nodiscard]] Result<std::vector<ModelRow>> models(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<engine::Run>> runs(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<ParameterRow>> parameters(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<StepRow>> steps(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<GridRow>> grids(const query::Selection& selection) override;
  [[nodiscard]] Result<query::SeriesAnswer> series(const query::SeriesRequest& request) override;
  [[nodiscard]] Result<query::SlabAnswer> slab(const query::SlabRequest& request) override;
  [[nodiscard]] Result<ingest::IngestReport> ingest(
      const std::filesystem::path& file, const ingest::IngestOptions& options,
      const std::function<void(const ingest::IngestedStep&)>& on_step) override;
  [[nodiscard]] Result<engine::Run> drop(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<InfoItem>> info() override;
  [[nodiscard]] Status watch(std::optional<std::uint64_t> after, bool follow,
                             const std::function<bool(const engine::Event&)>& visit) override;

 private:
  Instance& instance_;
};

}  // namespace nvmdb::server
