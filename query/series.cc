#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "query/derived_answers.h"
#include "query/engine_state.h"
#include "query/place_search.h"
#include "query/point_placer.h"
#include "storage/device/read_hook.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::query {
namespace {

constexpr std::size_t kStepsAhead = 8;  // prefetched while one is read: each is a line of another page
constexpr std::size_t kPlainAhead = 32;
constexpr std::size_t kPointsAhead = 16;  // of them at most
/// From so many points on they are read in the order of the field, some steps at a time.
constexpr std::size_t kManyPoints = 128;
constexpr std::size_t kStepsAtATime = 16;
constexpr std::size_t kPointsPerCheck = 1024;

void prefetch_field(const engine::FieldRef& ref, const PlacedPoints& placed) {
  const std::size_t count = std::min(placed.indexes.size(), kPointsAhead);
  for (std::size_t point = 0; point < count; ++point) {
    const std::uint64_t index = placed.first_index(point);
    if (index == PlacedPoints::kOutside) continue;
    const std::uint64_t at = index * ref.field.encoding.width_bytes;
    if (at < ref.extent.size()) __builtin_prefetch(ref.extent.data() + at);
  }
}

/// Reads one step of all points; values of one point are `stride` apart. Runs under a guard: see
/// storage/nvm/media_guard.h.
void read_step(const engine::FieldRef& ref, const PlacedPoints& placed, float* values, std::size_t stride) {
  const met::Decoder decoder = ref.decoder();
  const auto value_at = [&](std::uint64_t index) {
    ref.charge_read(index, 1);
    return decoder.at(index);
  };
  if (placed.stencils.empty()) {
    for (std::size_t point = 0; point < placed.indexes.size(); ++point) {
      const std::uint64_t index = placed.indexes[point];
      values[point * stride] = index == PlacedPoints::kOutside ? PlacedPoints::kMissing : value_at(index);
    }
    return;
  }
  for (std::size_t point = 0; point < placed.stencils.size(); ++point) {
    values[point * stride] =
        interpolate(value_at, placed.stencils[point]);
  }
}

/// Reads all steps of all points where each step is a plain array of floats. Runs under a guard.
void read_plain(const std::vector<const std::byte*>& steps, const std::vector<std::uint64_t>& indexes,
                std::vector<float>& values) {
  for (std::size_t point = 0; point < indexes.size(); ++point) {
    float* const out = values.data() + point * steps.size();
    if (indexes[point] == PlacedPoints::kOutside) {
      std::fill_n(out, steps.size(), PlacedPoints::kMissing);
      continue;
    }
    const std::size_t at = indexes[point] * sizeof(float);
    // The lines are of as many pages: what limits is how many the machine looks up at a time.
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (step + kPlainAhead < steps.size()) __builtin_prefetch(steps[step + kPlainAhead] + at);
      storage::charge_nvm_read(steps[step] + at, sizeof(float));
      std::memcpy(out + step, steps[step] + at, sizeof(float));
    }
  }
}

/// Steps [first, last) of the points that `order` names. Runs under a guard.
void read_some_plain(const std::vector<const std::byte*>& steps, std::size_t first, std::size_t last,
                     const std::vector<std::uint64_t>& indexes, std::span<const std::uint32_t> order,
                     std::vector<float>& values) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    float* const out = values.data() + order[i] * steps.size();
    const std::uint64_t index = indexes[order[i]];
    if (index == PlacedPoints::kOutside) {
      std::fill(out + first, out + last, PlacedPoints::kMissing);
      continue;
    }
    const std::uint64_t ahead = i + 4 < order.size() ? indexes[order[i + 4]] : PlacedPoints::kOutside;
    for (std::size_t step = first; step < last; ++step) {
      if (ahead != PlacedPoints::kOutside) __builtin_prefetch(steps[step] + ahead * sizeof(float));
      std::memcpy(out + step, steps[step] + index * sizeof(float), sizeof(float));
    }
  }
}

/// The same of many points: page after page of a few steps at a time, so that each page is looked up once.
/// Errors: DeadlineExceeded, Corruption.
Status read_many_plain(const engine::FieldStore& store, const ResolvedSelection& resolved,
                       const std::vector<std::uint64_t>& indexes, std::vector<float>& values,
                       const Cancellation* cancellation) {
  const std::vector<const std::byte*>& steps = resolved.plain;
  std::vector<std::uint32_t> order(indexes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return indexes[a] < indexes[b]; });
  for (std::size_t first = 0; first < steps.size(); first += kStepsAtATime) {
    const std::size_t last = std::min(first + kStepsAtATime, steps.size());
    for (std::size_t done = 0; done < order.size(); done += kPointsPerCheck) {
      NVMDB_TRY(still_wanted(cancellation));
      const auto some = std::span(order).subspan(done, std::min(kPointsPerCheck, order.size() - done));
      if (!storage::read_guarded([&] { read_some_plain(steps, first, last, indexes, some, values); })) {
        return store.unreadable(resolved.column->fields);
      }
    }
  }
  return Status::ok();
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
    } else if (placed.indexes[point] == PlacedPoints::kOutside) {
      std::fill_n(out, chosen.size(), PlacedPoints::kMissing);
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

Result<SeriesAnswer> series_of(State& state, const SeriesRequest& request, Elsewhere& elsewhere,
                               const Cancellation* cancellation) {
  NVMDB_ASSIGN(const engine::ReadView view, state.store.view());
  NVMDB_ASSIGN(const FoundSelection found, find_selected(state, view, request.selection));
  if (found.computed != nullptr && request.only_short) return Status::overloaded("the parameter is computed");
  if (found.computed != nullptr) return derived_series(state, *found.computed, request, elsewhere, cancellation);
  const std::shared_ptr<const ResolvedSelection>& resolved = found.stored;
  NVMDB_ASSIGN(const auto converter, state.converter(resolved->selected.parameter->units, request.units));
  const std::vector<engine::FieldRef>& fields = resolved->column->fields;
  const std::vector<std::uint32_t>& chosen = resolved->fields;
  const std::size_t steps = chosen.size();
  const std::uint64_t values_max =
      request.values_max == 0 ? state.limits.values_max : std::min(request.values_max, state.limits.values_max);
  if (steps > values_max / request.points.size()) {
    return Status::out_of_space(std::to_string(request.points.size()) + " points of " +
                                std::to_string(steps) + " steps are more than " +
                                std::to_string(values_max) + " values");
  }
  engine::GridId grid = fields[chosen[0]].field.grid;
  if (request.only_short && !state.geometries.is_prepared(grid)) {
    return Status::overloaded("the grid was not used before");
  }
  NVMDB_ASSIGN(auto geometry, state.geometries.get(grid));
  PointPlacer placer(request.points, request.interpolation);
  PlacedPoints placed = placer.place(*geometry);

  SeriesAnswer answer;
  answer.provenance = state.provenance(*resolved, geometry->grid(), request.units, request.interpolation);
  answer.steps = resolved->steps;
  answer.values.resize(steps * request.points.size());
  state.columns.note_series(*resolved);
  const auto hot = resolved->hot.lock();
  const bool plain = hot == nullptr && !resolved->plain.empty() && placed.stencils.empty();
  engine::CheckBudget budget{request.check_bytes_max};
  // A copy was made of fields that were whole.
  if (hot == nullptr) NVMDB_TRY(state.check_fields(*resolved, budget, cancellation));
  if (hot != nullptr) {
    NVMDB_TRY(State::check_points(fields[chosen[0]], geometry->grid()));
    read_hot(*hot, chosen, placed, answer.values);
  } else if (plain) {
    NVMDB_TRY(State::check_points(fields[chosen[0]], geometry->grid()));
    if (placed.indexes.size() >= kManyPoints) {
      NVMDB_TRY(read_many_plain(state.store, *resolved, placed.indexes, answer.values, cancellation));
    } else if (!storage::read_guarded([&] { read_plain(resolved->plain, placed.indexes, answer.values); })) {
      return state.store.unreadable(fields);
    }
  }
  for (std::size_t step = hot != nullptr || plain ? steps : 0; step < steps; ++step) {
    NVMDB_TRY(still_wanted(cancellation));
    if (step + kStepsAhead < steps) prefetch_field(fields[chosen[step + kStepsAhead]], placed);
    const engine::FieldRef& ref = fields[chosen[step]];
    if (ref.field.grid != grid) {
      grid = ref.field.grid;
      NVMDB_ASSIGN(geometry, state.geometries.get(grid));
      placed = placer.place(*geometry);
    }
    NVMDB_TRY(State::check_points(ref, geometry->grid()));
    if (!storage::read_guarded([&] { read_step(ref, placed, answer.values.data() + step, steps); })) {
      return state.store.unreadable({&ref, 1});
    }
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

Result<SeriesAnswer> QueryEngine::series(const SeriesRequest& request, const Cancellation* cancellation) {
  NVMDB_TRY(check_request(request, state_->limits));
  return search_place<SeriesAnswer>(*state_, request, [&](const SeriesRequest& one, Elsewhere& elsewhere) {
    return series_of(*state_, one, elsewhere, cancellation);
  });
}

}  // namespace nvmdb::query
