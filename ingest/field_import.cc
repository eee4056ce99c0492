#include "ingest/field_import.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/fail_point.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest {
namespace {

constexpr std::size_t kRejectionsKept = 1000;
constexpr std::size_t kAttributesKept = 64U << 10U;  ///< they are logged with each step of the run

}  // namespace

struct FieldImport::OpenRun {
  engine::RunKey key;
  std::unique_ptr<engine::RunWriter> writer;
  std::map<std::uint32_t, engine::GridId> grids;  ///< the worker's number -> the catalogue's
};

FieldImport::FieldImport(engine::FieldStore& store, const SourceFile& source, const IngestOptions& options,
                         const std::function<void(const IngestedStep&)>& on_step)
    : store_(store), source_(source), options_(options), on_step_(on_step) {
  report_.format = format_name(source.format());
  report_.file_bytes = source.size();
}

FieldImport::~FieldImport() = default;

void FieldImport::restart() {
  writer_ = nullptr;
  run_numbers_.clear();
  runs_.clear();
  grids_.clear();
  report_.rejections.clear();
  report_.rejections_omitted = 0;
}

Status FieldImport::finish() {
  std::vector<OpenRun*> in_time_order;
  for (const std::unique_ptr<OpenRun>& run : runs_) in_time_order.push_back(run.get());
  std::stable_sort(in_time_order.begin(), in_time_order.end(), [](const OpenRun* a, const OpenRun* b) {
    return a->key.reference_time < b->key.reference_time;
  });
  for (OpenRun* run : in_time_order) {
    for (const std::int64_t end : run->writer->pending_steps()) NVMDB_TRY(commit(*run, end));
  }
  return source_.check_unchanged();
}

Status FieldImport::run(std::uint32_t number, DecodedRun run) {
  NVMDB_CHECK(number == run_numbers_.size(), "run numbers count up");
  if (run.attributes.size() > kAttributesKept || !nlohmann::json::accept(run.attributes)) run.attributes = "{}";
  NVMDB_ASSIGN(OpenRun* const open, open_run(run));
  run_numbers_.push_back(open);
  return Status::ok();
}

Result<FieldImport::OpenRun*> FieldImport::open_run(const DecodedRun& run) {
  engine::RunDescription description;
  description.key.model = options_.model.empty() ? run.model : options_.model;
  description.key.domain = options_.domain.empty() ? run.domain : options_.domain;
  description.key.reference_time = run.reference_time;
  description.key.version = run.version;
  description.significance = run.significance;
  description.format = run.format;
  description.attributes = run.attributes;
  const auto same =
      std::find_if(runs_.begin(), runs_.end(), [&](const auto& r) { return r->key == description.key; });
  if (same != runs_.end()) return same->get();
  NVMDB_ASSIGN(std::unique_ptr<engine::RunWriter> writer, store_.write(description));
  runs_.push_back(std::make_unique<OpenRun>(OpenRun{description.key, std::move(writer), {}}));
  return runs_.back().get();
}

Status FieldImport::grid(std::uint32_t number, met::Grid grid) {
  NVMDB_CHECK(number == grids_.size(), "grid numbers count up");
  grids_.push_back(std::move(grid));
  return Status::ok();
}

Status FieldImport::begin_field(const DecodedField& field) {
  OpenRun& run = *run_numbers_[field.run];
  auto grid = run.grids.find(field.grid);
  if (grid == run.grids.end()) {
    NVMDB_ASSIGN(const engine::GridId id, run.writer->grid(grids_[field.grid]));
    grid = run.grids.emplace(field.grid, id).first;
  }
  const Status status = run.writer->begin_field(engine::FieldHeader{.member = field.member,
                                                                    .parameter = field.parameter,
                                                                    .level = field.level,
                                                                    .step = field.step,
                                                                    .grid = grid->second,
                                                                    .encoding = field.encoding,
                                                                    .points = field.points});
  writer_ = status.is_ok() ? run.writer.get() : nullptr;
  if (status.code() == Code::InvalidArgument) return rejected(field.where, status);
  return status;
}

Status FieldImport::field_bytes(std::uint64_t at, ByteSpan bytes) {
  return writer_ == nullptr ? Status::ok() : writer_->write(at, bytes);
}

Status FieldImport::end_field(const DecodedStatistics& statistics) {
  engine::RunWriter* const writer = std::exchange(writer_, nullptr);
  if (writer == nullptr) return Status::ok();
  return writer->end_field({.minimum = statistics.minimum,
                            .maximum = statistics.maximum,
                            .mean = statistics.mean,
                            .missing_count = statistics.missing_count});
}

Status FieldImport::cancel_field() {
  if (engine::RunWriter* const writer = std::exchange(writer_, nullptr); writer != nullptr)
    writer->cancel_field();
  return Status::ok();
}

Status FieldImport::rejected(const std::string& where, const Status& why) {
  if (why.code() == Code::Corruption) saw_damage_ = true;
  if (report_.rejections.size() < kRejectionsKept) {
    report_.rejections.push_back({where, why});
  } else {
    ++report_.rejections_omitted;
  }
  return Status::ok();
}

Status FieldImport::step_done(std::uint32_t run, std::int64_t end_seconds) {
  return commit(*run_numbers_[run], end_seconds);
}

Status FieldImport::commit(OpenRun& run, std::int64_t end_seconds) {
  const std::vector<std::int64_t> pending = run.writer->pending_steps();
  if (!std::binary_search(pending.begin(), pending.end(), end_seconds)) return Status::ok();
  NVMDB_TRY(source_.check_unchanged());
  NVMDB_FAIL_POINT_TRY("ingest.step");
  NVMDB_ASSIGN(const engine::StepAck ack, run.writer->commit_step(end_seconds));
  const auto known = std::find_if(report_.steps.begin(), report_.steps.end(), [&](const IngestedStep& step) {
    return step.run == run.key && step.end_seconds == end_seconds;
  });
  const bool again = known != report_.steps.end();
  // A file begun again finds what its first reading stored; it was told of then.
  if (again && ack.fields_stored == 0) return Status::ok();
  report_.steps.push_back({run.key, end_seconds, ack.fields_stored, ack.fields_unchanged, ack.bytes_stored});
  report_.fields_stored += ack.fields_stored;
  report_.fields_unchanged += ack.fields_unchanged;
  report_.bytes_stored += ack.bytes_stored;
  if (on_step_) on_step_(report_.steps.back());
  return Status::ok();
}

}  // namespace nvmdb::ingest
