#include <algorithm>
#include <utility>

#include "cli/answer_writer.h"
#include "cli/number_text.h"
#include "cli/table.h"
#include "engine/met/level.h"
#include "engine/met/time.h"

namespace nvmdb::cli {
namespace {

Cell number_cell(float value) {
  if (value != value) return std::monostate{};
  std::string text;
  append_number(text, value);
  return text;
}

Status write_facts(const Facts& facts, Output& output) {
  for (const auto& [name, text] : facts) NVMDB_TRY(output.write("# " + name + ": " + text + "\n"));
  return Status::ok();
}

Status write_series_text(const query::SeriesAnswer& answer, Output& output) {
  NVMDB_TRY(write_facts(facts_of(answer.provenance), output));
  const bool many = answer.points.size() > 1;
  const bool intervals = has_intervals(answer.steps);
  std::vector<std::string> columns = {"valid_time", "step"};
  if (intervals) columns.push_back("step_type");
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    const query::LocatedPoint& point = answer.points[i];
    NVMDB_TRY(output.write("# point" + (many ? " " + std::to_string(i + 1) : std::string()) + ": " +
                           number_text(point.asked.latitude) + "," + number_text(point.asked.longitude) +
                           " at grid point " + number_text(point.grid.latitude) + "," +
                           number_text(point.grid.longitude) + ", index " + std::to_string(point.index) +
                           ", " + std::to_string(static_cast<std::int64_t>(point.distance_m + 0.5)) +
                           " m away\n"));
    columns.push_back(many ? "point " + std::to_string(i + 1) : answer.provenance.parameter.short_name);
  }
  Table table(columns);
  for (std::size_t s = 0; s < answer.steps.size(); ++s) {
    const met::Step& step = answer.steps[s];
    std::vector<Cell> row = {met::format_time(answer.provenance.run.key.reference_time + step.end_seconds),
                             met::format_step(step)};
    if (intervals) row.push_back(std::string(met::process_name(step.process)));
    for (std::size_t p = 0; p < answer.points.size(); ++p) {
      row.push_back(number_cell(answer.values[p * answer.steps.size() + s]));
    }
    table.add(std::move(row));
  }
  return table.write(Format::Text, output);
}

Status write_slab_text(const query::SlabAnswer& answer, Output& output) {
  NVMDB_TRY(write_facts(facts_of(answer), output));
  Table table({"lat", "lon", "value"});
  for (std::size_t i = 0; i < answer.values.size(); ++i) {
    const query::Point point = position_of(answer, i);
    table.add({point.latitude, point.longitude, number_cell(answer.values[i])});
  }
  return table.write(Format::Text, output);
}

}  // namespace

Facts facts_of(const query::Provenance& provenance) {
  return {{"model", provenance.run.key.model},
          {"domain", provenance.run.key.domain},
          {"run", met::format_run_time(provenance.run.key.reference_time)},
          {"member", std::to_string(provenance.member)},
          {"param", provenance.parameter.short_name},
          {"level_type", provenance.level_type},
          {"level", met::format_level(provenance.level, provenance.bottom)},
          {"units", provenance.units},
          {"grid", provenance.grid_summary}};
}

namespace {

/// The facts with those of one step among them.
Facts facts_at(const query::Provenance& provenance, const met::Step& step) {
  Facts facts = facts_of(provenance);
  const auto after_member = facts.begin() + 4;
  Facts when = {{"step", met::format_step(step)},
                {"valid_time", met::format_time(provenance.run.key.reference_time + step.end_seconds)}};
  if (!step.is_instant()) when.insert(when.begin() + 1, {"step_type", std::string(met::process_name(step.process))});
  facts.insert(after_member, when.begin(), when.end());
  return facts;
}

std::string place_text(const query::Point& point) {
  return number_text(point.latitude) + "," + number_text(point.longitude);
}

}  // namespace

Facts facts_of(const query::SlabAnswer& answer) { return facts_at(answer.provenance, answer.step); }

Facts facts_of(const query::CurtainAnswer& answer) {
  Facts facts = facts_at(answer.provenance, answer.step);
  for (auto& [name, text] : facts) {
    if (name != "level") continue;
    name = "levels";
    text = answer.vertical == query::Vertical::Stored ? "stored" : answer.level_units;
  }
  if (answer.points.size() == 1) {
    facts.emplace_back("at", place_text(answer.points[0].asked));
    facts.emplace_back("grid_point", place_text(answer.points[0].grid));
  }
  return facts;
}

bool has_intervals(const std::vector<met::Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const met::Step& step) { return !step.is_instant(); });
}

std::vector<double> continuous_longitudes(const query::SlabAnswer& answer) {
  std::vector<double> longitudes = answer.longitudes;
  if (!answer.rectilinear) return longitudes;
  for (std::size_t i = 1; i < longitudes.size(); ++i) {
    while (longitudes[i] < longitudes[i - 1] - 180.0) longitudes[i] += 360.0;
  }
  return longitudes;
}

Status write_series_csv(const query::SeriesAnswer& answer, Output& output) {
  const bool intervals = has_intervals(answer.steps);
  NVMDB_TRY(
      output.write("model,run,member,param,level_type,level,lat,lon,grid_lat,grid_lon,step_seconds,valid_"
                   "time,value,units"));
  NVMDB_TRY(output.write(intervals ? ",step_start_seconds,step_type\n" : "\n"));
  const query::Provenance& provenance = answer.provenance;
  std::string source;
  append_csv(source, provenance.run.key.model);
  source += ',' + met::format_run_time(provenance.run.key.reference_time) + ',' +
            std::to_string(provenance.member) + ',';
  append_csv(source, provenance.parameter.short_name);
  source += ',';
  append_csv(source, provenance.level_type);
  source += ',' + met::format_level(provenance.level, provenance.bottom) + ',';
  std::string units = ",";
  append_csv(units, provenance.units);
  for (std::size_t p = 0; p < answer.points.size(); ++p) {
    const query::LocatedPoint& point = answer.points[p];
    const std::string place = number_text(point.asked.latitude) + ',' + number_text(point.asked.longitude) +
                              ',' + number_text(point.grid.latitude) + ',' +
                              number_text(point.grid.longitude) + ',';
    for (std::size_t s = 0; s < answer.steps.size(); ++s) {
      const std::int64_t seconds = answer.steps[s].end_seconds;
      std::string line = source + place;
      append_number(line, seconds);
      line += ',' + met::format_time(provenance.run.key.reference_time + seconds) + ',';
      append_number(line, answer.values[p * answer.steps.size() + s]);
      line += units;
      if (intervals) {
        line += ',';
        append_number(line, answer.steps[s].start_seconds);
        line += ',' + std::string(met::process_name(answer.steps[s].process));
      }
      NVMDB_TRY(output.write(line + '\n'));
    }
  }
  return Status::ok();
}

namespace {

/// A line for each value, all beginning with `prefix`.
Status write_values_csv(const query::SlabAnswer& answer, const std::string& prefix, Output& output) {
  std::string line;
  for (std::size_t i = 0; i < answer.values.size(); ++i) {
    const query::Point point = position_of(answer, i);
    line = prefix;
    append_number(line, point.latitude);
    line += ',';
    append_number(line, point.longitude);
    line += ',';
    append_number(line, answer.values[i]);
    line += '\n';
    NVMDB_TRY(output.write(line));
  }
  return Status::ok();
}

/// "start,end,valid time,": the first columns of the table of all steps.
std::string step_columns(const query::SlabAnswer& answer) {
  std::string text;
  append_number(text, answer.step.start_seconds);
  text += ',';
  append_number(text, answer.step.end_seconds);
  return text + ',' + met::format_time(answer.provenance.run.key.reference_time + answer.step.end_seconds) + ',';
}

}  // namespace

Status write_slab_csv(const query::SlabAnswer& answer, Output& output) {
  NVMDB_TRY(write_facts(facts_of(answer), output));
  NVMDB_TRY(output.write("lat,lon,value\n"));
  return write_values_csv(answer, "", output);
}

namespace {

std::string level_text(const query::CurtainAnswer& answer, std::size_t level) {
  return met::format_level(answer.levels[level], answer.bottoms[level]);
}

/// A line for each value; of a section beginning with where it is.
Status write_curtain_csv(const query::CurtainAnswer& answer, bool section, Output& output) {
  NVMDB_TRY(write_facts(facts_of(answer), output));
  NVMDB_TRY(output.write(section ? "distance_m,lat,lon,level,value\n" : "level,value\n"));
  for (std::size_t p = 0; p < answer.points.size(); ++p) {
    std::string place;
    if (section) {
      append_number(place, answer.distances_m[p]);
      place += ',' + place_text(answer.points[p].asked) + ',';
    }
    for (std::size_t l = 0; l < answer.levels.size(); ++l) {
      std::string line = place + level_text(answer, l) + ',';
      append_number(line, answer.values[p * answer.levels.size() + l]);
      NVMDB_TRY(output.write(line + '\n'));
    }
  }
  return Status::ok();
}

Status write_curtain_text(const query::CurtainAnswer& answer, bool section, Output& output) {
  NVMDB_TRY(write_facts(facts_of(answer), output));
  Table table(section ? std::vector<std::string>{"distance_m", "lat", "lon", "level", "value"}
                      : std::vector<std::string>{"level", "value"});
  for (std::size_t p = 0; p < answer.points.size(); ++p) {
    for (std::size_t l = 0; l < answer.levels.size(); ++l) {
      std::vector<Cell> row;
      const query::Point& place = answer.points[p].asked;
      if (section) row = {answer.distances_m[p], place.latitude, place.longitude};
      row.emplace_back(level_text(answer, l));
      row.push_back(number_cell(answer.values[p * answer.levels.size() + l]));
      table.add(std::move(row));
    }
  }
  return table.write(Format::Text, output);
}

}  // namespace

Status write_profile(const query::CurtainAnswer& answer, Format format, Output& output) {
  if (format == Format::Text) return write_curtain_text(answer, false, output);
  if (format == Format::Csv) return write_curtain_csv(answer, false, output);
  if (format == Format::Json) return write_profile_json(answer, output);
  NVMDB_ASSIGN(const std::string bytes, profile_netcdf(answer));
  return output.write(bytes);
}

Status write_section(const query::CurtainAnswer& answer, Format format, Output& output) {
  if (format == Format::Text) return write_curtain_text(answer, true, output);
  if (format == Format::Csv) return write_curtain_csv(answer, true, output);
  if (format == Format::Json) return write_section_json(answer, output);
  NVMDB_ASSIGN(const std::string bytes, section_netcdf(answer));
  return output.write(bytes);
}

Status SlabWriter::add(const query::SlabAnswer& answer) {
  const bool first = !std::exchange(begun_, true);
  if (format_ == Format::Text) {
    if (!first) NVMDB_TRY(output_.write("\n"));
    return write_slab_text(answer, output_);
  }
  if (format_ == Format::Csv) {
    if (first) {
      NVMDB_TRY(write_facts(facts_of(answer.provenance), output_));
      NVMDB_TRY(output_.write("step_start_seconds,step_seconds,valid_time,lat,lon,value\n"));
    }
    return write_values_csv(answer, step_columns(answer), output_);
  }
  if (first) {
    first_ = answer;
  } else if (answer.latitudes != first_.latitudes || answer.longitudes != first_.longitudes ||
             answer.rows != first_.rows || answer.rectilinear != first_.rectilinear) {
    return Status::invalid_argument("the grid moves at step " + met::format_step(answer.step) +
                                    ": ask for one step at a time, or use --format csv");
  }
  steps_.push_back(answer.step);
  values_.insert(values_.end(), answer.values.begin(), answer.values.end());
  return Status::ok();
}

Status SlabWriter::finish() {
  if (format_ == Format::Json) return write_slabs_json(first_, steps_, values_, output_);
  if (format_ != Format::Netcdf) return Status::ok();
  NVMDB_ASSIGN(const std::string bytes, slabs_netcdf(first_, steps_, values_));
  return output_.write(bytes);
}

Status write_series(const query::SeriesAnswer& answer, Format format, Output& output) {
  switch (format) {
    case Format::Text:
      return write_series_text(answer, output);
    case Format::Csv:
      return write_series_csv(answer, output);
    case Format::Json:
      return write_series_json(answer, output);
    case Format::Netcdf:
      break;
  }
  NVMDB_ASSIGN(const std::string bytes, series_netcdf(answer));
  return output.write(bytes);
}

Status write_slab(const query::SlabAnswer& answer, Format format, Output& output) {
  switch (format) {
    case Format::Text:
      return write_slab_text(answer, output);
    case Format::Csv:
      return write_slab_csv(answer, output);
    case Format::Json:
      return write_slab_json(answer, output);
    case Format::Netcdf:
      break;
  }
  NVMDB_ASSIGN(const std::string bytes, slab_netcdf(answer));
  return output.write(bytes);
}

}  // namespace nvmdb::cli
