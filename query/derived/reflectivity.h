#pragma once

#include <vector>

#include "query/derived/definition.h"

namespace nvmdb::query::derived {

/// dbz, mdbz and maxdbz.
[[nodiscard]] std::vector<Definition> reflectivity_definitions();

}  // namespace nvmdb::query::derived
