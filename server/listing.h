#pragma once

#include <vector>

#include "engine/catalogue.h"
#include "query/request.h"
#include "server/client.h"
#include "storage/base/result.h"

namespace nvmdb::server {

// Listings of what a catalogue holds. What each uses of a selection: server/client.h.
// Errors: NotFound (nothing stored is like that: the message says what was looked for), Corruption.

[[nodiscard]] Result<std::vector<engine::Run>> list_runs(const engine::Catalogue& catalogue,
                                                         const query::Selection& selection);
[[nodiscard]] Result<std::vector<ModelRow>> list_models(const engine::Catalogue& catalogue,
                                                        const query::Selection& selection);
[[nodiscard]] Result<std::vector<ParameterRow>> list_parameters(const engine::Catalogue& catalogue,
                                                                const query::Selection& selection);
[[nodiscard]] Result<std::vector<StepRow>> list_steps(const engine::Catalogue& catalogue,
                                                      const query::Selection& selection);
[[nodiscard]] Result<std::vector<GridRow>> list_grids(const engine::Catalogue& catalogue,
                                                      const query::Selection& selection);

/// The NotFound that a listing gives when nothing fits `selection`.
[[nodiscard]] Status nothing_matches(const query::Selection& selection);

}  // namespace nvmdb::server
