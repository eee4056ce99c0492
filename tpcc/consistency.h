#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/database.h"
#include "storage/base/result.h"
#include "tpcc/journal.h"

namespace nvmdb::tpcc {

/// Outcome of one condition.
struct ConditionResult {
  std::string name;  ///< "C1" to "C12" of clause 3.3.2; "E..." for ours
  std::string what;
  std::uint64_t checked = 0;   ///< warehouses, districts, rows: what the condition is about
  std::uint64_t violated = 0;
  std::string first_violation;
};

struct CheckResult {
  std::vector<ConditionResult> conditions;
  [[nodiscard]] bool passed() const;
  /// "C3: ..." of the first condition that is violated; empty when all hold.
  [[nodiscard]] std::string first_violation() const;
};

/// Checks the twelve consistency conditions of clause 3.3.2 and our own on all rows; nobody may write meanwhile. Money
/// is compared exactly. With a journal, also that all that it holds is in the database.
/// Errors: NotFound (not loaded), those of reading. A violated condition is no error.
[[nodiscard]] Result<CheckResult> check_consistency(engine::Database& database, const Journal* journal = nullptr);

}  // namespace nvmdb::tpcc
