#include <algorithm>

#include "query/geometry/sphere.h"
#include "tests/e2e/queries/expected.h"

namespace nvmdb::e2e {
namespace {

std::int64_t message_time(const Json& message) {
  const int date = message.at("dataDate").get<int>();
  const int time = message.at("dataTime").get<int>();
  return *met::make_time(date / 10000, date / 100 % 100, date % 100, time / 100, time % 100, 0);
}

/// Seconds of ecCodes' step units. Source: GRIB2 code table 4.4.
std::int64_t unit_seconds(int unit) {
  switch (unit) {
    case 0:
      return 60;
    case 2:
      return 86400;
    case 10:
      return 3 * 3600;
    case 11:
      return 6 * 3600;
    case 12:
      return 12 * 3600;
    case 13:
      return 1;
    default:
      return 3600;
  }
}

std::string parameter_name(const Json& message) {
  const auto name = message.at("shortName").get<std::string>();
  if (name != "unknown" || !message.contains("parameterNumber")) return name;
  return name + ":" + std::to_string(message.at("discipline").get<int>()) + "." +
         std::to_string(message.at("parameterCategory").get<int>()) + "." +
         std::to_string(message.at("parameterNumber").get<int>());
}

met::StepSelector step_of(const Json& message) {
  const std::int64_t unit = unit_seconds(message.at("stepUnits").get<int>());
  met::StepSelector step;
  step.start_seconds = message.at("startStep").get<std::int64_t>() * unit;
  step.end_seconds = message.at("endStep").get<std::int64_t>() * unit;
  step.interval = step.start_seconds != step.end_seconds;
  return step;
}

double number_of(const Json& message, const char* key, double otherwise) {
  const Json value = message.value(key, Json());
  return value.is_number() ? value.get<double>() : otherwise;
}

/// The selection of the field that a message holds.
query::Selection selection_of(StoredFile& file, const Json& message) {
  query::Selection selection;
  selection.parameter = parameter_name(message);
  if (const Json number = message.value("number", Json()); number.is_number())
    selection.member = number.get<std::uint32_t>();
  const auto level_type = message.value("typeOfLevel", std::string("none"));
  const double level = number_of(message, "level", 0);
  const double bottom = number_of(message, "bottomLevel", level);
  for (const StoredFile::Row& stored : file.inventory()) {
    if (stored.level_type != level_type || stored.short_name != message.at("shortName").get<std::string>())
      continue;
    // ecCodes' `level` is rounded, and its `dataTime` has no seconds.
    if (std::fabs(stored.row.level - level) > 0.5 || std::fabs(stored.row.bottom - bottom) > 0.5) continue;
    if (stored.run < message_time(message) || stored.run >= message_time(message) + 60) continue;
    selection.run = stored.run;
    selection.level_type = level_type;
    selection.level = stored.row.level;
    selection.level_bottom = stored.row.bottom;
    if (stored.row.steps.size() > 1) selection.step = step_of(message);
  }
  return selection;
}

std::string ask_nearest(StoredFile& file, const query::Selection& selection, const Json& query) {
  query::SeriesRequest request;
  request.selection = selection;
  request.points.push_back({query.at("lat").get<double>(), query.at("lon").get<double>()});
  const auto answer = file.queries().series(request);
  if (!answer.is_ok()) return answer.status().to_string();
  const query::LocatedPoint& point = answer->points.front();
  if (query.contains("distance_km")) {
    // ecCodes measures on a sphere of its own choice.
    const double expected = query.at("distance_km").get<double>() * 1000;
    if (std::fabs(point.distance_m - expected) > 1 + 0.01 * expected) {
      return "distance " + std::to_string(point.distance_m) + " m, expected " + std::to_string(expected);
    }
    const double second = query.value("second_km", 1e9) * 1000;
    const query::Point grid{query.at("grid_lat").get<double>(), query.at("grid_lon").get<double>()};
    if (query::central_angle(point.grid, grid) * 6371229 > 50) {
      if (second - expected < 1 + 0.001 * expected) return {};  // one of two equally near points
      return "grid point " + std::to_string(point.grid.latitude) + "," +
             std::to_string(point.grid.longitude) + ", expected " + std::to_string(grid.latitude) + "," +
             std::to_string(grid.longitude);
    }
  }
  if (answer->values.size() != 1) return std::to_string(answer->values.size()) + " steps, expected 1";
  if (!same_value(answer->values[0], query.at("value"))) {
    return "value " + std::to_string(answer->values[0]) + ", expected " + query.at("value").dump();
  }
  return {};
}

}  // namespace

std::string ask_grib(StoredFile& file, const Json& reference, const Json& query) {
  const auto selection_at = [&](const Json& from) {
    return selection_of(file, reference.at("messages").at(from.at("message").get<std::size_t>()));
  };
  const auto type = query.at("type").get<std::string>();
  if (type == "slab") return ask_slab(file, selection_at(query), query);
  if (type == "nearest") return ask_nearest(file, selection_at(query), query);
  // Series, profile, ensemble: one value for each row, each of its own message.
  for (const Json& row : query.at("rows")) {
    Json single = row;
    single["lat"] = query.at("lat");
    single["lon"] = query.at("lon");
    if (std::string wrong = ask_nearest(file, selection_at(row), single); !wrong.empty()) {
      return "message " + row.at("message").dump() + ": " + wrong;
    }
  }
  return {};
}

}  // namespace nvmdb::e2e
