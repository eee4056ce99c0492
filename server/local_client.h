#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "server/client.h"
#include "server/instance.h"

namespace nvmdb::server {

/// Answers from a pool that is open in this process.
/// Threads: any number.
class LocalClient final : public Client {
 public:
  /// `instance` must outlive the client. Calls that take longer than `timeout_seconds` end with DeadlineExceeded;
  /// empty: they take as long as they take.
  explicit LocalClient(Instance& instance, std::optional<unsigned> timeout_seconds = std::nullopt)
      : instance_(instance), timeout_seconds_(timeout_seconds) {}

  [[nodiscard]] Result<std::vector<ModelRow>> models(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<engine::Run>> runs(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<ParameterRow>> parameters(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<StepRow>> steps(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<GridRow>> grids(const query::Selection& selection) override;
  [[nodiscard]] Result<query::SeriesAnswer> series(const query::SeriesRequest& request) override;
  [[nodiscard]] Status slabs(const query::SlabRequest& request,
                             const std::function<Status(const query::SlabAnswer&)>& visit) override;
  [[nodiscard]] Result<query::CurtainAnswer> profile(const query::ProfileRequest& request) override;
  [[nodiscard]] Result<query::CurtainAnswer> section(const query::SectionRequest& request) override;
  [[nodiscard]] Result<ingest::IngestReport> ingest(
      const std::filesystem::path& file, const ingest::IngestOptions& options,
      const std::function<void(const ingest::IngestedStep&)>& on_step) override;
  [[nodiscard]] Result<engine::Run> drop(const query::Selection& selection) override;
  [[nodiscard]] Result<std::vector<InfoItem>> info() override;
  [[nodiscard]] Status watch(std::optional<std::uint64_t> after, bool follow,
                             const std::function<bool(const engine::Event&)>& visit) override;

 private:
  /// When a call that begins now has to end; of Clock::monotonic_ns().
  [[nodiscard]] std::uint64_t deadline_ns() const;

  Instance& instance_;
  const std::optional<unsigned> timeout_seconds_;
};

}  // namespace nvmdb::server
