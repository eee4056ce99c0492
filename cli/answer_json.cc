#include <span>

#include "cli/answer_writer.h"
#include "cli/number_text.h"
#include "engine/met/level.h"
#include "engine/met/time.h"

namespace nvmdb::cli {
namespace {

constexpr const char* kGeographic =
    R"({"coordinates":["x","y"],"system":{"type":"GeographicCRS","id":"http://www.opengis.net/def/crs/OGC/1.3/CRS84"}})";
constexpr const char* kTemporal =
    R"({"coordinates":["t"],"system":{"type":"TemporalRS","calendar":"Gregorian"}})";

std::string json_string(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

template <class Number>
void append_list(std::string& out, std::span<const Number> values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    append_json_number(out, values[i]);
  }
  out += ']';
}

/// {"type":"NdArray",...}: `axes` and `shape` are JSON lists.
template <class Number>
std::string nd_array(const std::string& axes, const std::string& shape, std::span<const Number> values) {
  std::string out = R"({"type":"NdArray","dataType":"float","axisNames":)" + axes + R"(,"shape":)" + shape +
                    R"(,"values":)";
  append_list(out, values);
  return out + '}';
}

std::string parameter_json(const std::string& name, const std::string& label, const std::string& units) {
  return json_string(name) + R"(:{"type":"Parameter","description":{"en":)" + json_string(label) +
         R"(},"unit":{"symbol":)" + json_string(units) + R"(},"observedProperty":{"id":)" +
         json_string(name) + R"(,"label":{"en":)" + json_string(label) + "}}}";
}

std::string parameter_json(const query::Provenance& provenance) {
  const met::Parameter& parameter = provenance.parameter;
  return parameter_json(parameter.short_name,
                        parameter.long_name.empty() ? parameter.short_name : parameter.long_name,
                        provenance.units);
}

/// What CoverageJSON has no place for: run, member, level, grid.
std::string source_json(const Facts& facts, const std::string& more = "") {
  std::string out = "{";
  for (const auto& [name, text] : facts)
    out += (out.size() > 1 ? "," : "") + json_string(name) + ":" + json_string(text);
  return out + more + "}";
}

/// The t axis: when each step ends and, where there are intervals, the bounds of each.
std::string times_json(met::UnixSeconds reference, const std::vector<met::Step>& steps) {
  std::string ends;
  std::string bounds;
  for (const met::Step& step : steps) {
    const std::string end = json_string(met::format_time(reference + step.end_seconds));
    ends += (ends.empty() ? "" : ",") + end;
    bounds += (bounds.empty() ? "" : ",") + json_string(met::format_time(reference + step.start_seconds)) + "," + end;
  }
  return R"({"values":[)" + ends + "]" + (has_intervals(steps) ? R"(,"bounds":[)" + bounds + "]" : "") + "}";
}

/// How values over intervals were combined, one word for each step; nothing where all are instants.
std::string step_types_json(const std::vector<met::Step>& steps) {
  if (!has_intervals(steps)) return "";
  std::string out;
  for (const met::Step& step : steps)
    out += (out.empty() ? "" : ",") + json_string(met::process_name(step.process));
  return R"(,"nvmdb:step_types":[)" + out + "]";
}

std::string point_coverage(const query::SeriesAnswer& answer, std::size_t index, const std::string& times) {
  const query::LocatedPoint& point = answer.points[index];
  // Where the values hold: interpolated ones at the point asked, others at their grid point.
  const bool interpolated = answer.provenance.interpolation == query::Interpolation::Bilinear;
  const query::Point& place = interpolated ? point.asked : point.grid;
  const std::size_t count = answer.steps.size();
  std::string out =
      R"({"type":"Coverage","domain":{"type":"Domain","domainType":"PointSeries","axes":{"x":{"values":[)" +
      number_text(place.longitude) + R"(]},"y":{"values":[)" + number_text(place.latitude) +
      R"(]},"t":)" + times + R"(},"referencing":[)" + kGeographic + "," + kTemporal + "]}";
  out += R"(,"nvmdb:asked":{"lat":)" + number_text(point.asked.latitude) + R"(,"lon":)" +
         number_text(point.asked.longitude) + R"(},"nvmdb:grid_point":{"lat":)" +
         number_text(point.grid.latitude) + R"(,"lon":)" + number_text(point.grid.longitude) +
         R"(,"index":)" + std::to_string(point.index) + "}";
  out += R"(,"ranges":{)" + json_string(answer.provenance.parameter.short_name) + ":" +
         nd_array(R"(["t"])", "[" + std::to_string(count) + "]",
                  std::span<const float>(answer.values).subspan(index * count, count)) +
         "}";
  return out;
}

std::string head_json(const query::Provenance& provenance, const Facts& facts) {
  return R"("@context":{"nvmdb":"urn:nvmdb:"},"parameters":{)" + parameter_json(provenance) +
         R"(},"nvmdb:source":)" + source_json(facts);
}

}  // namespace

Status write_series_json(const query::SeriesAnswer& answer, Output& output) {
  const std::string times = times_json(answer.provenance.run.key.reference_time, answer.steps);
  const std::string head =
      head_json(answer.provenance, facts_of(answer.provenance)) + step_types_json(answer.steps);
  if (answer.points.size() == 1) return output.write(point_coverage(answer, 0, times) + "," + head + "}\n");
  NVMDB_TRY(output.write(R"({"type":"CoverageCollection","domainType":"PointSeries",)" + head +
                         R"(,"coverages":[)"));
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    NVMDB_TRY(output.write((i == 0 ? "\n" : ",\n") + point_coverage(answer, i, times) + "}"));
  }
  return output.write("\n]}\n");
}

namespace {

/// The z axis: levels and, where they are layers, the bounds of each.
std::string levels_json(const query::CurtainAnswer& answer) {
  std::string out = R"({"values":)";
  append_list(out, std::span<const double>(answer.levels));
  if (answer.bottoms != answer.levels) {
    std::vector<double> bounds;
    for (std::size_t i = 0; i < answer.levels.size(); ++i) {
      bounds.push_back(answer.levels[i]);
      bounds.push_back(answer.bottoms[i]);
    }
    out += R"(,"bounds":)";
    append_list(out, std::span<const double>(bounds));
  }
  return out + "}";
}

/// The system of the z axis. Stored levels are numbers in the run's own sense.
std::string vertical_json(const query::CurtainAnswer& answer) {
  const bool pressure = answer.vertical == query::Vertical::Pressure;
  const std::string name =
      answer.vertical == query::Vertical::Stored ? answer.provenance.level_type : pressure ? "pressure" : "height";
  return R"({"coordinates":["z"],"system":{"type":"VerticalCRS","cs":{"csAxes":[{"name":{"en":)" + json_string(name) +
         R"(},"direction":")" + (pressure ? "down" : "up") + R"(","unit":{"symbol":)" +
         json_string(answer.level_units.empty() ? "1" : answer.level_units) + "}}]}}}";
}

/// Everything but the axes and what belongs to the kind of domain.
std::string curtain_coverage(const query::CurtainAnswer& answer, const std::string& type, const std::string& axes,
                             const std::string& range_axes, const std::string& shape, const std::string& more) {
  return R"({"type":"Coverage","domain":{"type":"Domain","domainType":")" + type + R"(","axes":{)" + axes +
         R"(,"z":)" + levels_json(answer) + R"(},"referencing":[)" + kGeographic + "," + kTemporal + "," +
         vertical_json(answer) + "]}," + head_json(answer.provenance, facts_of(answer)) +
         step_types_json({answer.step}) + more + R"(,"ranges":{)" +
         json_string(answer.provenance.parameter.short_name) + ":" +
         nd_array(range_axes, shape, std::span<const float>(answer.values)) + "}}\n";
}

}  // namespace

Status write_profile_json(const query::CurtainAnswer& answer, Output& output) {
  const query::LocatedPoint& point = answer.points[0];
  const bool interpolated = answer.provenance.interpolation == query::Interpolation::Bilinear;
  const query::Point& place = interpolated ? point.asked : point.grid;
  const std::string axes = R"("x":{"values":[)" + number_text(place.longitude) + R"(]},"y":{"values":[)" +
                           number_text(place.latitude) + R"(]},"t":)" +
                           times_json(answer.provenance.run.key.reference_time, {answer.step});
  return output.write(curtain_coverage(answer, "VerticalProfile", axes, R"(["z"])",
                                       "[" + std::to_string(answer.levels.size()) + "]", ""));
}

Status write_section_json(const query::CurtainAnswer& answer, Output& output) {
  const std::string time =
      json_string(met::format_time(answer.provenance.run.key.reference_time + answer.step.end_seconds));
  std::string tuples;
  for (const query::LocatedPoint& point : answer.points) {
    tuples += (tuples.empty() ? "[" : ",[") + time + "," + number_text(point.asked.longitude) + "," +
              number_text(point.asked.latitude) + "]";
  }
  std::string distances = R"(,"nvmdb:distances_m":)";
  append_list(distances, std::span<const double>(answer.distances_m));
  return output.write(curtain_coverage(
      answer, "Section",
      R"("composite":{"dataType":"tuple","coordinates":["t","x","y"],"values":[)" + tuples + "]}", R"(["composite","z"])",
      "[" + std::to_string(answer.points.size()) + "," + std::to_string(answer.levels.size()) + "]", distances));
}

Status write_slab_json(const query::SlabAnswer& answer, Output& output) {
  return write_slabs_json(answer, {answer.step}, answer.values, output);
}

Status write_slabs_json(const query::SlabAnswer& answer, const std::vector<met::Step>& steps,
                        const std::vector<float>& values, Output& output) {
  const std::string times = std::to_string(steps.size());
  const std::string rows = std::to_string(answer.rows);
  const std::string columns = std::to_string(answer.columns);
  const bool list = !answer.rectilinear && answer.rows == 1 && answer.has_positions();
  std::string axes = R"("t":)" + times_json(answer.provenance.run.key.reference_time, steps);
  std::string referencing = std::string(kTemporal);
  std::string ranges_axes = R"(["t","y","x"])";
  std::string shape = "[" + times + "," + rows + "," + columns + "]";
  std::string more_parameters;
  std::string more_ranges;
  if (answer.rectilinear) {
    std::string x;
    std::string y;
    const std::vector<double> longitudes = continuous_longitudes(answer);
    append_list(x, std::span<const double>(longitudes));
    append_list(y, std::span<const double>(answer.latitudes));
    axes = R"("x":{"values":)" + x + R"(},"y":{"values":)" + y + "}," + axes;
    referencing = std::string(kGeographic) + "," + kTemporal;
  } else if (list) {
    std::string tuples;
    for (std::size_t i = 0; i < answer.longitudes.size(); ++i) {
      tuples += (i == 0 ? "[" : ",[") + number_text(answer.longitudes[i]) + "," +
                number_text(answer.latitudes[i]) + "]";
    }
    axes += R"(,"composite":{"dataType":"tuple","coordinates":["x","y"],"values":[)" + tuples + "]}";
    referencing = std::string(kGeographic) + "," + kTemporal;
    ranges_axes = steps.size() == 1 ? R"(["composite"])" : R"(["t","composite"])";
    shape = "[" + (steps.size() == 1 ? "" : times + ",") + columns + "]";
  } else {
    const auto count_axis = [](const char* name, const std::string& count, std::uint64_t points) {
      return "\"" + std::string(name) + R"(":{"start":0,"stop":)" +
             std::to_string(points == 0 ? 0 : points - 1) + R"(,"num":)" + count + "}";
    };
    axes = count_axis("x", columns, answer.columns) + "," + count_axis("y", rows, answer.rows) + "," + axes;
  }
  if (!answer.rectilinear && !list && answer.has_positions()) {
    const std::string plane = "[" + rows + "," + columns + "]";
    more_parameters = "," + parameter_json("latitude", "latitude", "degrees_north") + "," +
                      parameter_json("longitude", "longitude", "degrees_east");
    more_ranges =
        R"(,"latitude":)" + nd_array(R"(["y","x"])", plane, std::span<const double>(answer.latitudes)) +
        R"(,"longitude":)" + nd_array(R"(["y","x"])", plane, std::span<const double>(answer.longitudes));
  }
  NVMDB_TRY(output.write(
      R"({"type":"Coverage","@context":{"nvmdb":"urn:nvmdb:"},"domain":{"type":"Domain","domainType":")" +
      std::string(!list ? "Grid" : steps.size() == 1 ? "MultiPoint" : "MultiPointSeries") + R"(","axes":{)" + axes + R"(},"referencing":[)" +
      referencing + R"(]},"parameters":{)" + parameter_json(answer.provenance) + more_parameters +
      R"(},"nvmdb:source":)" + source_json(steps.size() == 1 ? facts_of(answer) : facts_of(answer.provenance)) + step_types_json(steps) +
      R"(,"ranges":{)" +
      json_string(answer.provenance.parameter.short_name) + ":"));
  NVMDB_TRY(output.write(nd_array(ranges_axes, shape, std::span<const float>(values))));
  return output.write(more_ranges + "}}\n");
}

}  // namespace nvmdb::cli
