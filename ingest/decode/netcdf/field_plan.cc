#include "ingest/decode/netcdf/field_plan.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace nvmdb::ingest::netcdf {
namespace {

std::string level_type_of(const std::string& dimension) {
  if (dimension == "bottom_top") return "eta";
  if (dimension == "bottom_top_stag") return "eta_stag";
  if (dimension == "soil_layers_stag" || dimension == "soil_layers") return "soil";
  return dimension;
}

met::Parameter describe_parameter(const Variable& variable) {
  met::Parameter parameter;
  parameter.short_name = variable.name;
  parameter.long_name = attribute_text(variable.attributes, "description");
  if (parameter.long_name.empty()) parameter.long_name = attribute_text(variable.attributes, "long_name");
  parameter.units = attribute_text(variable.attributes, "units");
  parameter.origin = "wrf";
  parameter.stagger = attribute_text(variable.attributes, "stagger");
  return parameter;
}

/// The dimensions [first, last) of a variable as text, "bottom_top x south_north".
std::string dimension_names(const Dataset& dataset, const Variable& variable, std::size_t first,
                            std::size_t last, const char* between) {
  std::string text;
  for (std::size_t i = first; i < last; ++i) {
    if (!text.empty()) text += between;
    text += dataset.dimensions[variable.dimensions[i]].name;
  }
  return text;
}

void plan_located(const Dataset& dataset, const Variable& variable, FieldPlan& plan) {
  const std::size_t rank = variable.dimensions.size();
  const std::size_t first = plan.in_frames ? 1 : 0;
  plan.horizontal = HorizontalPair{variable.dimensions[rank - 2], variable.dimensions[rank - 1]};
  plan.rows = dataset.dimensions[variable.dimensions[rank - 2]].size;
  plan.columns = dataset.dimensions[variable.dimensions[rank - 1]].size;
  for (std::size_t i = first; i < rank - 2; ++i)
    plan.levels *= dataset.dimensions[variable.dimensions[i]].size;
  plan.level_numbered = rank - 2 > first;
  if (!plan.level_numbered) {
    plan.level_type = "surface";
  } else if (rank - 2 == first + 1) {
    plan.level_type = level_type_of(dataset.dimensions[variable.dimensions[first]].name);
  } else {
    plan.level_type = dimension_names(dataset, variable, first, rank - 2, "+");
  }
}

void plan_unlocated(const Dataset& dataset, const Variable& variable, FieldPlan& plan) {
  const std::size_t rank = variable.dimensions.size();
  const std::size_t first = plan.in_frames ? 1 : 0;
  plan.level_type = "none";
  for (std::size_t i = first; i < rank; ++i) {
    const std::uint64_t size = dataset.dimensions[variable.dimensions[i]].size;
    if (i + 1 == rank) {
      plan.columns = size;
    } else {
      plan.rows *= size;
    }
  }
  plan.unlocated = first == rank ? "a single value without a position"
                                 : "values along " + dimension_names(dataset, variable, first, rank, " x ") +
                                       ", which is not a map";
}

Status check_plan(const FieldPlan& plan, const Variable& variable, const FrameTable& frames,
                  const DecodeLimits& limits) {
  if (!variable.unreadable.empty()) return Status::invalid_argument(variable.unreadable);
  if (plan.points() == 0 || plan.levels == 0)
    return Status::invalid_argument("it has no values: a dimension has size 0");
  if (plan.rows > UINT32_MAX || plan.columns > UINT32_MAX || plan.points() > limits.field_bytes_max / 4)
    return Status::invalid_argument("a field of " + std::to_string(plan.points()) +
                                    " points is larger than the limit of " +
                                    std::to_string(limits.field_bytes_max) + " bytes");
  if (!plan.in_frames && !frames.is_static && frames.frames.empty())
    return Status::invalid_argument("the file has no complete frame whose time it could take");
  return Status::ok();
}

std::string model_of(const Dataset& dataset) {
  const std::string title = attribute_text(dataset.attributes, "TITLE");
  if (title.find("GEOGRID") != std::string::npos) return "geo_em";
  if (title.find("METGRID") != std::string::npos) return "met_em";
  const bool wrf = title.find("WRF") != std::string::npos ||
                   find_attribute(dataset.attributes, "MAP_PROJ") != nullptr ||
                   dataset.find_variable("XLAT") != nullptr || dataset.find_variable("Times") != nullptr;
  return wrf ? "wrf" : "netcdf";
}

}  // namespace

FilePlan plan_fields(const ValueSource& source, const FrameTable& frames, const DecodeLimits& limits) {
  const Dataset& dataset = source.dataset();
  FilePlan file;
  for (std::uint32_t i = 0; i < dataset.variables.size(); ++i) {
    const Variable& variable = dataset.variables[i];
    const std::string where = "variable " + variable.name;
    if (variable.type == ValueType::Char || variable.type == ValueType::String) continue;
    FieldPlan plan;
    plan.variable = i;
    plan.in_frames = !variable.dimensions.empty() && variable.dimensions[0] == frames.time_dimension;
    plan.parameter = describe_parameter(variable);
    plan.conversion = plan_conversion(variable, source.is_big_endian(i));
    const bool map = has_horizontal_dimensions(dataset, variable) &&
                     variable.dimensions.size() >= (plan.in_frames ? 3U : 2U);
    if (map) {
      plan_located(dataset, variable, plan);
    } else {
      plan_unlocated(dataset, variable, plan);
    }
    if (const Status status = check_plan(plan, variable, frames, limits); !status.is_ok()) {
      file.rejected.push_back({where, status});
      continue;
    }
    if (map && plan.in_frames) plan.frames_together = source.frames_together(i);
    file.fields.push_back(std::move(plan));
  }
  return file;
}

DecodedRun describe_run(const Dataset& dataset, const FrameTable& frames) {
  DecodedRun run;
  run.format = "wrf";
  run.model = model_of(dataset);
  std::optional<double> id = attribute_number(dataset.attributes, "GRID_ID");
  if (!id) id = attribute_number(dataset.attributes, "grid_id");
  const int number = id && *id >= 1 && *id <= 99 ? static_cast<int>(*id) : 1;
  std::array<char, 16> domain{};
  std::snprintf(domain.data(), domain.size(), "d%02d", number);
  run.domain = domain.data();
  run.reference_time = frames.reference_time;
  run.significance = frames.significance;
  run.attributes = attributes_to_json(dataset.attributes);
  return run;
}

}  // namespace nvmdb::ingest::netcdf
