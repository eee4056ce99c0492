#include <netcdf.h>
#include <netcdf_mem.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "cli/answer_writer.h"
#include "engine/met/level.h"
#include "engine/met/time.h"

namespace nvmdb::cli {
namespace {

/// A NetCDF file that is made in memory. The first failure is kept; later calls do nothing.
class NetcdfWriter {
 public:
  NetcdfWriter() {
    // The name is not a path: the file lives in memory until take().
    check(nc_create_mem("answer", NC_64BIT_OFFSET, 1U << 16U, &file_));
    open_ = error_ == NC_NOERR;
    text(NC_GLOBAL, "Conventions", "CF-1.8");
  }
  ~NetcdfWriter() {
    if (open_) nc_abort(file_);
  }
  NetcdfWriter(const NetcdfWriter&) = delete;
  NetcdfWriter& operator=(const NetcdfWriter&) = delete;

  int dimension(const char* name, std::size_t length) {
    int id = -1;
    // Length 0 would mean unlimited in the classic format.
    if (error_ == NC_NOERR && length == 0) error_ = NC_EDIMSIZE;
    if (error_ == NC_NOERR) check(nc_def_dim(file_, name, length, &id));
    return id;
  }
  int variable(const std::string& name, nc_type type, const std::vector<int>& dimensions) {
    int id = -1;
    if (error_ == NC_NOERR) {
      check(
          nc_def_var(file_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(), &id));
    }
    return id;
  }
  void text(int variable, const char* name, const std::string& value) {
    if (error_ == NC_NOERR) check(nc_put_att_text(file_, variable, name, value.size(), value.data()));
  }
  void fill_value(int variable, float value) {
    if (error_ == NC_NOERR) check(nc_put_att_float(file_, variable, "_FillValue", NC_FLOAT, 1, &value));
  }
  void end_definitions() {
    if (error_ == NC_NOERR) check(nc_enddef(file_));
  }
  void put(int variable, const std::vector<double>& values) {
    if (error_ == NC_NOERR) check(nc_put_var_double(file_, variable, values.data()));
  }
  void put(int variable, const std::vector<float>& values) {
    if (error_ == NC_NOERR) check(nc_put_var_float(file_, variable, values.data()));
  }
  void put(int variable, double value) { put(variable, std::vector<double>{value}); }

  /// The bytes of the file.
  Result<std::string> take() {
    NC_memio memory{};
    if (error_ == NC_NOERR) {
      open_ = false;
      check(nc_close_memio(file_, &memory));
    }
    const std::unique_ptr<void, void (*)(void*)> owner(memory.memory, std::free);
    if (error_ != NC_NOERR) return Status::io_error(std::string("writing NetCDF: ") + nc_strerror(error_));
    return std::string(static_cast<const char*>(memory.memory), memory.size);
  }

 private:
  void check(int code) {
    if (error_ == NC_NOERR) error_ = code;
  }
  int file_ = -1;
  int error_ = NC_NOERR;
  bool open_ = false;
};

/// CF recommends names of letters, digits and underscores that begin with a letter: 2t becomes p2t.
std::string cf_name(const std::string& short_name) {
  std::string name;
  for (const char c : short_name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (name.empty() && !letter) name += 'p';
    name += letter || digit ? c : '_';
  }
  return name.empty() ? "value" : name;
}

int coordinate(NetcdfWriter& file, const char* name, const std::vector<int>& dimensions,
               const char* standard_name, const std::string& units) {
  const int id = file.variable(name, NC_DOUBLE, dimensions);
  file.text(id, "standard_name", standard_name);
  file.text(id, "units", units);
  return id;
}

std::string seconds_since(met::UnixSeconds reference) {
  std::string time = met::format_time(reference);
  time[10] = ' ';
  time.pop_back();
  return "seconds since " + time;
}

/// The variable of the values, with where they come from.
int value_variable(NetcdfWriter& file, const query::Provenance& provenance,
                   const std::vector<int>& dimensions, const std::string& coordinates) {
  const met::Parameter& parameter = provenance.parameter;
  const int id = file.variable(cf_name(parameter.short_name), NC_FLOAT, dimensions);
  if (!parameter.long_name.empty()) file.text(id, "long_name", parameter.long_name);
  file.text(id, "units", provenance.units);
  file.text(id, "short_name", parameter.short_name);
  file.fill_value(id, std::numeric_limits<float>::quiet_NaN());
  file.text(id, "coordinates", coordinates);
  file.text(id, "level_type", provenance.level_type);
  file.text(id, "level", met::format_level(provenance.level, provenance.bottom));
  return id;
}

void global_facts(NetcdfWriter& file, const query::Provenance& provenance) {
  file.text(NC_GLOBAL, "model", provenance.run.key.model);
  file.text(NC_GLOBAL, "domain", provenance.run.key.domain);
  file.text(NC_GLOBAL, "run", met::format_run_time(provenance.run.key.reference_time));
  file.text(NC_GLOBAL, "member", std::to_string(provenance.member));
  file.text(NC_GLOBAL, "grid", provenance.grid_summary);
  file.text(NC_GLOBAL, "interpolation",
            provenance.interpolation == query::Interpolation::Bilinear ? "bilinear" : "nearest");
}

/// Words of CF's appendix E for how values over an interval were combined; empty: it has none.
std::string_view cell_method(met::StepProcess process) {
  switch (process) {
    case met::StepProcess::Accumulation:
    case met::StepProcess::Summation:
      return "sum";
    case met::StepProcess::Average:
      return "mean";
    case met::StepProcess::Maximum:
      return "maximum";
    case met::StepProcess::Minimum:
      return "minimum";
    case met::StepProcess::RootMeanSquare:
      return "root_mean_square";
    case met::StepProcess::StandardDeviation:
      return "standard_deviation";
    default:
      return "";
  }
}

/// The time variable and what goes with it; scalars when `dimensions` is empty.
class TimeVariables {
 public:
  TimeVariables(NetcdfWriter& file, const std::vector<int>& dimensions, met::UnixSeconds reference,
                const std::vector<met::Step>& steps)
      : file_(file), steps_(steps) {
    ends_ = coordinate(file, "time", dimensions, "time", seconds_since(reference));
    period_ = coordinate(file, "forecast_period", dimensions, "forecast_period", "s");
    if (!has_intervals(steps)) return;
    file.text(ends_, "bounds", "time_bnds");
    std::vector<int> cells = dimensions;
    cells.push_back(file.dimension("nv", 2));
    bounds_ = file.variable("time_bnds", NC_DOUBLE, cells);
  }
  /// Tells of the variable of values how each was combined.
  void describe(int values) {
    if (bounds_ < 0) return;
    const met::StepProcess process = steps_.back().process;
    std::string types;
    bool uniform = true;
    for (const met::Step& step : steps_) {
      types += (types.empty() ? "" : " ") + std::string(met::process_name(step.process));
      uniform = uniform && (step.process == process || step.is_instant());
    }
    file_.text(values, "step_type", uniform ? std::string(met::process_name(process)) : types);
    if (uniform && !cell_method(process).empty())
      file_.text(values, "cell_methods", "time: " + std::string(cell_method(process)));
  }
  void put() {
    std::vector<double> ends;
    std::vector<double> bounds;
    for (const met::Step& step : steps_) {
      ends.push_back(static_cast<double>(step.end_seconds));
      bounds.push_back(static_cast<double>(step.start_seconds));
      bounds.push_back(static_cast<double>(step.end_seconds));
    }
    file_.put(ends_, ends);
    file_.put(period_, ends);
    if (bounds_ >= 0) file_.put(bounds_, bounds);
  }

 private:
  NetcdfWriter& file_;
  const std::vector<met::Step>& steps_;
  int ends_ = -1;
  int period_ = -1;
  int bounds_ = -1;
};

/// The dimension of steps: `time`, but `step` where several intervals end at one time, since a coordinate variable
/// must grow strictly (CF 1.8 section 1.3).
int time_dimension(NetcdfWriter& file, const std::vector<met::Step>& steps) {
  const auto same_end = [](const met::Step& a, const met::Step& b) { return a.end_seconds >= b.end_seconds; };
  const bool grows = std::adjacent_find(steps.begin(), steps.end(), same_end) == steps.end();
  return file.dimension(grows ? "time" : "step", steps.size());
}

int reference_variable(NetcdfWriter& file, met::UnixSeconds reference) {
  return coordinate(file, "forecast_reference_time", {}, "forecast_reference_time", seconds_since(reference));
}

}  // namespace

Result<std::string> series_netcdf(const query::SeriesAnswer& answer) {
  NetcdfWriter file;
  const met::UnixSeconds reference = answer.provenance.run.key.reference_time;
  file.text(NC_GLOBAL, "featureType", "timeSeries");
  global_facts(file, answer.provenance);
  const int station = file.dimension("station", answer.points.size());
  const int time = time_dimension(file, answer.steps);
  const int id = file.variable("station", NC_DOUBLE, {station});
  file.text(id, "cf_role", "timeseries_id");
  file.text(id, "long_name", "number of the point asked");
  const int lat = coordinate(file, "lat", {station}, "latitude", "degrees_north");
  const int lon = coordinate(file, "lon", {station}, "longitude", "degrees_east");
  const int grid_lat = file.variable("grid_lat", NC_DOUBLE, {station});
  file.text(grid_lat, "long_name", "latitude of the nearest grid point");
  file.text(grid_lat, "units", "degrees_north");
  const int grid_lon = file.variable("grid_lon", NC_DOUBLE, {station});
  file.text(grid_lon, "long_name", "longitude of the nearest grid point");
  file.text(grid_lon, "units", "degrees_east");
  TimeVariables times(file, {time}, reference, answer.steps);
  const int start = reference_variable(file, reference);
  const int values = value_variable(file, answer.provenance, {station, time},
                                    "time lat lon forecast_reference_time forecast_period");
  times.describe(values);
  file.end_definitions();
  std::array<std::vector<double>, 5> columns;
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    const query::LocatedPoint& point = answer.points[i];
    columns[0].push_back(static_cast<double>(i + 1));
    columns[1].push_back(point.asked.latitude);
    columns[2].push_back(point.asked.longitude);
    columns[3].push_back(point.grid.latitude);
    columns[4].push_back(point.grid.longitude);
  }
  file.put(id, columns[0]);
  file.put(lat, columns[1]);
  file.put(lon, columns[2]);
  file.put(grid_lat, columns[3]);
  file.put(grid_lon, columns[4]);
  times.put();
  file.put(start, 0.0);
  file.put(values, answer.values);
  return file.take();
}

namespace {

/// `axis`: with a time axis, also of a single step.
Result<std::string> slab_file(const query::SlabAnswer& answer, const std::vector<met::Step>& steps, bool axis,
                              const std::vector<float>& all_values) {
  NetcdfWriter file;
  const met::UnixSeconds reference = answer.provenance.run.key.reference_time;
  global_facts(file, answer.provenance);
  std::vector<int> plane;
  std::vector<int> lat_dimensions;
  std::vector<int> lon_dimensions;
  std::string coordinates = "time forecast_reference_time forecast_period";
  if (answer.rectilinear) {
    plane = {file.dimension("lat", answer.rows), file.dimension("lon", answer.columns)};
    lat_dimensions = {plane[0]};
    lon_dimensions = {plane[1]};
  } else {
    if (answer.rows == 1) {
      plane = {file.dimension("point", answer.columns)};
    } else {
      plane = {file.dimension("y", answer.rows), file.dimension("x", answer.columns)};
    }
    lat_dimensions = lon_dimensions = plane;
    if (answer.has_positions()) coordinates += " lat lon";
  }
  int lat = -1;
  int lon = -1;
  if (answer.has_positions()) {
    lat = coordinate(file, "lat", lat_dimensions, "latitude", "degrees_north");
    lon = coordinate(file, "lon", lon_dimensions, "longitude", "degrees_east");
  }
  std::vector<int> time_dimensions;
  if (axis) time_dimensions.push_back(time_dimension(file, steps));
  TimeVariables times(file, time_dimensions, reference, steps);
  const int start = reference_variable(file, reference);
  plane.insert(plane.begin(), time_dimensions.begin(), time_dimensions.end());
  const int values = value_variable(file, answer.provenance, plane, coordinates);
  if (!axis) file.text(values, "step", met::format_step(answer.step));
  times.describe(values);
  file.end_definitions();
  if (answer.has_positions()) {
    file.put(lat, answer.latitudes);
    file.put(lon, continuous_longitudes(answer));
  }
  times.put();
  file.put(start, 0.0);
  file.put(values, all_values);
  return file.take();
}

}  // namespace

Result<std::string> slab_netcdf(const query::SlabAnswer& answer) {
  return slab_file(answer, {answer.step}, false, answer.values);
}

Result<std::string> slabs_netcdf(const query::SlabAnswer& first, const std::vector<met::Step>& steps,
                                 const std::vector<float>& values) {
  return slab_file(first, steps, true, values);
}

namespace {

/// The variable of the levels, and of the bottoms where they are layers.
class LevelVariables {
 public:
  LevelVariables(NetcdfWriter& file, int dimension, const query::CurtainAnswer& answer) : file_(file), answer_(answer) {
    levels_ = file.variable("level", NC_DOUBLE, {dimension});
    file.text(levels_, "axis", "Z");
    if (answer.vertical == query::Vertical::Stored) {
      file.text(levels_, "long_name", "level of type " + answer.provenance.level_type);
      file.text(levels_, "units", answer.level_units.empty() ? "1" : answer.level_units);
    } else {
      const bool pressure = answer.vertical == query::Vertical::Pressure;
      file.text(levels_, "standard_name", pressure ? "air_pressure" : "altitude");
      file.text(levels_, "units", answer.level_units);
      file.text(levels_, "positive", pressure ? "down" : "up");
    }
    if (answer.bottoms == answer.levels) return;
    file.text(levels_, "bounds", "level_bnds");
    bounds_ = file.variable("level_bnds", NC_DOUBLE, {dimension, file.dimension("edge", 2)});
  }
  void put() {
    file_.put(levels_, answer_.levels);
    if (bounds_ < 0) return;
    std::vector<double> bounds;
    for (std::size_t i = 0; i < answer_.levels.size(); ++i) {
      bounds.push_back(answer_.levels[i]);
      bounds.push_back(answer_.bottoms[i]);
    }
    file_.put(bounds_, bounds);
  }

 private:
  NetcdfWriter& file_;
  const query::CurtainAnswer& answer_;
  int levels_ = -1;
  int bounds_ = -1;
};

/// `section`: with a dimension of points.
Result<std::string> curtain_file(const query::CurtainAnswer& answer, bool section) {
  NetcdfWriter file;
  const met::UnixSeconds reference = answer.provenance.run.key.reference_time;
  global_facts(file, answer.provenance);
  if (!section) file.text(NC_GLOBAL, "featureType", "profile");
  std::vector<int> along;
  if (section) along.push_back(file.dimension("point", answer.points.size()));
  const int level = file.dimension("level", answer.levels.size());
  const int lat = coordinate(file, "lat", along, "latitude", "degrees_north");
  const int lon = coordinate(file, "lon", along, "longitude", "degrees_east");
  int distance = -1;
  if (section) {
    distance = file.variable("distance", NC_DOUBLE, along);
    file.text(distance, "long_name", "distance from the first point along the great circle");
    file.text(distance, "units", "m");
  }
  LevelVariables levels(file, level, answer);
  const std::vector<met::Step> steps = {answer.step};
  TimeVariables times(file, {}, reference, steps);
  const int start = reference_variable(file, reference);
  std::vector<int> dimensions = along;
  dimensions.push_back(level);
  const int values =
      value_variable(file, answer.provenance, dimensions, "time lat lon forecast_reference_time forecast_period");
  file.text(values, "level", "see the variable level");
  file.text(values, "step", met::format_step(answer.step));
  times.describe(values);
  file.end_definitions();
  std::vector<double> latitudes;
  std::vector<double> longitudes;
  for (const query::LocatedPoint& point : answer.points) {
    latitudes.push_back(point.asked.latitude);
    longitudes.push_back(point.asked.longitude);
  }
  file.put(lat, latitudes);
  file.put(lon, longitudes);
  if (section) file.put(distance, answer.distances_m);
  levels.put();
  times.put();
  file.put(start, 0.0);
  file.put(values, answer.values);
  return file.take();
}

}  // namespace

Result<std::string> profile_netcdf(const query::CurtainAnswer& answer) { return curtain_file(answer, false); }
Result<std::string> section_netcdf(const query::CurtainAnswer& answer) { return curtain_file(answer, true); }

}  // namespace nvmdb::cli
