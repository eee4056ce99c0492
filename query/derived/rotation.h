#pragma once

#include <vector>

#include "query/derived/definition.h"

namespace nvmdb::query::derived {

/// helicity (srh) and updraft_helicity (uhel).
[[nodiscard]] std::vector<Definition> rotation_definitions();

}  // namespace nvmdb::query::derived
