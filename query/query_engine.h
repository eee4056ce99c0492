#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/field_store.h"
#include "query/answer.h"
#include "query/request.h"
#include "storage/base/cancellation.h"
#include "storage/base/result.h"

namespace nvmdb::query {

/// Bounds of one request.
struct QueryLimits {
  std::uint64_t values_max = 256ULL << 20U;
  std::uint64_t points_max = 100'000;
};

/// Answers questions from the field store. The server and the embedded client use this same class.
/// Errors: NotFound (no run, parameter, level or step like that: the message lists what there is),
/// InvalidArgument
///         (ambiguous selection, a point outside the grid: named with the grid's bounds; grid without
///         positions; units that do not convert), OutOfSpace (over a limit), Corruption, DeadlineExceeded (cancelled).
/// Threads: any number.
class QueryEngine {
 public:
  QueryEngine(engine::FieldStore& store, const QueryLimits& limits);
  ~QueryEngine();
  QueryEngine(const QueryEngine&) = delete;
  QueryEngine& operator=(const QueryEngine&) = delete;

  /// `cancellation` is asked between pieces of long work; nullptr: nobody cancels it.
  [[nodiscard]] Result<SeriesAnswer> series(const SeriesRequest& request, const Cancellation* cancellation = nullptr);
  [[nodiscard]] Result<SlabAnswer> slab(const SlabRequest& request, const Cancellation* cancellation = nullptr);
  [[nodiscard]] Result<CurtainAnswer> profile(const ProfileRequest& request);
  /// Errors: also InvalidArgument (ends that are one place or opposite ones, too few points).
  [[nodiscard]] Result<CurtainAnswer> section(const SectionRequest& request);
  /// The slabs that a request for all steps means, one request for each step, in their order, all of the same
  /// run, parameter and level; of any other request, that one.
  [[nodiscard]] Result<std::vector<SlabRequest>> slabs(const SlabRequest& request,
                                                       const Cancellation* cancellation = nullptr);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::query
