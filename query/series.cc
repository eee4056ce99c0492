#include <algorithm>
#include <cstring>
#include <limits>

#include "query/engine_state.h"
#include "query/place_search.h"

namespace nvmdb::query {
namespace {

constexpr std::size_t kStepsAhead = 8;  // prefetched while one is read: each is a line of another page
constexpr std::size_t kPlainAhead = 32;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kPointsAhead = 16;  // of them at most

constexpr std::uint64_t kOutside = std::numeric_limits<std::uint64_t>::max();

/// Where the points asked are in one grid.
struct PlacedPoints {
  std::vector<std::uint64_t> indexes;  // of the nearest grid point, or kOutside
  std::vector<Stencil> stencils;       // bilinear only; none of its corners counts when the point is outside

  [[nodiscard]] std::uint64_t first_index(std::size_t point) const {
    return stencils.empty() ? indexes[point] : stencils[point].corners[0].index;
  }
};

/// Places the points asked in each grid that the steps have: a moving nest has another one at each step.
class PointPlacer {
 public:
  explicit PointPlacer(const SeriesRequest& request)
      : request_(request), found_(request.points.size(), false), located_(request.points.size()) {
    for (std::size_t i = 0; i < request.points.size(); ++i) located_[i].asked = request.points[i];
  }

  [[nodiscard]] PlacedPoints place(const Geometry& geometry) {
    PlacedPoints placed;
    placed.indexes.assign(request_.points.size(), kOutside);
    const bool bilinear = request_.interpolation == Interpolation::Bilinear;
    if (bilinear) placed.stencils.resize(request_.points.size());
    for (std::size_t i = 0; i < request_.points.size(); ++i) {
      const auto nearest = geometry.nearest(request_.points[i]);
      const auto stencil =
          bilinear && nearest.is_ok() ? geometry.bilinear(request_.points[i]) : Result<Stencil>(Stencil{});
      if (!nearest.is_ok() || !stencil.is_ok()) continue;
      placed.indexes[i] = nearest->index;
      if (bilinear) placed.stencils[i] = *stencil;
      if (found_[i]) continue;
      found_[i] = true;
      located_[i] = {request_.points[i], nearest->position, nearest->index, nearest->distance_m};
    }
    return placed;
  }

  /// Where each point was first found.
  /// Errors: InvalidArgument (a point is outside the grids of all steps; `last` is the last of them).
  [[nodiscard]] Result<std::vector<LocatedPoint>> located(const Geometry& last) {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i]) continue;
      NVMDB_TRY(last.nearest(request_.points[i]).status());
      NVMDB_TRY(last.bilinear(request_.points[i]).status());
    }
    return std::move(located_);
  }

 private:
  const SeriesRequest& request_;
  std::vector<bool> found_;
  std::vector<LocatedPoint> located_;
};

void prefetch_field(const engine::FieldRef& ref, const PlacedPoints& placed) {
  const std::size_t count = std::min(placed.indexes.size(), kPointsAhead);
  for (std::size_t point = 0; point < count; ++point) {
    const std::uint64_t index = placed.first_index(point);
    if (index == kOutside) continue;
    const std::uint64_t at = index * ref.field.encoding.width_bytes;
    if (at < ref.extent.size()) __builtin_prefetch(ref.extent.data() + at);
  }
}

/// A missing corner makes the value missing; a corner that counts nothing is not in the stencil.
template <class ValueAt>
float interpolate(const ValueAt& value_at, const Stencil& stencil) {
  if (stencil.count == 0) return kMissing;
  double sum = 0;
  for (std::uint32_t i = 0; i < stencil.count; ++i) {
    sum += stencil.corners[i].weight * static_cast<double>(value_at(stencil.corners[i].index));
  }
  return static_cast<float>(sum);
}

/// Reads one step of all points; values of one point are `stride` apart.
void read_step(const met::Decoder& decoder, const PlacedPoints& placed, float* values, std::size_t stride) {
  if (placed.stencils.empty()) {
    for (std::size_t point = 0; point < placed.indexes.size(); ++point) {
      const std::uint64_t index = placed.indexes[point];
      values[point * stride] = index == kOutside ? kMissing : decoder.at(index);
    }
    return;
  }
  for (std::size_t point = 0; point < placed.stencils.size(); ++point) {
    values[point * stride] =
        interpolate([&](std::uint64_t index) { return decoder.at(index); }, placed.stencils[point]);
  }
}

/// Reads all steps of all points where each step is a plain array of floats.
void read_plain(const std::vector<const std::byte*>& steps, const std::vector<std::uint64_t>& indexes,
                std::vector<float>& values) {
  for (std::size_t point = 0; point < indexes.size(); ++point) {
    float* const out = values.data() + point * steps.size();
    if (indexes[point] == kOutside) {
      std::fill_n(out, steps.size(), kMissing);
      continue;
    }
    const std::size_t at = indexes[point] * sizeof(float);
    // The lines are of as many pages: what limits is how many the machine looks up at a time.
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (step + kPlainAhead < steps.size()) __builtin_prefetch(steps[step + kPlainAhead] + at);
      std::memcpy(out + step, steps[step] + at, sizeof(float));
    }
  }
}

/// Reads all steps of all points from a copy made for series. `chosen`: which steps of the column, in its order.
void read_hot(const engine::HotColumn& hot, const std::vector<std::uint32_t>& chosen, const PlacedPoints& placed,
              std::vector<float>& values) {
  const bool one_range = chosen.back() - chosen.front() + 1 == chosen.size();
  for (std::size_t point = 0; point < placed.indexes.size(); ++point) {
    float* const out = values.data() + point * chosen.size();
    if (!placed.stencils.empty()) {
      const Stencil& stencil = placed.stencils[point];
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        out[i] = interpolate([&](std::uint64_t index) { return hot.series(index)[chosen[i]]; }, stencil);
      }
    } else if (placed.indexes[point] == kOutside) {
      std::fill_n(out, chosen.size(), kMissing);
    } else if (const float* const from = hot.series(placed.indexes[point]); one_range) {
      std::memcpy(out, from + chosen.front(), chosen.size() * sizeof(float));
    } else {
      for (std::size_t i = 0; i < chosen.size(); ++i) out[i] = from[chosen[i]];
    }
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

using State = QueryEngine::State;

Result<SeriesAnswer> series_of(State& state, const SeriesRequest& request, Elsewhere& elsewhere) {
  NVMDB_ASSIGN(const engine::ReadView view, state.store.view());
  NVMDB_ASSIGN(const auto resolved, state.columns.resolve(view, request.selection));
  NVMDB_ASSIGN(const auto converter, state.converter(resolved->selected.parameter->units, request.units));
  const std::vector<engine::FieldRef>& fields = resolved->column->fields;
  const std::vector<std::uint32_t>& chosen = resolved->fields;
  const std::size_t steps = chosen.size();
  if (steps > state.limits.values_max / request.points.size()) {
    return Status::out_of_space(std::to_string(request.points.size()) + " points of " +
                                std::to_string(steps) + " steps are more than " +
                                std::to_string(state.limits.values_max) + " values");
  }
  engine::GridId grid = fields[chosen[0]].field.grid;
  NVMDB_ASSIGN(auto geometry, state.geometries.get(grid));
  PointPlacer placer(request);
  PlacedPoints placed = placer.place(*geometry);

  SeriesAnswer answer;
  answer.provenance = state.provenance(*resolved, geometry->grid(), request.units, request.interpolation);
  answer.steps = resolved->steps;
  answer.values.resize(steps * request.points.size());
  state.columns.note_series(*resolved);
  const auto hot = resolved->hot.lock();
  const bool plain = hot == nullptr && !resolved->plain.empty() && placed.stencils.empty();
  if (hot != nullptr) {
    NVMDB_TRY(State::check_field(fields[chosen[0]], geometry->grid()));
    read_hot(*hot, chosen, placed, answer.values);
  } else if (plain) {
    NVMDB_TRY(State::check_field(fields[chosen[0]], geometry->grid()));
    read_plain(resolved->plain, placed.indexes, answer.values);
  }
  for (std::size_t step = hot != nullptr || plain ? steps : 0; step < steps; ++step) {
    if (step + kStepsAhead < steps) prefetch_field(fields[chosen[step + kStepsAhead]], placed);
    const engine::FieldRef& ref = fields[chosen[step]];
    if (ref.field.grid != grid) {
      grid = ref.field.grid;
      NVMDB_ASSIGN(geometry, state.geometries.get(grid));
      placed = placer.place(*geometry);
    }
    NVMDB_TRY(State::check_field(ref, geometry->grid()));
    read_step(ref.decoder(), placed, answer.values.data() + step, steps);
  }
  auto located = placer.located(*geometry);
  if (!located.is_ok()) {
    elsewhere.run = resolved->selected.run;
    return located.status();
  }
  answer.points = std::move(located).value();
  if (converter.has_value()) converter->convert(answer.values);
  return answer;
}

}  // namespace

Result<SeriesAnswer> QueryEngine::series(const SeriesRequest& request) {
  NVMDB_TRY(check_request(request, state_->limits));
  return search_place<SeriesAnswer>(*state_, request, [this](const SeriesRequest& one, Elsewhere& elsewhere) {
    return series_of(*state_, one, elsewhere);
  });
}

}  // namespace nvmdb::query
