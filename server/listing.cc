#include "server/listing.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/met/level.h"

namespace nvmdb::server {
namespace {

std::string describe(const query::Selection& selection) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : ", ") + std::string(name) + " " + value;
  };
  add("model", selection.model);
  add("domain", selection.domain);
  if (selection.run) add("run", met::format_run_time(*selection.run));
  add("version", selection.version);
  add("parameter", selection.parameter);
  add("level type", selection.level_type);
  if (selection.level)
    add("level", met::format_level(*selection.level, selection.level_bottom.value_or(*selection.level)));
  if (selection.member) add("member", std::to_string(*selection.member));
  return text;
}

bool run_matches(const engine::RunKey& key, const query::Selection& selection) {
  return (selection.model.empty() || key.model == selection.model) &&
         (selection.domain.empty() || key.domain == selection.domain) &&
         (selection.version.empty() || key.version == selection.version) &&
         (!selection.run || key.reference_time == *selection.run);
}

bool narrows_fields(const query::Selection& selection) {
  return !selection.parameter.empty() || !selection.level_type.empty() || selection.level || selection.member;
}

/// An inventory row with its numbers turned into names.
struct NamedRow {
  engine::InventoryRow row;
  met::Parameter parameter;
  std::string level_type;
};

bool row_matches(const NamedRow& named, const query::Selection& selection) {
  return (selection.parameter.empty() || named.parameter.short_name == selection.parameter) &&
         (selection.level_type.empty() || named.level_type == selection.level_type) &&
         (!selection.level || named.row.level == *selection.level) &&
         (!selection.level_bottom || named.row.bottom == *selection.level_bottom) &&
         (!selection.member || named.row.member == *selection.member);
}

Result<std::vector<NamedRow>> fitting_rows(const engine::Catalogue& catalogue, engine::RunId run,
                                           const query::Selection& selection) {
  NVMDB_ASSIGN(std::vector<engine::InventoryRow> inventory, catalogue.inventory(run));
  std::vector<NamedRow> rows;
  for (engine::InventoryRow& row : inventory) {
    NamedRow named;
    NVMDB_ASSIGN(named.parameter, catalogue.parameter(row.parameter));
    NVMDB_ASSIGN(named.level_type, catalogue.level_type(row.level_type));
    named.row = std::move(row);
    if (row_matches(named, selection)) rows.push_back(std::move(named));
  }
  return rows;
}

/// Calls `visit(run, rows)` for each run whose fields are listed: those that fit the selection or, when it
/// names no run, the newest one of each model, domain and version that has a fitting field.
template <class Visit>
Status visit_listed_runs(const engine::Catalogue& catalogue, const query::Selection& selection, Visit visit) {
  NVMDB_ASSIGN(const std::vector<engine::Run> runs, catalogue.runs());  // newest first
  std::set<std::tuple<std::string, std::string, std::string>> done;
  for (const engine::Run& run : runs) {
    if (!run_matches(run.key, selection)) continue;
    const auto place = std::make_tuple(run.key.model, run.key.domain, run.key.version);
    if (!selection.run && done.contains(place)) continue;
    auto rows = fitting_rows(catalogue, run.id, selection);
    // A run may be dropped between the listing of runs and this one.
    if (!rows.is_ok() && rows.status().code() == Code::NotFound) continue;
    if (!rows.is_ok()) return rows.status();
    if (rows->empty()) continue;
    done.insert(place);
    NVMDB_TRY(visit(run, *rows));
  }
  return Status::ok();
}

}  // namespace

Status nothing_matches(const query::Selection& selection) {
  const std::string what = describe(selection);
  if (what.empty()) return Status::not_found("nothing is stored yet; `nvmdb ingest FILE` stores a file");
  return Status::not_found("nothing stored matches " + what + "; `nvmdb params` lists what there is");
}

Result<std::vector<engine::Run>> list_runs(const engine::Catalogue& catalogue,
                                           const query::Selection& selection) {
  NVMDB_ASSIGN(std::vector<engine::Run> runs, catalogue.runs());
  std::vector<engine::Run> fitting;
  for (engine::Run& run : runs) {
    if (run_matches(run.key, selection)) fitting.push_back(std::move(run));
  }
  if (fitting.empty()) return nothing_matches(selection);
  return fitting;
}

Result<std::vector<ModelRow>> list_models(const engine::Catalogue& catalogue,
                                          const query::Selection& selection) {
  NVMDB_ASSIGN(const std::vector<engine::Run> runs, list_runs(catalogue, selection));
  std::map<std::pair<std::string, std::string>, ModelRow> models;
  for (const engine::Run& run : runs) {
    ModelRow& row = models[{run.key.model, run.key.domain}];
    if (row.run_count == 0) {
      row.model = run.key.model;
      row.domain = run.key.domain;
      row.format = run.format;
      row.oldest_run = row.newest_run = run.key.reference_time;
    }
    ++row.run_count;
    row.oldest_run = std::min(row.oldest_run, run.key.reference_time);
    row.newest_run = std::max(row.newest_run, run.key.reference_time);
    row.field_count += run.field_count;
    row.field_bytes += run.field_bytes;
  }
  std::vector<ModelRow> rows;
  for (auto& [place, row] : models) rows.push_back(std::move(row));
  return rows;
}

Result<std::vector<ParameterRow>> list_parameters(const engine::Catalogue& catalogue,
                                                  const query::Selection& selection) {
  std::vector<ParameterRow> out;
  const auto add_run = [&](const engine::Run& run, const std::vector<NamedRow>& rows) -> Status {
    // Field-table order runs by member first: gather each parameter and level type from all over.
    std::map<std::pair<engine::ParameterId, engine::LevelTypeId>, ParameterRow> summaries;
    std::map<std::pair<engine::ParameterId, engine::LevelTypeId>, std::set<met::Step>> steps;
    for (const NamedRow& named : rows) {
      const auto place = std::make_pair(named.row.parameter, named.row.level_type);
      ParameterRow& summary = summaries[place];
      if (summary.levels.empty()) {
        NVMDB_ASSIGN(const auto grid, catalogue.grid(named.row.grid));
        summary.run = run.key;
        summary.parameter = named.parameter;
        summary.level_type = named.level_type;
        summary.grid_summary = grid->summary();
      }
      const LevelValue level{named.row.level, named.row.bottom};
      if (std::ranges::find(summary.levels, level) == summary.levels.end()) summary.levels.push_back(level);
      if (std::ranges::find(summary.members, named.row.member) == summary.members.end()) {
        summary.members.push_back(named.row.member);
      }
      steps[place].insert(named.row.steps.begin(), named.row.steps.end());
    }
    for (auto& [place, summary] : summaries) {
      const std::set<met::Step>& all = steps[place];
      summary.step_count = all.size();
      if (!all.empty()) {
        summary.first_step = *all.begin();
        summary.last_step = *all.rbegin();
      }
      out.push_back(std::move(summary));
    }
    return Status::ok();
  };
  NVMDB_TRY(visit_listed_runs(catalogue, selection, add_run));
  if (out.empty()) return nothing_matches(selection);
  return out;
}

Result<std::vector<StepRow>> list_steps(const engine::Catalogue& catalogue,
                                        const query::Selection& selection) {
  std::vector<StepRow> out;
  const auto add_run = [&](const engine::Run& run, const std::vector<NamedRow>& rows) -> Status {
    std::map<met::Step, std::uint64_t> counts;
    const bool by_interval = narrows_fields(selection);
    for (const NamedRow& named : rows) {
      // Of a whole run the steps are the times at which something ends; of chosen fields, their very
      // intervals.
      for (const met::Step& step : named.row.steps) {
        ++counts[by_interval ? step : met::Step::instant(step.end_seconds)];
      }
    }
    for (const auto& [step, count] : counts) {
      out.push_back({run.key, step, run.key.reference_time + step.end_seconds, count});
    }
    return Status::ok();
  };
  NVMDB_TRY(visit_listed_runs(catalogue, selection, add_run));
  if (out.empty()) return nothing_matches(selection);
  return out;
}

Result<std::vector<GridRow>> list_grids(const engine::Catalogue& catalogue,
                                        const query::Selection& selection) {
  std::vector<GridRow> out;
  const auto add_run = [&](const engine::Run& run, const std::vector<NamedRow>& rows) -> Status {
    std::map<engine::GridId, GridRow> grids;
    for (const NamedRow& named : rows) {
      GridRow& row = grids[named.row.grid];
      if (row.field_columns++ != 0) continue;
      NVMDB_ASSIGN(const auto grid, catalogue.grid(named.row.grid));
      row.run = run.key;
      row.summary = grid->summary();
      row.grid = *grid;
      row.grid.latitudes.clear();
      row.grid.longitudes.clear();
      row.example_parameter = named.parameter.short_name;
    }
    for (auto& [id, row] : grids) out.push_back(std::move(row));
    return Status::ok();
  };
  NVMDB_TRY(visit_listed_runs(catalogue, selection, add_run));
  if (out.empty()) return nothing_matches(selection);
  return out;
}

}  // namespace nvmdb::server
