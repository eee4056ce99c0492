#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/output.h"
#include "server/client.h"
#include "storage/base/status.h"

namespace nvmdb::cli {

// Listings as tables: text, csv, json.

[[nodiscard]] Status write_models(const std::vector<server::ModelRow>& rows, Format format, Output& output);
[[nodiscard]] Status write_runs(const std::vector<engine::Run>& rows, Format format, Output& output);
[[nodiscard]] Status write_parameters(const std::vector<server::ParameterRow>& rows, Format format,
                                      Output& output);
[[nodiscard]] Status write_steps(const std::vector<server::StepRow>& rows, Format format, Output& output);
[[nodiscard]] Status write_grids(const std::vector<server::GridRow>& rows, Format format, Output& output);
/// JSON: an object of sections.
[[nodiscard]] Status write_info(const std::vector<server::InfoItem>& items, Format format, Output& output);

/// Events are lines, told as they come; JSON is one object a line.
[[nodiscard]] std::string event_header(Format format);
/// "step_visible", "run_dropped", ...
[[nodiscard]] std::string_view event_name(engine::Event::Kind kind);
[[nodiscard]] std::string event_line(const engine::Event& event, Format format);

}  // namespace nvmdb::cli
