#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/field_store.h"
#include "query/request.h"
#include "query/run_index.h"

namespace nvmdb::query {

/// The one column that a selection means.
struct SelectedColumn {
  engine::Run run;
  engine::ColumnKey key;
  std::shared_ptr<const met::Parameter> parameter;
  std::string level_type;
};

/// Gives what a run holds.
using IndexOfRun = std::function<Result<std::shared_ptr<const RunIndex>>(const engine::Run&)>;

/// Finds the newest of `runs` (in the catalogue's order) that has what is asked, and in it the one column.
/// Names are taken as the run has them first, then as paramIds ("167") or "name:discriminator", then as
/// aliases (query/alias.h). Errors: NotFound (says which part of the selection fits nothing, and what there
/// is), InvalidArgument (several
///         parameters, level types or levels fit: lists them).
[[nodiscard]] Result<SelectedColumn> select_column(const Selection& selection,
                                                   const std::vector<engine::Run>& runs,
                                                   const IndexOfRun& index_of);

/// The rows of the parameter `name`, as select_column() understands names; of any member, level type and level.
[[nodiscard]] std::vector<const RunIndex::Row*> rows_named(const RunIndex& index, const std::string& name);

/// Indexes of the steps that are asked. Where a lone step or a valid time is asked, instants win over
/// intervals that end there.
[[nodiscard]] std::vector<std::uint32_t> select_steps(const Selection& selection,
                                                      met::UnixSeconds reference_time,
                                                      const std::vector<met::Step>& steps);

/// Words for a selection that fits no step: what was asked and which steps, or valid times, there are.
[[nodiscard]] Status no_such_step(const Selection& selection, const engine::RunKey& run,
                                  const std::vector<met::Step>& steps);
/// Whether a run is one of those that a selection allows.
[[nodiscard]] bool fits(const Selection& selection, const engine::Run& run);

/// "a, b, c": at most `limit` words, then how many more there are.
[[nodiscard]] std::string list_words(const std::vector<std::string>& words, std::size_t limit = 10);

}  // namespace nvmdb::query
