#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/field_store.h"
#include "ingest/ingestor.h"
#include "ingest/jobs/reply_reader.h"
#include "ingest/jobs/source_file.h"

namespace nvmdb::ingest {

/// Stores what one job brings: field bytes go from the shared ring straight to NVM, steps are committed as
/// the worker names them, and the rest at the end. Threads: one.
class FieldImport final : public ReplyHandler {
 public:
  FieldImport(engine::FieldStore& store, const SourceFile& source, const IngestOptions& options,
              const std::function<void(const IngestedStep&)>& on_step);
  ~FieldImport() override;

  /// Commits the steps that are still open, runs in time order. Errors: those of commits; InvalidArgument
  /// (changed).
  [[nodiscard]] Status finish();
  /// Drops what is not committed, to begin the file again. Steps already committed are not reported twice.
  void restart();

  [[nodiscard]] const IngestReport& report() const { return report_; }
  /// True when the worker met damage: what it has in memory is then not to be trusted for another file.
  [[nodiscard]] bool saw_damage() const { return saw_damage_; }

  [[nodiscard]] Status run(std::uint32_t number, DecodedRun run) override;
  [[nodiscard]] Status grid(std::uint32_t number, met::Grid grid) override;
  [[nodiscard]] Status begin_field(const DecodedField& field) override;
  [[nodiscard]] Status field_bytes(std::uint64_t at, ByteSpan bytes) override;
  [[nodiscard]] Status end_field(const DecodedStatistics& statistics) override;
  [[nodiscard]] Status cancel_field() override;
  [[nodiscard]] Status rejected(const std::string& where, const Status& why) override;
  [[nodiscard]] Status step_done(std::uint32_t run, std::int64_t end_seconds) override;

 private:
  struct OpenRun;

  Result<OpenRun*> open_run(const DecodedRun& run);
  Status commit(OpenRun& run, std::int64_t end_seconds);

  engine::FieldStore& store_;
  const SourceFile& source_;
  IngestOptions options_;
  std::function<void(const IngestedStep&)> on_step_;
  std::vector<std::unique_ptr<OpenRun>> runs_;
  std::vector<OpenRun*> run_numbers_;  ///< the worker's number -> run; several may be one by the user's names
  std::vector<met::Grid> grids_;
  engine::RunWriter* writer_ = nullptr;  ///< of the open field; nullptr when it is being skipped
  IngestReport report_;
  bool saw_damage_ = false;
};

}  // namespace nvmdb::ingest
