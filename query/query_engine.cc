#include "query/query_engine.h"

#include "query/engine_state.h"

namespace nvmdb::query {

QueryEngine::QueryEngine(engine::FieldStore& store, const QueryLimits& limits)
    : state_(std::make_unique<State>(store, limits)) {}

QueryEngine::~QueryEngine() = default;

void pin(const Provenance& provenance, Selection& selection) {
  selection.model = provenance.run.key.model;
  selection.domain = provenance.run.key.domain;
  selection.run = provenance.run.key.reference_time;
  selection.version = provenance.run.key.version;
  selection.member = provenance.member;
  selection.level_type = provenance.level_type;
  selection.level = provenance.level;
  selection.level_bottom = provenance.bottom;
}

Provenance QueryEngine::State::provenance(const ResolvedSelection& resolved, const met::Grid& grid,
                                          const std::string& units, Interpolation interpolation) const {
  const SelectedColumn& selected = resolved.selected;
  Provenance from;
  from.run = selected.run;
  from.member = selected.key.member;
  from.parameter = *selected.parameter;
  from.level_type = selected.level_type;
  from.level = selected.key.level;
  from.bottom = selected.key.bottom;
  from.units = units.empty() ? selected.parameter->units : units;
  from.grid_summary = grid.summary();
  from.interpolation = interpolation;
  return from;
}

Result<std::optional<UnitConverter>> QueryEngine::State::converter(const std::string& from,
                                                                   const std::string& to) {
  if (to.empty() || to == from) return std::optional<UnitConverter>();
  const std::string key = from + '\n' + to;
  {
    const MutexLock lock(mutex_);
    if (const auto found = converters_.find(key); found != converters_.end())
      return std::optional(found->second);
  }
  NVMDB_ASSIGN(const UnitConverter made, UnitConverter::create(from, to));
  const MutexLock lock(mutex_);
  if (converters_.size() >= kConvertersMax) converters_.clear();
  converters_.emplace(key, made);
  return std::optional(made);
}

Status QueryEngine::State::check_points(const engine::FieldRef& ref, const met::Grid& grid) {
  if (ref.field.points == grid.points) return Status::ok();
  return Status::corruption("field of " + std::to_string(ref.field.points) + " points on a grid of " +
                            std::to_string(grid.points) + " points (" + grid.summary() + ")");
}

Status QueryEngine::State::check_field(const engine::FieldRef& ref, const met::Grid& grid) const {
  NVMDB_TRY(check_points(ref, grid));
  return store.check(ref);
}

Status QueryEngine::State::check_fields(const ResolvedSelection& resolved, engine::CheckBudget& budget,
                                        const Cancellation* cancellation) const {
  const std::uint64_t generation = store.damage_generation();
  if (resolved.checked_at.load(std::memory_order_acquire) == generation) return Status::ok();
  for (const std::uint32_t index : resolved.fields) {
    NVMDB_TRY(still_wanted(cancellation));
    NVMDB_TRY(store.check(resolved.column->fields[index], &budget));
  }
  resolved.checked_at.store(generation, std::memory_order_release);
  return Status::ok();
}

}  // namespace nvmdb::query
