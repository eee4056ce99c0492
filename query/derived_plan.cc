#include "query/derived_plan.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "query/selection.h"

namespace nvmdb::query {
namespace {

using derived::Input;
using derived::Place;
using derived::Span;
using Rows = std::vector<const RunIndex::Row*>;

constexpr std::string_view kEta = "eta";
constexpr std::string_view kInterfaces = "eta_stag";

bool same_level(double a, double b) {
  return std::fabs(a - b) <= 1e-6 * std::max(1.0, std::fabs(b));
}

/// The rows of an input, of one member, by level.
Rows input_rows(const RunIndex& index, const Input& input, std::uint32_t member) {
  Rows rows = rows_named(index, std::string(input.name));
  std::erase_if(rows, [&](const RunIndex::Row* row) { return row->row.member != member; });
  std::sort(rows.begin(), rows.end(),
            [](const RunIndex::Row* a, const RunIndex::Row* b) { return a->row.level < b->row.level; });
  return rows;
}

bool is_on_interfaces(const Rows& rows) {
  return rows.front()->level_type == kInterfaces;
}

std::string input_list(const derived::Definition& definition) {
  std::set<std::string_view> seen;
  std::string text;
  for (const Input& input : definition.inputs) {
    if (input.optional || !seen.insert(input.name).second) continue;
    text += (text.empty() ? "" : ", ") + std::string(input.name);
  }
  return text;
}

std::uint32_t member_of(const Selection& selection, const RunIndex& index,
                        const derived::Definition& definition) {
  if (selection.member.has_value()) return *selection.member;
  std::optional<std::uint32_t> lowest;
  for (const RunIndex::Row* row : rows_named(index, std::string(definition.inputs.front().name))) {
    lowest = std::min(lowest.value_or(row->row.member), row->row.member);
  }
  return lowest.value_or(0);
}

/// Numbers among the global attributes of a WRF run.
double attribute(const nlohmann::json& attributes, const char* name) {
  const auto found = attributes.find(name);
  return found != attributes.end() && found->is_number() ? found->get<double>() : 0.0;
}

}  // namespace

/// Finds the inputs of a definition in one run.
class DerivedPlanner {
 public:
  DerivedPlanner(const derived::Definition& definition, const Selection& selection, const RunIndex& index)
      : definition_(definition),
        selection_(selection),
        index_(index),
        member_(member_of(selection, index, definition)),
        attributes_(nlohmann::json::parse(index.run.attributes, nullptr, false)) {
    for (const Input& input : definition.inputs) rows_.push_back(input_rows(index, input, member_));
  }

  [[nodiscard]] Status check_inputs() const {
    if (index_.run.format != definition_.format) {
      return Status::not_found("'" + selection_.parameter + "' cannot be computed in " + index_.run.format +
                               " runs");
    }
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Input& input = definition_.inputs[i];
      const std::string name(input.name);
      // Buckets count only where the run empties them.
      const bool needed = !input.optional || (name.starts_with("I_RAIN") && bucket_mm() > 0);
      if (!needed || !rows_[i].empty()) continue;
      if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
    }
    if (missing.empty()) return Status::ok();
    const std::string member = selection_.member.has_value() ? " member " + std::to_string(member_) : "";
    return Status::not_found("'" + selection_.parameter + "' is not stored, and to be computed from " +
                             input_list(definition_) + " run " + engine::format_run(index_.run.key) + member +
                             " lacks " + list_words(missing));
  }

  /// The levels of the answer that the selection allows.
  [[nodiscard]] std::vector<DerivedPlan::LevelChoice> choices() const {
    std::vector<DerivedPlan::LevelChoice> found;
    if (is_of_column() && index_.run.format == "wrf") {
      found.push_back({"surface", 0, 0});
    } else {
      const Rows& rows = rows_.front();
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool interfaces = has_means() && rows[i]->level_type == kInterfaces;
        if (interfaces && i + 1 == rows.size()) break;  // one less between them
        found.push_back(
            {interfaces ? std::string(kEta) : rows[i]->level_type, rows[i]->row.level, rows[i]->row.bottom});
      }
    }
    std::erase_if(found, [&](const DerivedPlan::LevelChoice& choice) {
      return (!selection_.level_type.empty() && selection_.level_type != choice.level_type) ||
             (selection_.level.has_value() && !same_level(choice.level, *selection_.level)) ||
             (selection_.level_bottom.has_value() && !same_level(choice.bottom, *selection_.level_bottom));
    });
    return found;
  }

  /// Whether all inputs are stored where a choice needs them.
  [[nodiscard]] bool has_inputs_at(const DerivedPlan::LevelChoice& choice) const {
    for (std::size_t input = 0; input < rows_.size(); ++input) {
      std::vector<std::pair<const RunIndex::Row*, const RunIndex::Row*>> found;
      if (!rows_[input].empty() && !find_levels(input, choice, found).is_ok()) return false;
    }
    return true;
  }

  [[nodiscard]] Result<DerivedPlan> plan(engine::FieldStore& store, const engine::ReadView& view) const;

 private:
  [[nodiscard]] bool is_of_column() const {
    return definition_.place != Place::Levels && definition_.place != Place::Interfaces;
  }
  /// Whether what is on interfaces counts as the mean of those below and above.
  [[nodiscard]] bool has_means() const { return definition_.place != Place::Interfaces; }
  [[nodiscard]] double bucket_mm() const { return std::max(attribute(attributes_, "BUCKET_MM"), 0.0); }
  [[nodiscard]] Result<DerivedPlan::LevelChoice> only_choice() const;
  [[nodiscard]] Status find_levels(
      std::size_t input, const DerivedPlan::LevelChoice& choice,
      std::vector<std::pair<const RunIndex::Row*, const RunIndex::Row*>>& found) const;
  [[nodiscard]] Status find_steps(DerivedPlan& plan, const std::vector<const RunIndex::Row*>& drivers) const;
  [[nodiscard]] Status find_anchor(engine::FieldStore& store, const engine::ReadView& view, DerivedPlan& plan,
                                   const RunIndex::Row* unstaggered, const RunIndex::Row* any) const;
  [[nodiscard]] static engine::ColumnKey key_of(const engine::Run& run, const engine::InventoryRow& row) {
    return {run.id, row.member, row.parameter, row.level_type, row.level, row.bottom};
  }
  [[nodiscard]] std::string where() const { return " in run " + engine::format_run(index_.run.key); }
  [[nodiscard]] std::vector<DerivedPlan::Times> times_of(const std::vector<met::Step>& common) const;

  const derived::Definition& definition_;
  const Selection& selection_;
  const RunIndex& index_;
  const std::uint32_t member_;
  const nlohmann::json attributes_;
  std::vector<Rows> rows_;  // of each input
};

Result<DerivedPlan::LevelChoice> DerivedPlanner::only_choice() const {
  const std::vector<DerivedPlan::LevelChoice> found = choices();
  if (found.empty()) {
    return Status::not_found("'" + selection_.parameter + "', which is computed from " +
                             input_list(definition_) + ", has no such level" + where());
  }
  if (found.size() == 1) return found.front();
  std::vector<std::string> types;
  std::vector<std::string> levels;
  for (const DerivedPlan::LevelChoice& choice : found) {
    if (std::find(types.begin(), types.end(), choice.level_type) == types.end())
      types.push_back(choice.level_type);
    levels.push_back(met::format_level(choice.level, choice.bottom));
  }
  const bool by_type = types.size() > 1;
  return Status::invalid_argument("'" + selection_.parameter + "'" + where() + " has " +
                                  std::to_string(by_type ? types.size() : levels.size()) +
                                  (by_type ? " level types" : " levels") +
                                  "; choose one: " + list_words(by_type ? types : levels));
}

Status DerivedPlanner::find_levels(
    std::size_t input, const DerivedPlan::LevelChoice& choice,
    std::vector<std::pair<const RunIndex::Row*, const RunIndex::Row*>>& found) const {
  const Rows& rows = rows_[input];
  const Span span = definition_.inputs[input].span;
  const std::string name(definition_.inputs[input].name);
  if (span == Span::Surface) {
    found.emplace_back(rows.front(), nullptr);
    return Status::ok();
  }
  const bool interfaces = has_means() && is_on_interfaces(rows);
  const std::size_t count = interfaces ? rows.size() - 1 : rows.size();
  const auto between = [&](std::size_t k) {
    found.emplace_back(rows[k], interfaces ? rows[k + 1] : nullptr);
  };
  if (index_.run.format == "wrf") {
    // Levels are numbered from 1; a column with a hole would be another atmosphere.
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!same_level(rows[k]->row.level, static_cast<double>(k + 1)))
        return Status::not_found("level " + std::to_string(k + 1) + " of '" + name + "' is not stored" +
                                 where());
    }
    if (count == 0) return Status::not_found("'" + name + "' has too few levels" + where());
    if (span == Span::ColumnInterfaces && !interfaces)
      return Status::invalid_argument("'" + name + "' is not on interfaces" + where());
    if (span == Span::ColumnInterfaces) {
      for (const RunIndex::Row* row : rows) found.emplace_back(row, nullptr);
    } else if (span == Span::Column) {
      for (std::size_t k = 0; k < count; ++k) between(k);
    } else {
      const auto level = static_cast<std::size_t>(choice.level) - 1;
      if (level >= count) return Status::not_found("level of '" + name + "' is not stored" + where());
      between(span == Span::Below && level > 0
                  ? level - 1
                  : std::min(level + (span == Span::Above ? 1U : 0U), count - 1));
    }
    return Status::ok();
  }
  for (const RunIndex::Row* row : rows) {
    if (row->level_type == choice.level_type && same_level(row->row.level, choice.level) &&
        same_level(row->row.bottom, choice.bottom)) {
      found.emplace_back(row, nullptr);
      return Status::ok();
    }
  }
  return Status::not_found("'" + selection_.parameter + "' is computed from " + input_list(definition_) +
                           ", and '" + name + "' is not stored at " + choice.level_type + " " +
                           met::format_level(choice.level, choice.bottom) + where());
}

/// The steps of the inputs that answers need, as far as the place of the definition goes.
std::vector<DerivedPlan::Times> DerivedPlanner::times_of(const std::vector<met::Step>& common) const {
  std::vector<DerivedPlan::Times> times;
  if (definition_.place != Place::Interval) {
    for (const met::Step& step : common) times.push_back({step, {}});
    return times;
  }
  // Counts from the start of the run: those of GRIB say so by their interval.
  std::vector<met::Step> counts;
  for (const met::Step& step : common) {
    const bool counts_from_start = index_.run.format == "wrf" ? step.is_instant() : step.start_seconds == 0;
    if (counts_from_start && step.end_seconds > 0) counts.push_back(step);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    times.push_back({counts[i], i > 0 ? std::optional(counts[i - 1]) : std::nullopt});
  }
  const bool interval = selection_.step.has_value() && selection_.step->interval;
  if (!interval) return times;
  for (const met::Step& now : counts) {
    if (now.end_seconds != selection_.step->end_seconds) continue;
    for (const met::Step& before : counts) {
      if (before.end_seconds == selection_.step->start_seconds) return {{now, before}};
    }
    if (selection_.step->start_seconds == 0) return {{now, {}}};
  }
  return times;
}

Status DerivedPlanner::find_steps(DerivedPlan& plan, const std::vector<const RunIndex::Row*>& drivers) const {
  std::vector<met::Step> common = drivers.front()->row.steps;
  std::sort(common.begin(), common.end());
  for (const RunIndex::Row* row : drivers) {
    std::vector<met::Step> steps = row->row.steps;
    std::sort(steps.begin(), steps.end());
    std::vector<met::Step> both;
    std::set_intersection(common.begin(), common.end(), steps.begin(), steps.end(), std::back_inserter(both));
    common = std::move(both);
  }
  const std::vector<DerivedPlan::Times> times = times_of(common);
  std::vector<met::Step> steps;
  for (const DerivedPlan::Times& time : times) {
    if (definition_.place != Place::Interval) {
      steps.push_back(time.now);
      continue;
    }
    const std::int64_t start = time.before.has_value() ? time.before->end_seconds : 0;
    steps.push_back({start, time.now.end_seconds, met::StepProcess::Accumulation});
  }
  const met::UnixSeconds reference_time = index_.run.key.reference_time;
  for (const std::uint32_t i : select_steps(selection_, reference_time, steps)) {
    plan.steps_.push_back(steps[i]);
    plan.times_.push_back(times[i]);
  }
  if (!plan.steps_.empty()) return Status::ok();
  if (steps.empty()) {
    return Status::not_found("'" + selection_.parameter + "' is computed from " + input_list(definition_) +
                             ", which have no step in common" + where());
  }
  return no_such_step(selection_, index_.run.key, steps);
}

Status DerivedPlanner::find_anchor(engine::FieldStore& store, const engine::ReadView& view, DerivedPlan& plan,
                                   const RunIndex::Row* unstaggered, const RunIndex::Row* any) const {
  if (unstaggered == nullptr) {
    // The answer lies at cell centres, which another variable of the run has.
    NVMDB_ASSIGN(const auto staggered, store.catalogue().grid(any->row.grid));
    const bool along_x = any->parameter->stagger == "X";
    for (const RunIndex::Row& row : index_.rows) {
      if (row.row.member != member_ || !(row.parameter->stagger.empty() || row.parameter->stagger == "Z"))
        continue;
      NVMDB_ASSIGN(const auto grid, store.catalogue().grid(row.row.grid));
      if (grid->type != met::GridType::Curvilinear ||
          grid->columns + (along_x ? 1U : 0U) != staggered->columns ||
          grid->rows + (along_x ? 0U : 1U) != staggered->rows)
        continue;
      unstaggered = &row;
      break;
    }
  }
  if (unstaggered == nullptr) {
    return Status::not_found("'" + selection_.parameter +
                             "' lies at cell centres, of which no variable is stored" + where());
  }
  NVMDB_ASSIGN(plan.anchor_, store.column(view, key_of(index_.run, unstaggered->row)));
  return Status::ok();
}

Result<DerivedPlan> DerivedPlanner::plan(engine::FieldStore& store, const engine::ReadView& view) const {
  NVMDB_TRY(check_inputs());
  NVMDB_ASSIGN(const DerivedPlan::LevelChoice choice, only_choice());
  DerivedPlan plan;
  plan.store_ = &store;
  plan.definition_ = &definition_;
  plan.run_ = index_.run;
  plan.run_.attributes.clear();
  plan.member_ = member_;
  plan.level_type_ = choice.level_type;
  plan.level_ = choice.level;
  plan.bottom_ = choice.bottom;
  plan.bucket_mm_ = bucket_mm();
  std::vector<const RunIndex::Row*> drivers;  // inputs that change with the step
  const RunIndex::Row* unstaggered = nullptr;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Input& input = definition_.inputs[i];
    DerivedPlan::InputColumns& columns = plan.inputs_.emplace_back();
    if (rows_[i].empty()) continue;
    std::vector<std::pair<const RunIndex::Row*, const RunIndex::Row*>> found;
    NVMDB_TRY(find_levels(i, choice, found));
    const RunIndex::Row* const first = found.front().first;
    const std::string& stagger = first->parameter->stagger;
    columns.stagger = stagger == "X" || stagger == "Y" ? stagger[0] : ' ';
    const bool constant =
        input.span == Span::Surface && index_.run.format == "wrf" && first->row.steps.size() == 1;
    for (const auto& [row, other] : found) {
      DerivedPlan::LevelColumns& level = columns.levels.emplace_back();
      NVMDB_ASSIGN(level.column, store.column(view, key_of(index_.run, row->row)));
      if (other != nullptr) {
        NVMDB_ASSIGN(level.other, store.column(view, key_of(index_.run, other->row)));
      }
      if (!constant) drivers.push_back(row);
    }
    if (columns.stagger == ' ' && (unstaggered == nullptr || unstaggered->row.steps.size() == 1))
      unstaggered = first;
  }
  const RunIndex::Row* const any = rows_.front().front();
  if (drivers.empty()) drivers.push_back(any);
  NVMDB_TRY(find_steps(plan, drivers));
  NVMDB_TRY(find_anchor(store, view, plan, unstaggered, any));
  plan.parameter_.short_name = selection_.parameter;
  plan.parameter_.long_name =
      std::string(definition_.long_name) + ", computed from " + input_list(definition_);
  plan.parameter_.units = definition_.units.empty() ? any->parameter->units : std::string(definition_.units);
  plan.parameter_.origin = "derived";
  return plan;
}

Result<DerivedPlan> DerivedPlan::make(engine::FieldStore& store, const engine::ReadView& view,
                                      const derived::Definition& definition, const Selection& selection,
                                      const RunIndex& index) {
  return DerivedPlanner(definition, selection, index).plan(store, view);
}

Result<std::vector<DerivedPlan::LevelChoice>> DerivedPlan::levels(const derived::Definition& definition,
                                                                  const Selection& selection,
                                                                  const RunIndex& index) {
  const DerivedPlanner planner(definition, selection, index);
  NVMDB_TRY(planner.check_inputs());
  std::vector<LevelChoice> found = planner.choices();
  std::erase_if(found, [&](const LevelChoice& choice) { return !planner.has_inputs_at(choice); });
  return found;
}

namespace {

/// The field of a step; the only field of a variable that does not change. nullptr when there is none.
const engine::FieldRef* field_at(const engine::FieldColumn& column, const met::Step& step) {
  for (const engine::FieldRef& ref : column.fields) {
    if (ref.field.key.step == step) return &ref;
  }
  return column.fields.size() == 1 ? &column.fields.front() : nullptr;
}

}  // namespace

Result<DerivedField::Slot> DerivedPlan::slot_at(std::size_t input, const Times& times) const {
  const InputColumns& columns = inputs_[input];
  const bool previous = definition_->inputs[input].previous;
  DerivedField::Slot slot;
  slot.stagger = columns.stagger;
  slot.is_zero = previous && !times.before.has_value() && !columns.levels.empty();
  if (slot.is_zero) return slot;
  const met::Step& step = previous && times.before.has_value() ? *times.before : times.now;
  bool first = true;
  for (const LevelColumns& level : columns.levels) {
    DerivedField::LevelFields fields;
    fields.field = field_at(*level.column, step);
    if (level.other != nullptr) fields.other = field_at(*level.other, step);
    if (fields.field == nullptr || (level.other != nullptr && fields.other == nullptr)) {
      return Status::not_found("step " + met::format_step(step) + " of '" +
                               std::string(definition_->inputs[input].name) + "' is no longer stored");
    }
    const double maximum = fields.field->field.maximum;
    slot.maximum = first ? maximum : std::max(slot.maximum, maximum);
    first = false;
    slot.levels.push_back(fields);
  }
  return slot;
}

Result<DerivedField> DerivedPlan::at(std::size_t step, engine::CheckBudget* budget) const {
  const Times& times = times_[step];
  DerivedField made;
  made.store_ = store_;
  made.definition_ = definition_;
  made.bucket_mm_ = bucket_mm_;
  made.level_type_ = level_type_;
  made.level_ = level_;
  const engine::FieldRef* const anchor = field_at(*anchor_, times.now);
  if (anchor == nullptr)
    return Status::not_found("step " + met::format_step(times.now) + " is no longer stored");
  made.grid_id_ = anchor->field.grid;
  NVMDB_ASSIGN(made.grid_, store_->catalogue().grid(made.grid_id_));
  const met::Grid& grid = *made.grid_;
  const bool has_rows = std::uint64_t{grid.rows} * grid.columns == grid.points;
  for (std::size_t input = 0; input < inputs_.size(); ++input) {
    NVMDB_ASSIGN(DerivedField::Slot slot, slot_at(input, times));
    const std::uint64_t rows = grid.rows + (slot.stagger == 'Y' ? 1U : 0U);
    const std::uint64_t columns = grid.columns + (slot.stagger == 'X' ? 1U : 0U);
    const std::uint64_t points = has_rows ? rows * columns : grid.points;
    for (const DerivedField::LevelFields& level : slot.levels) {
      for (const engine::FieldRef* ref : {level.field, level.other}) {
        if (ref == nullptr) continue;
        NVMDB_TRY(store_->check(*ref, budget));
        // A nest that moved between the ends of an interval: its points are other places now.
        const bool moved = slot.stagger == ' ' && ref->field.grid != made.grid_id_;
        if (moved && definition_->inputs[input].previous) made.is_missing_ = true;
        if (moved && !definition_->inputs[input].previous) {
          return Status::invalid_argument("'" + std::string(definition_->inputs[input].name) +
                                          "' is on another grid than the rest of what '" +
                                          parameter_.short_name + "' is computed from");
        }
        if (ref->field.points == points && (has_rows || slot.stagger == ' ')) continue;
        return Status::invalid_argument("'" + std::string(definition_->inputs[input].name) + "' has " +
                                        std::to_string(ref->field.points) + " points where " +
                                        std::to_string(points) + " go with " + grid.summary());
      }
    }
    made.slots_.push_back(std::move(slot));
  }
  return made;
}

}  // namespace nvmdb::query
