#include "query/selection.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "query/alias.h"
#include "query/near_words.h"

namespace nvmdb::query {
namespace {

using Rows = std::vector<const RunIndex::Row*>;

/// How far a run went towards an answer: the failure of the run that got farthest is the one that is told.
enum class Stage : std::uint8_t { Nothing, Parameter, Member, LevelType, Level, Step };

struct Failure {
  Stage stage = Stage::Nothing;
  Status status;

  void note(Stage reached, const Status& why) {
    if (reached <= stage) return;
    stage = reached;
    status = why;
  }
};

bool same_level(double a, double b) {
  return std::fabs(a - b) <= 1e-6 * std::max(1.0, std::fabs(b));
}

/// "name:discriminator"; of a discriminator of several parts ("0.5.7+surface20") the first ones are enough.
bool is_discriminated(const met::Parameter& parameter, std::string_view name) {
  const std::size_t length = parameter.short_name.size();
  if (!name.starts_with(parameter.short_name) || name.size() < length + 2 || name[length] != ':')
    return false;
  const std::string_view asked = name.substr(length + 1);
  const std::string_view whole = parameter.discriminator;
  return whole.starts_with(asked) && (whole.size() == asked.size() || whole[asked.size()] == '+');
}

bool is_named(const met::Parameter& parameter, std::string_view name) {
  if (parameter.short_name == name || is_discriminated(parameter, name)) return true;
  std::int32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  return error == std::errc{} && end == name.data() + name.size() && id != 0 && id == parameter.param_id;
}

std::string full_name(const met::Parameter& p) {
  return p.discriminator.empty() ? p.short_name : p.short_name + ":" + p.discriminator;
}

template <class Predicate>
Rows filtered(const Rows& rows, Predicate predicate) {
  Rows kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), predicate);
  return kept;
}

template <class Text>
std::vector<std::string> distinct_words(const Rows& rows, Text text) {
  std::vector<std::string> words;
  std::set<std::string> seen;
  for (const RunIndex::Row* row : rows) {
    if (std::string word = text(*row); seen.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

std::string level_words(const RunIndex::Row& row) {
  return met::format_level(row.row.level, row.row.bottom);
}

std::string parameter_words(const RunIndex::Row& row) {
  const met::Parameter& p = *row.parameter;
  return full_name(p) + " (" + p.long_name + ", " + p.units + ")";
}

Status no_such_parameter(const RunIndex& index, const std::string& name) {
  Rows all;
  for (const RunIndex::Row& row : index.rows) all.push_back(&row);
  const auto names = distinct_words(all, [](const RunIndex::Row& row) { return full_name(*row.parameter); });
  std::string text = "no parameter '" + name + "' in run " + engine::format_run(index.run.key);
  if (const auto near = near_words(name, names); !near.empty()) text += "; near: " + list_words(near);
  return Status::not_found(text + "; it has: " + list_words(names));
}

/// Words for a parameter that none of several runs has. Errors: those of `index_of`.
Status in_no_run(const Selection& selection, const std::vector<engine::Run>& runs, const IndexOfRun& index_of) {
  // Enough to find what somebody meant; a failure must not read all runs of a year.
  constexpr std::size_t kRunsRead = 64;
  std::size_t count = 0;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const engine::Run& run : runs) {
    if (!fits(selection, run) || ++count > kRunsRead) continue;
    NVMDB_ASSIGN(const auto index, index_of(run));
    for (const RunIndex::Row& row : index->rows) {
      if (std::string name = full_name(*row.parameter); seen.insert(name).second) names.push_back(std::move(name));
    }
  }
  std::string text = "no parameter '" + selection.parameter + "' in any of the " + std::to_string(count) + " runs";
  if (const auto near = near_words(selection.parameter, names); !near.empty()) text += "; near: " + list_words(near);
  return Status::not_found(text + "; there is: " + list_words(names));
}

/// Fills `rows` with what fits the selection but for ambiguities, or notes why nothing does.
bool narrow_rows(const Selection& selection, const RunIndex& index, Rows& rows, Failure& failure) {
  const std::string run = engine::format_run(index.run.key);
  rows = rows_named(index, selection.parameter);
  if (rows.empty()) {
    failure.note(Stage::Parameter, no_such_parameter(index, selection.parameter));
    return false;
  }
  const std::string where = " of '" + selection.parameter + "' in run " + run + "; there is: ";
  const auto narrow = [&](Stage stage, const std::string& what, auto text, auto predicate) {
    Rows kept = filtered(rows, predicate);
    if (kept.empty())
      failure.note(stage, Status::not_found("no " + what + where + list_words(distinct_words(rows, text))));
    rows = std::move(kept);
    return !rows.empty();
  };
  if (selection.member.has_value() &&
      !narrow(
          Stage::Member, "member " + std::to_string(*selection.member),
          [](const RunIndex::Row& row) { return std::to_string(row.row.member); },
          [&](const RunIndex::Row* row) { return row->row.member == *selection.member; })) {
    return false;
  }
  if (!selection.level_type.empty() &&
      !narrow(
          Stage::LevelType, "level type '" + selection.level_type + "'",
          [](const RunIndex::Row& row) { return row.level_type; },
          [&](const RunIndex::Row* row) { return row->level_type == selection.level_type; })) {
    return false;
  }
  if (selection.level.has_value() || selection.level_bottom.has_value()) {
    const double level = selection.level.has_value() ? *selection.level : *selection.level_bottom;
    const std::string what = "level " + met::format_level(level, selection.level_bottom.value_or(level));
    if (!narrow(Stage::Level, what, level_words, [&](const RunIndex::Row* row) {
          return (!selection.level.has_value() || same_level(row->row.level, level)) &&
                 (!selection.level_bottom.has_value() ||
                  same_level(row->row.bottom, *selection.level_bottom));
        })) {
      return false;
    }
  }
  const Rows before = rows;
  rows = filtered(rows, [&](const RunIndex::Row* row) {
    return !select_steps(selection, index.run.key.reference_time, row->row.steps).empty();
  });
  if (rows.empty()) {
    failure.note(Stage::Step, no_such_step(selection, index.run.key, before.front()->row.steps));
  }
  return !rows.empty();
}

Status ambiguous(const Selection& selection, const RunIndex& index, const std::string& what,
                 const std::vector<std::string>& words) {
  return Status::invalid_argument("'" + selection.parameter + "' in run " +
                                  engine::format_run(index.run.key) + " has " + std::to_string(words.size()) +
                                  " " + what + "; choose one: " + list_words(words));
}

Result<SelectedColumn> only_column(const Selection& selection, const RunIndex& index, Rows rows) {
  std::uint32_t member = rows.front()->row.member;
  for (const RunIndex::Row* row : rows) member = std::min(member, row->row.member);
  rows = filtered(rows, [&](const RunIndex::Row* row) { return row->row.member == member; });
  // The parameter that is nothing but its name comes before those that are something more.
  const Rows simple =
      filtered(rows, [](const RunIndex::Row* row) { return row->parameter->discriminator.empty(); });
  if (!simple.empty()) rows = simple;
  if (std::set<engine::ParameterId> ids; std::any_of(rows.begin(), rows.end(), [&](const RunIndex::Row* row) {
        return ids.insert(row->row.parameter).second && ids.size() > 1;
      })) {
    return ambiguous(selection, index, "meanings", distinct_words(rows, parameter_words));
  }
  const auto types = distinct_words(rows, [](const RunIndex::Row& row) { return row.level_type; });
  if (types.size() > 1) return ambiguous(selection, index, "level types", types);
  if (rows.size() > 1 && selection.level.has_value() && !selection.level_bottom.has_value()) {
    // "level 2" is the plain level 2 before it is a layer that begins there.
    const Rows plain =
        filtered(rows, [](const RunIndex::Row* row) { return row->row.level == row->row.bottom; });
    if (!plain.empty()) rows = plain;
  }
  if (rows.size() > 1) return ambiguous(selection, index, "levels", distinct_words(rows, level_words));
  const engine::InventoryRow& row = rows.front()->row;
  return SelectedColumn{index.run,
                        {index.run.id, row.member, row.parameter, row.level_type, row.level, row.bottom},
                        rows.front()->parameter,
                        rows.front()->level_type};
}

Status no_such_run(const Selection& selection, const std::vector<engine::Run>& runs) {
  if (runs.empty()) return Status::not_found("nothing is stored yet");
  std::string asked;
  if (!selection.model.empty()) asked += " model '" + selection.model + "'";
  if (!selection.domain.empty()) asked += " domain '" + selection.domain + "'";
  if (selection.run.has_value()) asked += " time " + met::format_run_time(*selection.run);
  if (!selection.version.empty()) asked += " version '" + selection.version + "'";
  std::vector<std::string> words;
  words.reserve(runs.size());
  for (const engine::Run& run : runs) words.push_back(engine::format_run(run.key));
  return Status::not_found("no run with" + asked + "; there is: " + list_words(words));
}

}  // namespace

std::vector<const RunIndex::Row*> rows_named(const RunIndex& index, const std::string& name) {
  Rows all;
  for (const RunIndex::Row& row : index.rows) all.push_back(&row);
  Rows found = filtered(all, [&](const RunIndex::Row* row) { return row->parameter->short_name == name; });
  if (found.empty())
    found = filtered(all, [&](const RunIndex::Row* row) { return is_named(*row->parameter, name); });
  for (const Spelling& spelling : found.empty() ? other_spellings(name) : std::span<const Spelling>()) {
    found = filtered(all, [&](const RunIndex::Row* row) {
      return row->parameter->short_name == spelling.name &&
             (spelling.level_type.empty() ||
              (row->level_type == spelling.level_type && same_level(row->row.level, spelling.level)));
    });
    if (!found.empty()) break;
  }
  return found;
}

bool fits(const Selection& selection, const engine::Run& run) {
  return (selection.model.empty() || selection.model == run.key.model) &&
         (selection.domain.empty() || selection.domain == run.key.domain) &&
         (!selection.run.has_value() || *selection.run == run.key.reference_time) &&
         (selection.version.empty() || selection.version == run.key.version);
}

std::string list_words(const std::vector<std::string>& words, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(limit, words.size()); ++i) text += (i > 0 ? ", " : "") + words[i];
  if (words.size() > limit) text += ", and " + std::to_string(words.size() - limit) + " more";
  return text;
}

std::vector<std::uint32_t> select_steps(const Selection& selection, met::UnixSeconds reference_time,
                                        const std::vector<met::Step>& steps) {
  const bool by_time = selection.valid_time.has_value();
  const bool lone =
      by_time || (selection.step.has_value() && !selection.step->all && !selection.step->interval);
  std::vector<std::uint32_t> chosen;
  bool instants_only = false;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const met::Step& step = steps[i];
    if (by_time && reference_time + step.end_seconds != *selection.valid_time) continue;
    if (selection.step.has_value() && !selection.step->matches(step)) continue;
    if (lone && step.is_instant() && !instants_only) {
      instants_only = true;
      chosen.clear();
    }
    if (!instants_only || step.is_instant()) chosen.push_back(i);
  }
  return chosen;
}

Status no_such_step(const Selection& selection, const engine::RunKey& run, const std::vector<met::Step>& steps) {
  std::string asked;
  if (selection.step.has_value() && !selection.step->all) {
    const met::StepSelector& s = *selection.step;
    asked = " step " + met::format_step({s.interval ? s.start_seconds : s.end_seconds, s.end_seconds});
  }
  if (selection.valid_time.has_value()) asked += " valid time " + met::format_time(*selection.valid_time);
  std::vector<std::string> words;
  words.reserve(steps.size());
  for (const met::Step& step : steps) {
    // In the words of the question.
    std::string word = selection.valid_time.has_value() ? met::format_time(run.reference_time + step.end_seconds)
                                                        : met::format_step(step);
    if (words.empty() || words.back() != word) words.push_back(std::move(word));
  }
  return Status::not_found("no" + asked + " of '" + selection.parameter + "' in run " + engine::format_run(run) +
                           "; there is: " + list_words(words));
}

Result<SelectedColumn> select_column(const Selection& selection, const std::vector<engine::Run>& runs,
                                     const IndexOfRun& index_of) {
  if (selection.parameter.empty()) return Status::invalid_argument("no parameter is asked for");
  Failure failure;
  std::size_t visited = 0;
  for (const engine::Run& run : runs) {
    if (!fits(selection, run)) continue;
    ++visited;
    NVMDB_ASSIGN(const auto index, index_of(run));
    Rows rows;
    if (narrow_rows(selection, *index, rows, failure)) return only_column(selection, *index, std::move(rows));
  }
  if (failure.stage == Stage::Parameter && visited > 1) return in_no_run(selection, runs, index_of);
  return failure.stage == Stage::Nothing ? no_such_run(selection, runs) : failure.status;
}

}  // namespace nvmdb::query
