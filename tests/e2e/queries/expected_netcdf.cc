#include <map>
#include <set>

#include "query/geometry/sphere.h"
#include "tests/e2e/queries/expected.h"

namespace nvmdb::e2e {
namespace {

/// Valid time of a frame; nothing where the file has no date.
std::optional<met::UnixSeconds> frame_time(const Json& reference, std::size_t index) {
  if (!reference.contains("times") || index >= reference.at("times").size()) return std::nullopt;
  const auto time = met::parse_time(reference.at("times").at(index).get<std::string>());
  if (!time.is_ok()) return std::nullopt;
  return *time;
}

query::Selection selection_of(const Json& reference, const Json& query) {
  query::Selection selection;
  selection.parameter = query.at("var").get<std::string>();
  if (query.contains("time_index"))
    selection.valid_time = frame_time(reference, query.at("time_index").get<std::size_t>());
  return selection;
}

/// The whole field of a frame. The reference's points are indexes with the positions of the file's first
/// frame, and a moving nest is elsewhere in each frame.
Result<query::SlabAnswer> whole_frame(StoredFile& file, query::Selection selection, const Json& reference,
                                      std::size_t frame) {
  selection.valid_time = frame_time(reference, frame);
  query::SlabRequest request;
  request.selection = std::move(selection);
  return file.queries().slab(request);
}

/// Asks for the reference's grid point at its place in one frame. NaN with a reason when that fails.
std::string ask_point(StoredFile& file, const query::Selection& selection, const Json& reference,
                      const Json& query, std::size_t frame, const Json& expected) {
  const auto first = whole_frame(file, selection, reference, 0);
  const auto whole = whole_frame(file, selection, reference, frame);
  if (!first.is_ok() || !whole.is_ok()) return first.status().to_string() + " " + whole.status().to_string();
  const std::uint64_t index =
      query.at("j").get<std::uint64_t>() * whole->columns + query.at("i").get<std::uint64_t>();
  query::SeriesRequest request;
  request.selection = selection;
  request.selection.valid_time = frame_time(reference, frame);
  // The point asked keeps its place beside the grid point.
  request.points.push_back(
      {query.at("lat").get<double>() + whole->latitudes[index] - first->latitudes[index],
       query.at("lon").get<double>() + whole->longitudes[index] - first->longitudes[index]});
  const auto answer = file.queries().series(request);
  if (!answer.is_ok()) return answer.status().to_string();
  if (answer->points[0].index != index) return "another grid point";
  if (answer->values.size() != 1) return std::to_string(answer->values.size()) + " steps, expected 1";
  if (!same_value(answer->values[0], expected)) {
    return "value " + std::to_string(answer->values[0]) + ", expected " + expected.dump();
  }
  return {};
}

/// The values of the reference by time: a frame written again after a restart replaces the first.
std::map<met::UnixSeconds, Json> values_by_time(const Json& reference, const Json& query) {
  std::map<met::UnixSeconds, Json> values;
  for (std::size_t i = 0; i < query.at("values").size(); ++i) {
    values[frame_time(reference, i).value_or(0)] = query.at("values").at(i);
  }
  return values;
}

std::string ask_series(StoredFile& file, const Json& reference, const Json& query) {
  query::SeriesRequest request;
  request.selection = selection_of(reference, query);
  request.points.push_back({query.at("lat").get<double>(), query.at("lon").get<double>()});
  const auto answer = file.queries().series(request);
  if (!answer.is_ok()) return answer.status().to_string();
  const query::Point grid{query.at("grid_lat").get<double>(), query.at("grid_lon").get<double>()};
  if (query::central_angle(answer->points[0].grid, grid) * 6370000 > 5) return "another grid point";
  const auto expected = values_by_time(reference, query);
  if (answer->values.size() != expected.size()) {
    return std::to_string(answer->values.size()) + " steps, expected " + std::to_string(expected.size());
  }
  std::size_t at = 0;
  for (const auto& [time, value] : expected) {
    if (time != 0 && answer->provenance.run.key.reference_time + answer->steps[at].end_seconds != time) {
      return "step " + met::format_step(answer->steps[at]) + " is not of " + met::format_time(time);
    }
    if (!same_value(answer->values[at], value)) {
      return "value " + std::to_string(answer->values[at]) + ", expected " + value.dump();
    }
    ++at;
  }
  return {};
}

std::string ask_profile(StoredFile& file, const Json& reference, const Json& query) {
  std::set<double> levels;
  for (const StoredFile::Row& stored : file.inventory()) {
    if (stored.short_name == query.at("var").get<std::string>()) levels.insert(stored.row.level);
  }
  if (levels.size() != query.at("values").size()) {
    return std::to_string(levels.size()) + " levels, expected " + std::to_string(query.at("values").size());
  }
  std::size_t at = 0;
  for (const double level : levels) {
    query::Selection selection = selection_of(reference, query);
    selection.level = level;
    const std::string wrong = ask_point(file, selection, reference, query,
                                        query.at("time_index").get<std::size_t>(), query.at("values").at(at));
    if (!wrong.empty()) return "level " + std::to_string(level) + ": " + wrong;
    ++at;
  }
  return {};
}

bool is_moving_nest(const Json& reference) {
  return reference.at("file") == "wrf_python_ci_mercator.nc";
}

std::string ask_moving_nest(StoredFile& file, const Json& reference, const Json& query) {
  const query::Selection selection = selection_of(reference, query);
  if (query.at("type") == "timeseries") {
    for (std::size_t frame = 0; frame < query.at("values").size(); ++frame) {
      std::string wrong = ask_point(file, selection, reference, query, frame, query.at("values").at(frame));
      if (!wrong.empty()) return "frame " + std::to_string(frame) + ": " + wrong;
    }
    return {};
  }
  const auto first = whole_frame(file, selection, reference, 0);
  auto whole = whole_frame(file, selection, reference, query.at("time_index").get<std::size_t>());
  if (!first.is_ok() || !whole.is_ok()) return first.status().to_string() + " " + whole.status().to_string();
  whole->latitudes = first->latitudes;
  whole->longitudes = first->longitudes;
  return compare_slab(*whole, query);
}

}  // namespace

std::string ask_netcdf(StoredFile& file, const Json& reference, const Json& query) {
  const auto type = query.at("type").get<std::string>();
  if (type == "profile") return ask_profile(file, reference, query);
  if (is_moving_nest(reference)) return ask_moving_nest(file, reference, query);
  if (type == "slab") return ask_slab(file, selection_of(reference, query), query);
  return ask_series(file, reference, query);
}

}  // namespace nvmdb::e2e
