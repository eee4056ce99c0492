#pragma once

#include <memory>

#include "query/derived_plan.h"
#include "query/engine_state.h"
#include "query/place_search.h"
#include "query/point_placer.h"

namespace nvmdb::query {

/// What a selection means: fields that are stored, or a way to compute them. One of them.
struct FoundSelection {
  std::shared_ptr<const ResolvedSelection> stored;
  std::unique_ptr<const DerivedPlan> computed;
};

/// What the newest run that can answer stores wins over what it can compute, and either over an older run.
/// Errors: those of select_column(); NotFound (no run stores it or what it is computed from), InvalidArgument
/// (a name
///         that stands for several parameters).
[[nodiscard]] Result<FoundSelection> find_selected(QueryEngine::State& state, const engine::ReadView& view,
                                                   const Selection& selection);

/// Where an answer of one level and one step comes from.
[[nodiscard]] Provenance provenance_of(const DerivedPlan& plan, const met::Grid& grid, const std::string& units,
                                       Interpolation interpolation);
/// Values of a derived parameter at the points asked; those of one point are `stride` apart.
/// Errors: DeadlineExceeded (asked between pieces).
[[nodiscard]] Status compute_points(const DerivedField& field, const Geometry& geometry, const PlacedPoints& placed,
                                    float* values, std::size_t stride, bool is_direction,
                                    const Cancellation* cancellation);

// The questions, of a derived parameter. Errors: as those of QueryEngine; where the run does not hold the
// place asked, it is put into `elsewhere`.

[[nodiscard]] Result<SeriesAnswer> derived_series(QueryEngine::State& state, const DerivedPlan& plan,
                                                  const SeriesRequest& request, Elsewhere& elsewhere,
                                                  const Cancellation* cancellation);
[[nodiscard]] Result<SlabAnswer> derived_slab(QueryEngine::State& state, const DerivedPlan& plan,
                                              const SlabRequest& request, Elsewhere& elsewhere,
                                              const Cancellation* cancellation);

}  // namespace nvmdb::query
