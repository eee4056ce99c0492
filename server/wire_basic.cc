#include "server/error_table.h"
#include "server/wire.h"

namespace nvmdb::server::wire {

met::StepProcess take_process(v1::StepProcess process) {
  if (process < v1::STEP_PROCESS_INSTANT || process > v1::STEP_PROCESS_SUMMATION)
    return met::StepProcess::Other;
  return static_cast<met::StepProcess>(process - 1);
}

v1::StepProcess put_process(met::StepProcess process) {
  if (process > met::StepProcess::Summation) return v1::STEP_PROCESS_OTHER;
  return static_cast<v1::StepProcess>(static_cast<int>(process) + 1);
}

void put(const engine::RunKey& from, v1::RunKey& to) {
  to.set_model(from.model);
  to.set_domain(from.domain);
  to.mutable_reference_time()->set_seconds(from.reference_time);
  to.set_version(from.version);
}

engine::RunKey take(const v1::RunKey& from) {
  return {from.model(), from.domain(), from.reference_time().seconds(), from.version()};
}

void put(const engine::Run& from, v1::Run& to) {
  to.set_id(from.id);
  put(from.key, *to.mutable_key());
  to.set_significance(static_cast<v1::ReferenceSignificance>(static_cast<int>(from.significance) + 1));
  to.set_state(static_cast<v1::RunState>(from.state));
  to.set_location(static_cast<v1::RunLocation>(from.location));
  to.set_format(from.format);
  to.set_field_count(from.field_count);
  to.set_field_bytes(from.field_bytes);
  to.set_version(from.version);
  to.mutable_changed_at()->set_seconds(from.changed_at);
}

engine::Run take(const v1::Run& from) {
  engine::Run run;
  run.id = from.id();
  run.key = take(from.key());
  const int significance = static_cast<int>(from.significance()) - 1;
  run.significance = significance >= 0 && significance <= 3
                         ? static_cast<met::ReferenceSignificance>(significance)
                         : met::ReferenceSignificance::Missing;
  if (v1::RunState_IsValid(from.state()) && from.state() != v1::RUN_STATE_UNSPECIFIED) {
    run.state = static_cast<engine::RunState>(from.state());
  }
  if (v1::RunLocation_IsValid(from.location()) && from.location() != v1::RUN_LOCATION_UNSPECIFIED) {
    run.location = static_cast<engine::RunLocation>(from.location());
  }
  run.format = from.format();
  run.field_count = from.field_count();
  run.field_bytes = from.field_bytes();
  run.version = from.version();
  run.changed_at = from.changed_at().seconds();
  return run;
}

void put(const met::Parameter& from, v1::Parameter& to) {
  to.set_short_name(from.short_name);
  to.set_long_name(from.long_name);
  to.set_units(from.units);
  to.set_param_id(from.param_id);
  to.set_origin(from.origin);
  to.set_discriminator(from.discriminator);
  to.set_stagger(from.stagger);
}

met::Parameter take(const v1::Parameter& from) {
  return {from.short_name(), from.long_name(),     from.units(),  from.param_id(),
          from.origin(),     from.discriminator(), from.stagger()};
}

void put(const met::Step& from, v1::Step& to) {
  to.mutable_start()->set_seconds(from.start_seconds);
  to.mutable_end()->set_seconds(from.end_seconds);
  to.set_process(put_process(from.process));
}

met::Step take(const v1::Step& from) {
  return {from.start().seconds(), from.end().seconds(), take_process(from.process())};
}

void put(const ModelRow& from, v1::Model& to) {
  to.set_model(from.model);
  to.set_domain(from.domain);
  to.set_format(from.format);
  to.set_run_count(from.run_count);
  to.mutable_oldest_run()->set_seconds(from.oldest_run);
  to.mutable_newest_run()->set_seconds(from.newest_run);
  to.set_field_count(from.field_count);
  to.set_field_bytes(from.field_bytes);
}

ModelRow take(const v1::Model& from) {
  return {from.model(),
          from.domain(),
          from.format(),
          from.run_count(),
          from.oldest_run().seconds(),
          from.newest_run().seconds(),
          from.field_count(),
          from.field_bytes()};
}

void put(const ParameterRow& from, v1::ParameterSummary& to) {
  put(from.run, *to.mutable_run());
  put(from.parameter, *to.mutable_parameter());
  to.set_level_type(from.level_type);
  for (const LevelValue& level : from.levels) {
    v1::Level& out = *to.add_levels();
    out.set_type(from.level_type);
    out.set_value(level.value);
    out.set_bottom(level.bottom);
  }
  to.mutable_members()->Add(from.members.begin(), from.members.end());
  to.set_step_count(from.step_count);
  put(from.first_step, *to.mutable_first_step());
  put(from.last_step, *to.mutable_last_step());
  to.set_grid_summary(from.grid_summary);
}

ParameterRow take(const v1::ParameterSummary& from) {
  ParameterRow row;
  row.run = take(from.run());
  row.parameter = take(from.parameter());
  row.level_type = from.level_type();
  for (const v1::Level& level : from.levels()) row.levels.push_back({level.value(), level.bottom()});
  row.members.assign(from.members().begin(), from.members().end());
  row.step_count = from.step_count();
  row.first_step = take(from.first_step());
  row.last_step = take(from.last_step());
  row.grid_summary = from.grid_summary();
  return row;
}

void put(const StepRow& from, v1::StepSummary& to) {
  put(from.run, *to.mutable_run());
  put(from.step, *to.mutable_step());
  to.mutable_valid_time()->set_seconds(from.valid_time);
  to.set_field_count(from.field_count);
}

StepRow take(const v1::StepSummary& from) {
  return {take(from.run()), take(from.step()), from.valid_time().seconds(), from.field_count()};
}

void put(const engine::Event& from, v1::Event& to) {
  to.set_sequence(from.sequence);
  to.set_kind(static_cast<v1::EventKind>(from.kind));
  put(from.run_key, *to.mutable_run());
  to.mutable_step_end()->set_seconds(from.step_end_seconds);
  to.set_fields_changed(from.fields_changed);
  to.mutable_at()->set_seconds(from.at);
}

engine::Event take(const v1::Event& from) {
  engine::Event event;
  event.sequence = from.sequence();
  if (v1::EventKind_IsValid(from.kind()) && from.kind() != v1::EVENT_KIND_UNSPECIFIED) {
    event.kind = static_cast<engine::Event::Kind>(from.kind());
  }
  event.run_key = take(from.run());
  event.step_end_seconds = from.step_end().seconds();
  event.fields_changed = from.fields_changed();
  event.at = from.at().seconds();
  return event;
}

void put(const InfoItem& from, v1::InfoItem& to) {
  to.set_section(from.section);
  to.set_name(from.name);
  to.set_unit(from.unit);
  if (const auto* text = std::get_if<std::string>(&from.value)) {
    to.set_text(*text);
  } else {
    to.set_number(std::get<std::uint64_t>(from.value));
  }
}

InfoItem take(const v1::InfoItem& from) {
  InfoItem item{from.section(), from.name(), from.text(), from.unit()};
  if (from.value_case() == v1::InfoItem::kNumber) item.value = from.number();
  return item;
}

void put(const ingest::IngestedStep& from, v1::IngestedStep& to) {
  put(from.run, *to.mutable_run());
  to.mutable_step_end()->set_seconds(from.end_seconds);
  to.set_fields_stored(from.fields_stored);
  to.set_fields_unchanged(from.fields_unchanged);
  to.set_bytes_stored(from.bytes_stored);
}

ingest::IngestedStep take(const v1::IngestedStep& from) {
  return {take(from.run()), from.step_end().seconds(), from.fields_stored(), from.fields_unchanged(),
          from.bytes_stored()};
}

void put(const ingest::IngestReport& from, v1::IngestReport& to) {
  to.set_format(from.format);
  for (const ingest::Rejection& rejection : from.rejections) {
    v1::Rejection& out = *to.add_rejections();
    out.set_where(rejection.where);
    out.set_reason(std::string(error_row(rejection.why.code()).reason));
    out.set_message(rejection.why.message());
  }
  to.set_rejections_omitted(from.rejections_omitted);
  to.set_fields_stored(from.fields_stored);
  to.set_fields_unchanged(from.fields_unchanged);
  to.set_bytes_stored(from.bytes_stored);
  to.set_file_bytes(from.file_bytes);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  to.mutable_elapsed()->set_seconds(static_cast<std::int64_t>(from.nanoseconds / kSecond));
  to.mutable_elapsed()->set_nanos(static_cast<std::int32_t>(from.nanoseconds % kSecond));
}

ingest::IngestReport take(const v1::IngestReport& from) {
  ingest::IngestReport report;
  report.format = from.format();
  for (const v1::Rejection& rejection : from.rejections()) {
    const Code code = code_of_reason(rejection.reason()).value_or(Code::IoError);
    report.rejections.push_back({rejection.where(), Status(code, rejection.message())});
  }
  report.rejections_omitted = from.rejections_omitted();
  report.fields_stored = from.fields_stored();
  report.fields_unchanged = from.fields_unchanged();
  report.bytes_stored = from.bytes_stored();
  report.file_bytes = from.file_bytes();
  report.nanoseconds = static_cast<std::uint64_t>(from.elapsed().seconds()) * 1'000'000'000 +
                       static_cast<std::uint64_t>(from.elapsed().nanos());
  return report;
}

}  // namespace nvmdb::server::wire
