#include "query/derived_answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "query/geometry/window.h"
#include "query/point_placer.h"

namespace nvmdb::query {
namespace {

constexpr double kDegree = 3.141592653589793 / 180.0;

/// The mean of directions: that of unit vectors. Missing where they cancel.
float mean_direction(std::span<const float> corners, const Stencil& stencil) {
  double east = 0;
  double north = 0;
  for (std::uint32_t i = 0; i < stencil.count; ++i) {
    const double angle = static_cast<double>(corners[i]) * kDegree;
    east += stencil.corners[i].weight * std::sin(angle);
    north += stencil.corners[i].weight * std::cos(angle);
  }
  if (!(std::hypot(east, north) > 1e-9)) return PlacedPoints::kMissing;
  const double degrees = std::atan2(east, north) / kDegree;
  return static_cast<float>(degrees < 0 ? degrees + 360.0 : degrees);
}

/// Errors: DeadlineExceeded (asked between pieces).
Status compute_pieces(const DerivedField& field, const Geometry& geometry, std::span<const std::uint64_t> points,
                      std::span<float> values, const Cancellation* cancellation) {
  constexpr std::size_t kPiece = 4096;
  for (std::size_t done = 0; done < points.size(); done += kPiece) {
    NVMDB_TRY(still_wanted(cancellation));
    const std::size_t count = std::min(kPiece, points.size() - done);
    NVMDB_TRY(field.compute(&geometry, points.subspan(done, count), values.subspan(done, count)));
  }
  return Status::ok();
}


Status check_amount(const QueryLimits& limits, std::size_t points, std::size_t steps) {
  if (points == 0) return Status::invalid_argument("no point is asked for");
  if (points > limits.points_max || steps > limits.values_max / points) {
    return Status::out_of_space(std::to_string(points) + " points of " + std::to_string(steps) +
                                " steps are more than are answered at once");
  }
  return Status::ok();
}

/// The step that a slab shows. Errors: InvalidArgument (several intervals end at the step asked).
Result<std::size_t> only_step(const DerivedPlan& plan, const Selection& selection) {
  const bool lone = selection.valid_time.has_value() ||
                    (selection.step.has_value() && !selection.step->all && !selection.step->interval);
  if (!lone || plan.steps().size() == 1) return std::size_t{0};
  std::vector<std::string> words;
  for (const met::Step& step : plan.steps()) words.push_back(met::format_step(step));
  return Status::invalid_argument("'" + selection.parameter + "' has " + std::to_string(words.size()) +
                                  " intervals that end there; choose one as the step: " + list_words(words));
}

Status is_several(const std::string& name) {
  std::vector<std::string> words;
  for (const std::string_view part : derived::parts_of(name)) words.emplace_back(part);
  return Status::invalid_argument("'" + name +
                                  "' stands for several parameters; choose one: " + list_words(words));
}

/// How to compute what is selected; nullptr when the newest run that can answer stores it, or nobody knows
/// how to compute such a parameter: then it is to be looked up as usual.
Result<std::unique_ptr<const DerivedPlan>> find_derived(QueryEngine::State& state,
                                                        const engine::ReadView& view,
                                                        const Selection& selection) {
  using Found = std::unique_ptr<const DerivedPlan>;
  const auto definitions = derived::definitions_named(selection.parameter);
  const bool is_group = definitions.empty() && !derived::parts_of(selection.parameter).empty();
  if (definitions.empty() && !is_group) return Found();
  NVMDB_ASSIGN(const auto runs, state.store.catalogue().runs());
  std::optional<Status> failure;
  for (const engine::Run& run : runs) {
    if (!fits(selection, run)) continue;
    NVMDB_ASSIGN(const auto index, state.columns.index_of(run));
    if (!rows_named(*index, selection.parameter).empty()) {
      const auto stored = select_column(selection, {run}, [&](const engine::Run&) { return index; });
      // What is stored is answered, and so is an ambiguity; only where nothing fits may a computed one.
      if (stored.is_ok() || stored.status().code() != Code::NotFound) return Found();
    }
    for (const derived::Definition* definition : definitions) {
      if (definition->format != run.format) continue;
      auto plan = DerivedPlan::make(state.store, view, *definition, selection, *index);
      if (plan.is_ok()) return Found(std::make_unique<const DerivedPlan>(std::move(plan).value()));
      if (plan.status().code() != Code::NotFound) return plan.status();
      if (!failure.has_value()) failure = plan.status();
    }
  }
  if (is_group) return is_several(selection.parameter);
  if (failure.has_value()) return *failure;
  return Found();
}

}  // namespace

Provenance provenance_of(const DerivedPlan& plan, const met::Grid& grid, const std::string& units,
                         Interpolation interpolation) {
  Provenance from;
  from.run = plan.run();
  from.member = plan.member();
  from.parameter = plan.parameter();
  from.level_type = plan.level_type();
  from.level = plan.level();
  from.bottom = plan.bottom();
  from.units = units.empty() ? plan.parameter().units : units;
  from.grid_summary = grid.summary();
  from.interpolation = interpolation;
  return from;
}

Status compute_points(const DerivedField& field, const Geometry& geometry, const PlacedPoints& placed,
                    float* values, std::size_t stride, bool is_direction,
                      const Cancellation* cancellation) {
  std::vector<std::uint64_t> points;
  for (std::size_t i = 0; i < placed.indexes.size(); ++i) {
    if (placed.indexes[i] == PlacedPoints::kOutside) continue;
    if (placed.stencils.empty()) points.push_back(placed.indexes[i]);
    for (std::uint32_t c = 0; !placed.stencils.empty() && c < placed.stencils[i].count; ++c)
      points.push_back(placed.stencils[i].corners[c].index);
  }
  std::vector<float> computed(points.size());
  NVMDB_TRY(compute_pieces(field, geometry, points, computed, cancellation));
  std::size_t next = 0;
  for (std::size_t i = 0; i < placed.indexes.size(); ++i) {
    float& value = values[i * stride];
    value = PlacedPoints::kMissing;
    if (placed.indexes[i] == PlacedPoints::kOutside) continue;
    if (placed.stencils.empty()) {
      value = computed[next++];
      continue;
    }
    const Stencil& stencil = placed.stencils[i];
    const std::span<const float> corners = std::span(computed).subspan(next, stencil.count);
    next += stencil.count;
    std::size_t corner = 0;
    value = is_direction ? mean_direction(corners, stencil)
                         : interpolate([&](std::uint64_t) { return corners[corner++]; }, stencil);
  }
  return Status::ok();
}
Result<FoundSelection> find_selected(QueryEngine::State& state, const engine::ReadView& view,
                                     const Selection& selection) {
  FoundSelection found;
  // Only what this function asked for is known there, so that nothing computed was to be preferred.
  found.stored = state.columns.known(view, selection);
  if (found.stored != nullptr) return found;
  NVMDB_ASSIGN(found.computed, find_derived(state, view, selection));
  if (found.computed != nullptr) return found;
  NVMDB_ASSIGN(found.stored, state.columns.resolve(view, selection));
  return found;
}

Result<SeriesAnswer> derived_series(QueryEngine::State& state, const DerivedPlan& plan,
                                    const SeriesRequest& request, Elsewhere& elsewhere,
                                    const Cancellation* cancellation) {
  const std::size_t steps = plan.steps().size();
  QueryLimits limits = state.limits;
  if (request.values_max != 0) limits.values_max = std::min(limits.values_max, request.values_max);
  NVMDB_TRY(check_amount(limits, request.points.size(), steps));
  NVMDB_ASSIGN(const auto converter, state.converter(plan.parameter().units, request.units));
  SeriesAnswer answer;
  answer.steps = plan.steps();
  answer.values.resize(request.points.size() * steps);
  PointPlacer placer(request.points, request.interpolation);
  PlacedPoints placed;
  std::shared_ptr<const Geometry> geometry;
  engine::GridId grid = 0;
  engine::CheckBudget budget{request.check_bytes_max};
  for (std::size_t step = 0; step < steps; ++step) {
    NVMDB_ASSIGN(const DerivedField field, plan.at(step, &budget));
    if (geometry == nullptr || field.grid_id() != grid) {
      grid = field.grid_id();
      NVMDB_ASSIGN(geometry, state.geometries.get(grid));
      placed = placer.place(*geometry);
    }
    if (step == 0)
      answer.provenance = provenance_of(plan, field.grid(), request.units, request.interpolation);
    NVMDB_TRY(compute_points(field, *geometry, placed, answer.values.data() + step, steps,
                             plan.definition().is_direction, cancellation));
  }
  auto located = placer.located(*geometry);
  if (!located.is_ok()) elsewhere.run = plan.run();
  NVMDB_ASSIGN(answer.points, std::move(located));
  if (converter.has_value()) converter->convert(answer.values);
  return answer;
}

Result<SlabAnswer> derived_slab(QueryEngine::State& state, const DerivedPlan& plan,
                                const SlabRequest& request, Elsewhere& elsewhere,
                                const Cancellation* cancellation) {
  NVMDB_ASSIGN(const auto converter, state.converter(plan.parameter().units, request.units));
  NVMDB_ASSIGN(const std::size_t step, only_step(plan, request.selection));
  NVMDB_ASSIGN(const DerivedField field, plan.at(step));
  if (!request.box.has_value() && field.grid().points > state.limits.values_max)
    return Status::out_of_space("the field has " + std::to_string(field.grid().points) +
                                " values; ask for a box");
  NVMDB_ASSIGN(const auto geometry, state.geometries.get(field.grid_id()));
  auto cut = request.box.has_value() ? box_window(*geometry, *request.box, state.limits.values_max)
                                     : whole_window(*geometry);
  if (cut.status().code() == Code::NotFound) elsewhere.run = plan.run();
  NVMDB_ASSIGN(Window window, std::move(cut));
  std::vector<std::uint64_t> points;
  points.reserve(window.rows * window.columns);
  for (const IndexRun& run : window.runs) {
    for (std::uint64_t i = 0; i < run.count; ++i) points.push_back(run.first + i);
  }
  SlabAnswer answer;
  answer.provenance = provenance_of(plan, field.grid(), request.units, Interpolation::Nearest);
  answer.step = plan.steps()[step];
  answer.rows = window.rows;
  answer.columns = window.columns;
  answer.rectilinear = window.rectilinear;
  answer.latitudes = std::move(window.latitudes);
  answer.longitudes = std::move(window.longitudes);
  answer.values.resize(points.size());
  NVMDB_TRY(compute_pieces(field, *geometry, points, answer.values, cancellation));
  if (request.clip) {
    for (const std::uint64_t at : window.outside) answer.values[at] = std::numeric_limits<float>::quiet_NaN();
  }
  if (converter.has_value()) converter->convert(answer.values);
  return answer;
}

}  // namespace nvmdb::query
