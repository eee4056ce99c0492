#include <algorithm>
#include <limits>

#include "query/derived_answers.h"
#include "query/engine_state.h"
#include "query/geometry/window.h"
#include "query/place_search.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::query {
namespace {

// Values decoded at a time: what resize() cleared just before is still in the cache when it is written.
constexpr std::uint64_t kChunk = 8192;
// Points of the next row asked for while a row is decoded.
constexpr std::uint64_t kPrefetch = 1024;

/// The field that a slab shows. Errors: InvalidArgument (several intervals end at the step asked).
Result<std::uint32_t> only_field(const SlabRequest& request, const ResolvedSelection& resolved) {
  const Selection& selection = request.selection;
  const bool lone = selection.valid_time.has_value() ||
                    (selection.step.has_value() && !selection.step->all && !selection.step->interval);
  const std::vector<engine::FieldRef>& fields = resolved.column->fields;
  std::vector<std::string> words;
  for (const std::uint32_t field : resolved.fields) {
    std::string word = met::format_step(fields[field].field.key.step);
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  }
  if (lone && words.size() > 1) {
    return Status::invalid_argument(
        "'" + selection.parameter + "' has " + std::to_string(words.size()) +
        " intervals that end there; choose one as the step: " + list_words(words));
  }
  return resolved.fields.front();
}

Status decode_runs(const engine::FieldStore& store, const engine::FieldRef& ref, const std::vector<IndexRun>& runs,
                   std::vector<float>& values, const Cancellation* cancellation) {
  const met::Decoder decoder = ref.decoder();
  constexpr std::uint64_t kValuesPerCheck = 1U << 20U;
  std::uint64_t unchecked = kValuesPerCheck;
  for (std::size_t next = 1; const IndexRun& run : runs) {
    if (next < runs.size()) decoder.prefetch(runs[next].first, std::min(runs[next].count, kPrefetch));
    ++next;
    for (std::uint64_t done = 0; done < run.count; done += kChunk) {
      const std::uint64_t count = std::min(kChunk, run.count - done);
      const std::size_t at = values.size();
      values.resize(at + count);
      ref.charge_read(run.first + done, count);
      const std::span<float> piece = std::span(values).subspan(at, count);
      if (!storage::read_guarded([&] { decoder.run(run.first + done, piece); })) return store.unreadable({&ref, 1});
      unchecked += count;
      if (unchecked < kValuesPerCheck) continue;
      NVMDB_TRY(still_wanted(cancellation));
      unchecked = 0;
    }
  }
  return Status::ok();
}

/// The whole of a grid whose points have no positions.
Window bare_window(const met::Grid& grid) {
  Window window;
  window.rows = grid.rows;
  window.columns = grid.columns;
  window.runs.push_back({0, grid.points});
  return window;
}

Result<SlabAnswer> slab_of(QueryEngine::State& state, const SlabRequest& request, Elsewhere& elsewhere,
                           const Cancellation* cancellation) {
  NVMDB_ASSIGN(const engine::ReadView view, state.store.view());
  NVMDB_ASSIGN(const FoundSelection found, find_selected(state, view, request.selection));
  if (found.computed != nullptr) return derived_slab(state, *found.computed, request, elsewhere, cancellation);
  const std::shared_ptr<const ResolvedSelection>& resolved = found.stored;
  NVMDB_ASSIGN(const auto converter, state.converter(resolved->selected.parameter->units, request.units));
  NVMDB_ASSIGN(const std::uint32_t field, only_field(request, *resolved));
  const engine::FieldRef& ref = resolved->column->fields[field];
  NVMDB_ASSIGN(const auto grid, state.store.catalogue().grid(ref.field.grid));
  NVMDB_TRY(state.check_field(ref, *grid));
  if (!request.box.has_value() && grid->points > state.limits.values_max) {
    return Status::out_of_space("the field has " + std::to_string(grid->points) + " values, at most " +
                                std::to_string(state.limits.values_max) + " are answered; ask for a box");
  }
  Window window;
  if (grid->type == met::GridType::Unlocated && !request.box.has_value()) {
    window = bare_window(*grid);
  } else {
    NVMDB_ASSIGN(const auto geometry, state.geometries.get(ref.field.grid));
    auto cut = request.box.has_value() ? box_window(*geometry, *request.box, state.limits.values_max)
                                       : whole_window(*geometry);
    if (cut.status().code() == Code::NotFound) elsewhere.run = resolved->selected.run;
    NVMDB_ASSIGN(window, std::move(cut));
  }
  SlabAnswer answer;
  answer.provenance = state.provenance(*resolved, *grid, request.units, Interpolation::Nearest);
  answer.step = ref.field.key.step;
  answer.rows = window.rows;
  answer.columns = window.columns;
  answer.rectilinear = window.rectilinear;
  answer.values.reserve(window.rows * window.columns);
  NVMDB_TRY(decode_runs(state.store, ref, window.runs, answer.values, cancellation));
  answer.latitudes = std::move(window.latitudes);
  answer.longitudes = std::move(window.longitudes);
  if (request.clip) {
    for (const std::uint64_t at : window.outside) answer.values[at] = std::numeric_limits<float>::quiet_NaN();
  }
  if (converter.has_value()) converter->convert(answer.values);
  return answer;
}

}  // namespace

Result<SlabAnswer> QueryEngine::slab(const SlabRequest& request, const Cancellation* cancellation) {
  return search_place<SlabAnswer>(*state_, request, [&](const SlabRequest& one, Elsewhere& elsewhere) {
    return slab_of(*state_, one, elsewhere, cancellation);
  });
}

Result<std::vector<SlabRequest>> QueryEngine::slabs(const SlabRequest& request, const Cancellation* cancellation) {
  const bool all = request.selection.step.has_value() && request.selection.step->all;
  if (!all) return std::vector{request};
  // The run that answers is the one that holds the place, at its first step.
  SlabRequest one = request;
  one.selection.step.reset();
  NVMDB_ASSIGN(const SlabAnswer first, slab(one, cancellation));
  pin(first.provenance, one.selection);
  NVMDB_ASSIGN(const engine::ReadView view, state_->store.view());
  NVMDB_ASSIGN(const FoundSelection found, find_selected(*state_, view, one.selection));
  std::vector<SlabRequest> requests;
  for (const met::Step& step : found.stored != nullptr ? found.stored->steps : found.computed->steps()) {
    const met::StepSelector exactly{false, !step.is_instant(), step.start_seconds, step.end_seconds};
    const bool again = !requests.empty() && requests.back().selection.step->interval == exactly.interval &&
                       requests.back().selection.step->start_seconds == exactly.start_seconds &&
                       requests.back().selection.step->end_seconds == exactly.end_seconds;
    if (again) continue;
    one.selection.step = exactly;
    requests.push_back(one);
  }
  return requests;
}

}  // namespace nvmdb::query
