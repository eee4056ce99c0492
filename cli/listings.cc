#include "cli/listings.h"

#include "cli/number_text.h"
#include "cli/table.h"
#include "engine/met/level.h"
#include "engine/met/step.h"
#include "engine/met/time.h"
#include "query/geometry/sphere.h"
#include "storage/base/size_text.h"

namespace nvmdb::cli {
namespace {

std::string_view state_name(engine::RunState state) {
  switch (state) {
    case engine::RunState::Open:
      return "open";
    case engine::RunState::Complete:
      return "complete";
    case engine::RunState::Dropping:
      return "dropping";
  }
  return "unknown";
}

/// People read sizes; programs read bytes.
Cell bytes_cell(std::uint64_t bytes, Format format) {
  if (format == Format::Text) return format_size(bytes);
  return bytes;
}

std::string level_list(const std::vector<server::LevelValue>& levels, Format format) {
  constexpr std::size_t kShown = 6;
  const bool cut = format == Format::Text && levels.size() > kShown + 2;
  std::string text;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (cut && i == kShown - 1) {
      text += " ...";
      i = levels.size() - 1;
    }
    text += (text.empty() ? "" : " ") + met::format_level(levels[i].value, levels[i].bottom);
  }
  return text;
}

std::string member_list(const std::vector<std::uint32_t>& members) {
  std::string text;
  for (std::size_t i = 0; i < members.size(); ++i) {
    // Neighbours as a range.
    std::size_t last = i;
    while (last + 1 < members.size() && members[last + 1] == members[last] + 1) ++last;
    text += (text.empty() ? "" : " ") + std::to_string(members[i]);
    if (last > i) text += "-" + std::to_string(members[last]);
    i = last;
  }
  return text;
}

std::string step_range(const server::ParameterRow& row) {
  if (row.step_count <= 1) return met::format_step(row.first_step);
  return met::format_step(row.first_step) + " to " + met::format_step(row.last_step);
}

const std::vector<std::string> kEventColumns = {"sequence", "kind",         "model",          "domain", "run",
                                                "version",  "step_seconds", "fields_changed", "at"};

std::vector<Cell> event_cells(const engine::Event& event) {
  const bool of_step =
      event.kind == engine::Event::Kind::StepVisible || event.kind == engine::Event::Kind::StepReplaced;
  return {event.sequence,
          std::string(event_name(event.kind)),
          event.run_key.model,
          event.run_key.domain,
          met::format_run_time(event.run_key.reference_time),
          event.run_key.version,
          of_step ? Cell(event.step_end_seconds) : Cell(),
          std::uint64_t{event.fields_changed},
          met::format_time(event.at)};
}

std::string joined(const std::vector<std::string>& texts, Format format) {
  std::string out;
  for (const std::string& text : texts) {
    if (!out.empty()) out += format == Format::Csv ? "," : "  ";
    if (format == Format::Csv) {
      append_csv(out, text);
    } else {
      out += text;
    }
  }
  return out + "\n";
}

}  // namespace

std::string_view event_name(engine::Event::Kind kind) {
  switch (kind) {
    case engine::Event::Kind::StepVisible:
      return "step_visible";
    case engine::Event::Kind::StepReplaced:
      return "step_replaced";
    case engine::Event::Kind::RunComplete:
      return "run_complete";
    case engine::Event::Kind::RunDropped:
      return "run_dropped";
  }
  return "unknown";
}

Status write_models(const std::vector<server::ModelRow>& rows, Format format, Output& output) {
  Table table({"model", "domain", "format", "runs", "oldest_run", "newest_run", "fields", "bytes"});
  for (const server::ModelRow& row : rows) {
    table.add({row.model, row.domain, row.format, row.run_count, met::format_run_time(row.oldest_run),
               met::format_run_time(row.newest_run), row.field_count, bytes_cell(row.field_bytes, format)});
  }
  return table.write(format, output);
}

Status write_runs(const std::vector<engine::Run>& rows, Format format, Output& output) {
  Table table(
      {"model", "domain", "run", "version", "state", "location", "format", "fields", "bytes", "changed_at"});
  for (const engine::Run& run : rows) {
    table.add({run.key.model, run.key.domain, met::format_run_time(run.key.reference_time), run.key.version,
               std::string(state_name(run.state)),
               run.location == engine::RunLocation::Archive ? "archive" : "nvm", run.format, run.field_count,
               bytes_cell(run.field_bytes, format), met::format_time(run.changed_at)});
  }
  return table.write(format, output);
}

Status write_parameters(const std::vector<server::ParameterRow>& rows, Format format, Output& output) {
  Table table({"model", "domain", "run", "param", "long_name", "units", "level_type", "levels", "members",
               "step_count", "steps", "grid"});
  for (const server::ParameterRow& row : rows) {
    table.add({row.run.model, row.run.domain, met::format_run_time(row.run.reference_time),
               row.parameter.short_name, row.parameter.long_name, row.parameter.units, row.level_type,
               level_list(row.levels, format), member_list(row.members), row.step_count, step_range(row),
               row.grid_summary});
  }
  return table.write(format, output);
}

Status write_steps(const std::vector<server::StepRow>& rows, Format format, Output& output) {
  Table table({"model", "domain", "run", "step", "step_seconds", "valid_time", "fields"});
  for (const server::StepRow& row : rows) {
    table.add({row.run.model, row.run.domain, met::format_run_time(row.run.reference_time),
               met::format_step(row.step), row.step.end_seconds, met::format_time(row.valid_time),
               row.field_count});
  }
  return table.write(format, output);
}

Status write_grids(const std::vector<server::GridRow>& rows, Format format, Output& output) {
  if (format == Format::Text) {
    Table table({"model", "domain", "run", "grid", "points", "step", "example_param"});
    for (const server::GridRow& row : rows) {
      table.add({row.run.model, row.run.domain, met::format_run_time(row.run.reference_time), row.summary,
                 row.grid.points, number_text(row.grid.column_step) + " x " + number_text(row.grid.row_step),
                 row.example_parameter});
    }
    return table.write(format, output);
  }
  Table table({"model",
               "domain",
               "run",
               "type",
               "summary",
               "columns",
               "rows",
               "points",
               "first_latitude",
               "first_longitude",
               "last_latitude",
               "last_longitude",
               "column_step",
               "row_step",
               "standard_longitude",
               "true_latitude1",
               "true_latitude2",
               "south_pole_latitude",
               "south_pole_longitude",
               "gaussian_number",
               "earth_semi_major",
               "earth_semi_minor",
               "wrf_map_projection",
               "description",
               "field_columns",
               "example_param"});
  for (const server::GridRow& row : rows) {
    const met::Grid& grid = row.grid;
    table.add({row.run.model,
               row.run.domain,
               met::format_run_time(row.run.reference_time),
               std::string(met::grid_type_name(grid.type)),
               row.summary,
               std::uint64_t{grid.columns},
               std::uint64_t{grid.rows},
               grid.points,
               grid.first_latitude,
               query::output_longitude(grid.first_longitude),
               grid.last_latitude,
               query::output_longitude(grid.last_longitude),
               grid.column_step,
               grid.row_step,
               query::output_longitude(grid.standard_longitude),
               grid.true_latitude1,
               grid.true_latitude2,
               grid.south_pole_latitude,
               query::output_longitude(grid.south_pole_longitude),
               std::uint64_t{grid.gaussian_number},
               grid.earth_semi_major,
               grid.earth_semi_minor,
               std::int64_t{grid.wrf_map_projection},
               grid.description,
               row.field_columns,
               row.example_parameter});
  }
  return table.write(format, output);
}

Status write_info(const std::vector<server::InfoItem>& items, Format format, Output& output) {
  if (format == Format::Json) {
    std::string out = "{";
    std::string section;
    for (const server::InfoItem& item : items) {
      if (item.section != section) {
        out += section.empty() ? "\n  " : "},\n  ";
        section = item.section;
        append_json(out, section);
        out += ": {";
      } else {
        out += ", ";
      }
      append_json(out, item.unit.empty() ? item.name : item.name + "_" + item.unit);
      out += ": ";
      if (const auto* text = std::get_if<std::string>(&item.value)) {
        append_json(out, *text);
      } else {
        out += std::to_string(std::get<std::uint64_t>(item.value));
      }
    }
    return output.write(out + (section.empty() ? "}\n" : "}\n}\n"));
  }
  Table table({"section", "name", "value", "unit"});
  for (const server::InfoItem& item : items) {
    const auto* text = std::get_if<std::string>(&item.value);
    if (text != nullptr) {
      table.add({item.section, item.name, *text, item.unit});
      continue;
    }
    const std::uint64_t number = std::get<std::uint64_t>(item.value);
    if (format == Format::Text && item.unit == "bytes") {
      table.add({item.section, item.name, format_size(number), ""});
    } else {
      table.add({item.section, item.name, std::to_string(number), item.unit});
    }
  }
  return table.write(format, output);
}

std::string event_header(Format format) {
  return format == Format::Json ? "" : joined(kEventColumns, format);
}

std::string event_line(const engine::Event& event, Format format) {
  const std::vector<Cell> cells = event_cells(event);
  if (format == Format::Json) {
    JsonLine line;
    for (std::size_t i = 0; i < cells.size(); ++i) line.add(kEventColumns[i], cells[i]);
    return line.text() + "\n";
  }
  std::vector<std::string> texts;
  for (const Cell& cell : cells) texts.push_back(cell_text(cell));
  return joined(texts, format);
}

}  // namespace nvmdb::cli
