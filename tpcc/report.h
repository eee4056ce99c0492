#pragma once

#include <string>

#include "tpcc/trial.h"

namespace nvmdb::tpcc {

/// For people: a table of lines.
[[nodiscard]] std::string report_text(const TrialOptions& options, const TrialResult& result);
/// One JSON object.
[[nodiscard]] std::string report_json(const TrialOptions& options, const TrialResult& result);

}  // namespace nvmdb::tpcc
