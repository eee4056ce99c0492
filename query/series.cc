#include <cmath>
#include <limits>

#include "query/engine_state.h"

namespace nvmdb::query {
namespace {

constexpr std::size_t kStepsAhead = 8;    // prefetched while one is read: each is a line of another page
constexpr std::size_t kPointsAhead = 16;  // of them at most

/// Where the points asked are in one grid.
struct PlacedPoints {
  std::vector<GridPoint> nearest;
  std::vector<Stencil> stencils;  // bilinear only

  [[nodiscard]] std::uint64_t first_index(std::size_t point) const {
    return stencils.empty() ? nearest[point].index : stencils[point].corners[0].index;
  }
};

Result<PlacedPoints> place_points(const Geometry& geometry, const SeriesRequest& request) {
  PlacedPoints placed;
  placed.nearest.reserve(request.points.size());
  for (const Point& point : request.points) {
    NVMDB_ASSIGN(const GridPoint nearest, geometry.nearest(point));
    placed.nearest.push_back(nearest);
    if (request.interpolation != Interpolation::Bilinear) continue;
    NVMDB_ASSIGN(const Stencil stencil, geometry.bilinear(point));
    placed.stencils.push_back(stencil);
  }
  return placed;
}

void prefetch_field(const engine::FieldRef& ref, const PlacedPoints& placed) {
  const std::size_t count = std::min(placed.nearest.size(), kPointsAhead);
  for (std::size_t point = 0; point < count; ++point) {
    const std::uint64_t at = placed.first_index(point) * ref.field.encoding.width_bytes;
    if (at < ref.extent.size()) __builtin_prefetch(ref.extent.data() + at);
  }
}

/// A missing corner makes the value missing; a corner that counts nothing is not in the stencil.
float interpolate(const met::Decoder& decoder, const Stencil& stencil) {
  double sum = 0;
  for (std::uint32_t i = 0; i < stencil.count; ++i) {
    sum += stencil.corners[i].weight * static_cast<double>(decoder.at(stencil.corners[i].index));
  }
  return static_cast<float>(sum);
}

/// Reads one step of all points; values of one point are `stride` apart.
void read_step(const met::Decoder& decoder, const PlacedPoints& placed, float* values, std::size_t stride) {
  if (placed.stencils.empty()) {
    for (std::size_t point = 0; point < placed.nearest.size(); ++point) {
      values[point * stride] = decoder.at(placed.nearest[point].index);
    }
    return;
  }
  for (std::size_t point = 0; point < placed.stencils.size(); ++point) {
    values[point * stride] = interpolate(decoder, placed.stencils[point]);
  }
}

Status check_request(const SeriesRequest& request, const QueryLimits& limits) {
  if (request.points.empty()) return Status::invalid_argument("a series needs at least one point");
  if (request.points.size() > limits.points_max) {
    return Status::out_of_space(std::to_string(request.points.size()) + " points are asked for, at most " +
                                std::to_string(limits.points_max) + " are answered at once");
  }
  return Status::ok();
}

}  // namespace

Result<SeriesAnswer> QueryEngine::series(const SeriesRequest& request) {
  State& state = *state_;
  NVMDB_TRY(check_request(request, state.limits));
  NVMDB_ASSIGN(const engine::ReadView view, state.store.view());
  NVMDB_ASSIGN(const auto resolved, state.columns.resolve(view, request.selection));
  NVMDB_ASSIGN(const auto converter, state.converter(resolved->selected.parameter->units, request.units));
  const std::vector<engine::FieldRef>& fields = resolved->column->fields;
  const std::vector<std::uint32_t>& chosen = resolved->fields;
  const std::size_t steps = chosen.size();
  if (steps > state.limits.values_max / request.points.size()) {
    return Status::out_of_space(std::to_string(request.points.size()) + " points of " + std::to_string(steps) +
                                " steps are more than " + std::to_string(state.limits.values_max) + " values");
  }
  engine::GridId grid = fields[chosen[0]].field.grid;
  NVMDB_ASSIGN(auto geometry, state.geometries.get(grid));
  NVMDB_ASSIGN(PlacedPoints placed, place_points(*geometry, request));

  SeriesAnswer answer;
  answer.provenance = state.provenance(*resolved, geometry->grid(), request.units, request.interpolation);
  answer.points.reserve(request.points.size());
  for (std::size_t point = 0; point < request.points.size(); ++point) {
    const GridPoint& nearest = placed.nearest[point];
    answer.points.push_back({request.points[point], nearest.position, nearest.index, nearest.distance_m});
  }
  answer.steps.resize(steps);
  answer.values.resize(steps * request.points.size());
  for (std::size_t step = 0; step < steps; ++step) {
    if (step + kStepsAhead < steps) prefetch_field(fields[chosen[step + kStepsAhead]], placed);
    const engine::FieldRef& ref = fields[chosen[step]];
    if (ref.field.grid != grid) {
      grid = ref.field.grid;
      NVMDB_ASSIGN(geometry, state.geometries.get(grid));
      NVMDB_ASSIGN(placed, place_points(*geometry, request));
    }
    NVMDB_TRY(State::check_field(ref, geometry->grid()));
    answer.steps[step] = ref.field.key.step;
    read_step(ref.decoder(), placed, answer.values.data() + step, steps);
  }
  if (converter.has_value()) converter->convert(answer.values);
  return answer;
}

}  // namespace nvmdb::query
