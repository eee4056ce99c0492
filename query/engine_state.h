#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "query/column_cache.h"
#include "query/geometry_cache.h"
#include "query/query_engine.h"
#include "query/units.h"

namespace nvmdb::query {

/// What the questions share.
struct QueryEngine::State {
  State(engine::FieldStore& field_store, const QueryLimits& query_limits)
      : store(field_store), limits(query_limits), columns(field_store), geometries(field_store.catalogue()) {}

  [[nodiscard]] Provenance provenance(const ResolvedSelection& resolved, const met::Grid& grid,
                                      const std::string& units, Interpolation interpolation) const;
  /// Nothing when there is nothing to convert. Errors: InvalidArgument.
  [[nodiscard]] Result<std::optional<UnitConverter>> converter(const std::string& from,
                                                               const std::string& to);
  /// Errors: Corruption (the field has not the grid's number of points).
  [[nodiscard]] static Status check_points(const engine::FieldRef& ref, const met::Grid& grid);
  /// To be called before a field is read.
  /// Errors: Corruption (the field has not the grid's number of points, or does not match its checksum).
  [[nodiscard]] Status check_field(const engine::FieldRef& ref, const met::Grid& grid) const;
  /// Compares all fields chosen with their checksums, if they were not yet; else it costs one load.
  /// Errors: Corruption, Overloaded (`budget` is used up), DeadlineExceeded.
  [[nodiscard]] Status check_fields(const ResolvedSelection& resolved, engine::CheckBudget& budget,
                                    const Cancellation* cancellation) const;

  engine::FieldStore& store;
  const QueryLimits limits;
  ColumnCache columns;
  GeometryCache geometries;

 private:
  static constexpr std::size_t kConvertersMax = 256;
  Mutex mutex_;
  std::unordered_map<std::string, UnitConverter> converters_ NVMDB_GUARDED_BY(mutex_);
};

}  // namespace nvmdb::query
