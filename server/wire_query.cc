#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/wire.h"
#include "server/wire_parts.h"
#include "storage/base/narrow.h"

namespace nvmdb::server::wire {
namespace {

constexpr int kSelectionsMax = 64;

/// True when the steps are instants at equal distances.
bool is_regular(const std::vector<met::Step>& steps) {
  if (steps.empty()) return false;
  // Unsigned: steps at the ends of their range must not overflow.
  const std::uint64_t first = as_unsigned(steps[0].end_seconds);
  const std::uint64_t interval = steps.size() > 1 ? as_unsigned(steps[1].end_seconds) - first : 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != met::Step::instant(as_signed(first + i * interval))) return false;
  }
  return true;
}

void put_steps(const std::vector<met::Step>& steps, v1::Series& to) {
  if (is_regular(steps)) {
    v1::RegularSteps& regular = *to.mutable_regular_steps();
    regular.set_first_seconds(steps[0].end_seconds);
    const std::int64_t second = steps[steps.size() > 1 ? 1 : 0].end_seconds;
    regular.set_interval_seconds(as_signed(as_unsigned(second) - as_unsigned(steps[0].end_seconds)));
    regular.set_count(static_cast<std::uint32_t>(steps.size()));
    return;
  }
  v1::StepColumns& columns = *to.mutable_step_columns();
  for (const met::Step& step : steps) {
    columns.add_end_seconds(step.end_seconds);
    columns.add_start_seconds(step.start_seconds);
    columns.add_processes(put_process(step.process));
  }
}

/// `count_max`: an answer with more steps is damaged; this bounds what is made of it.
Result<std::vector<met::Step>> take_steps(const v1::Series& from, std::uint64_t count_max) {
  std::vector<met::Step> steps;
  if (from.has_regular_steps()) {
    const v1::RegularSteps& regular = from.regular_steps();
    if (regular.count() > count_max) {
      return Status::corruption("series answer: " + std::to_string(regular.count()) + " steps, at most " +
                                std::to_string(count_max) + " can be");
    }
    std::uint64_t seconds = as_unsigned(regular.first_seconds());
    for (std::uint32_t i = 0; i < regular.count(); ++i, seconds += as_unsigned(regular.interval_seconds())) {
      steps.push_back(met::Step::instant(as_signed(seconds)));
    }
    return steps;
  }
  const v1::StepColumns& columns = from.step_columns();
  const int count = columns.end_seconds_size();
  if (columns.start_seconds_size() != count || columns.processes_size() != count) {
    return Status::corruption("series answer: step columns have different lengths");
  }
  for (int i = 0; i < count; ++i) {
    const v1::StepProcess process = static_cast<v1::StepProcess>(columns.processes(i));
    steps.push_back({columns.start_seconds(i), columns.end_seconds(i), take_process(process)});
  }
  return steps;
}

void put_facts(const query::SeriesAnswer& from, v1::Series& to) {
  put_provenance(from.provenance, *to.mutable_provenance());
  put_steps(from.steps, to);
  to.set_encoding(v1::VALUE_ENCODING_FLOAT32_LE);
}

}  // namespace

void put(const query::Selection& from, v1::Selection& to) {
  to.set_model(from.model);
  to.set_domain(from.domain);
  if (from.run) to.mutable_reference_time()->set_seconds(*from.run);
  to.set_version(from.version);
  if (from.member) to.set_member(*from.member);
  to.set_parameter(from.parameter);
  to.set_level_type(from.level_type);
  if (from.level) to.set_level(*from.level);
  if (from.level_bottom) to.set_level_bottom(*from.level_bottom);
  if (from.step) {
    v1::StepSelector& step = *to.mutable_step();
    step.set_all(from.step->all);
    step.set_interval(from.step->interval);
    step.mutable_start()->set_seconds(from.step->start_seconds);
    step.mutable_end()->set_seconds(from.step->end_seconds);
  }
  if (from.valid_time) to.mutable_valid_time()->set_seconds(*from.valid_time);
}

Result<query::Selection> take_selection(const v1::Selection& from) {
  NVMDB_TRY(check_name(from.model(), "model"));
  NVMDB_TRY(check_name(from.domain(), "domain"));
  NVMDB_TRY(check_name(from.version(), "version"));
  NVMDB_TRY(check_name(from.parameter(), "parameter"));
  NVMDB_TRY(check_name(from.level_type(), "level_type"));
  NVMDB_TRY(check_finite(from.level(), "selection.level"));
  NVMDB_TRY(check_finite(from.level_bottom(), "selection.level_bottom"));
  query::Selection to;
  to.model = from.model();
  to.domain = from.domain();
  if (from.has_reference_time()) to.run = from.reference_time().seconds();
  to.version = from.version();
  if (from.has_member()) to.member = from.member();
  to.parameter = from.parameter();
  to.level_type = from.level_type();
  if (from.has_level()) to.level = from.level();
  if (from.has_level_bottom()) to.level_bottom = from.level_bottom();
  if (from.has_step()) {
    const v1::StepSelector& step = from.step();
    to.step = met::StepSelector{step.all(), step.interval(), step.start().seconds(), step.end().seconds()};
  }
  if (from.has_valid_time()) to.valid_time = from.valid_time().seconds();
  return to;
}

void put(const query::SeriesRequest& from, v1::SeriesRequest& to) {
  put(from.selection, *to.add_selections());
  for (const query::Point& point : from.points) {
    to.add_latitudes(point.latitude);
    to.add_longitudes(point.longitude);
  }
  to.set_interpolation(put_interpolation(from.interpolation));
  to.set_units(from.units);
}

Result<SeriesQuestions> take_series_questions(const v1::SeriesRequest& from) {
  if (from.selections_size() < 1 || from.selections_size() > kSelectionsMax) {
    return Status::invalid_argument("selections has " + std::to_string(from.selections_size()) +
                                    " entries; expected 1 to " + std::to_string(kSelectionsMax));
  }
  if (from.latitudes_size() < 1 || from.latitudes_size() != from.longitudes_size()) {
    return Status::invalid_argument("latitudes has " + std::to_string(from.latitudes_size()) +
                                    " entries and longitudes " + std::to_string(from.longitudes_size()) +
                                    "; expected as many, at least 1");
  }
  NVMDB_TRY(check_name(from.units(), "units"));
  SeriesQuestions questions;
  query::SeriesRequest& first = questions.common;
  first.points.reserve(static_cast<std::size_t>(from.latitudes_size()));
  for (int i = 0; i < from.latitudes_size(); ++i) {
    NVMDB_TRY(check_finite(from.latitudes(i), "latitudes"));
    NVMDB_TRY(check_finite(from.longitudes(i), "longitudes"));
    first.points.push_back({from.latitudes(i), from.longitudes(i)});
  }
  NVMDB_ASSIGN(first.interpolation, take_interpolation(from.interpolation()));
  first.units = from.units();
  for (const v1::Selection& selection : from.selections()) {
    NVMDB_ASSIGN(query::Selection taken, take_selection(selection));
    questions.selections.push_back(std::move(taken));
  }
  return questions;
}

void put(const query::SeriesAnswer& from, v1::Series& to) {
  put_facts(from, to);
  put_points(from.points, *to.mutable_points());
  to.set_values(from.values.data(), from.values.size() * sizeof(float));
}

void put_header(const query::SeriesAnswer& from, bool same_points, v1::PointsHeader& to) {
  put_facts(from, *to.mutable_series());
  to.set_same_points(same_points);
  if (!same_points) put_points(from.points, *to.mutable_series()->mutable_points());
}

Result<query::SeriesAnswer> take_series(const v1::Series& from, const std::vector<query::Point>& asked) {
  query::SeriesAnswer to;
  to.provenance = take_provenance(from.provenance());
  NVMDB_ASSIGN(to.steps, take_steps(from, from.values().size() / sizeof(float)));
  NVMDB_ASSIGN(to.points, take_points(from.points(), asked));
  const std::size_t values = to.points.size() * to.steps.size();
  if (from.encoding() != v1::VALUE_ENCODING_FLOAT32_LE || from.values().size() != values * sizeof(float)) {
    return Status::corruption("series answer: " + std::to_string(from.values().size()) +
                              " value bytes, expected " + std::to_string(values * sizeof(float)) +
                              " of FLOAT32_LE");
  }
  to.values.resize(values);
  if (values != 0) std::memcpy(to.values.data(), from.values().data(), from.values().size());
  return to;
}

Result<query::SeriesAnswer> take_header(const v1::PointsHeader& from, const std::vector<query::Point>& asked,
                                        const std::vector<query::LocatedPoint>& before) {
  constexpr std::uint64_t kValuesMax = 1ULL << 30U;
  if (from.series().encoding() != v1::VALUE_ENCODING_FLOAT32_LE)
    return Status::corruption("points answer: value encoding is not FLOAT32_LE");
  query::SeriesAnswer to;
  to.provenance = take_provenance(from.series().provenance());
  NVMDB_ASSIGN(to.steps, take_steps(from.series(), kValuesMax / std::max<std::size_t>(1, asked.size())));
  if (from.same_points()) {
    to.points = before;
  } else {
    NVMDB_ASSIGN(to.points, take_points(from.series().points(), asked));
  }
  if (to.points.size() != asked.size())
    return Status::corruption("points answer: the points of a series before that is not there");
  return to;
}

void put(const query::SlabRequest& from, v1::SlabRequest& to) {
  put(from.selection, *to.mutable_selection());
  if (from.box) {
    to.mutable_box()->set_west(from.box->west);
    to.mutable_box()->set_south(from.box->south);
    to.mutable_box()->set_east(from.box->east);
    to.mutable_box()->set_north(from.box->north);
  }
  to.set_clip(from.clip);
  to.set_units(from.units);
}

Result<query::SlabRequest> take_slab_request(const v1::SlabRequest& from) {
  query::SlabRequest to;
  NVMDB_ASSIGN(to.selection, take_selection(from.selection()));
  NVMDB_TRY(check_name(from.units(), "units"));
  if (from.has_box()) {
    const v1::Box& box = from.box();
    for (const double edge : {box.west(), box.south(), box.east(), box.north()})
      NVMDB_TRY(check_finite(edge, "box"));
    to.box = query::Box{box.west(), box.south(), box.east(), box.north()};
  }
  to.clip = from.clip();
  to.units = from.units();
  return to;
}

void put_header(const query::SlabAnswer& from, v1::SlabHeader& to) {
  put_provenance(from.provenance, *to.mutable_provenance());
  put(from.step, *to.mutable_step());
  to.mutable_valid_time()->set_seconds(from.provenance.run.key.reference_time + from.step.end_seconds);
  to.set_rows(from.rows);
  to.set_columns(from.columns);
  to.set_rectilinear(from.rectilinear);
  to.set_encoding(v1::VALUE_ENCODING_FLOAT32_LE);
  to.set_no_positions(!from.has_positions());
}

Result<query::SlabAnswer> take_header(const v1::SlabHeader& from) {
  constexpr std::uint64_t kPointsMax = 1ULL << 32U;
  if (from.encoding() != v1::VALUE_ENCODING_FLOAT32_LE) {
    return Status::corruption("slab answer: value encoding " + std::to_string(from.encoding()) +
                              " is not known");
  }
  if (from.rows() > kPointsMax || from.columns() > kPointsMax ||
      (from.rows() != 0 && from.columns() > kPointsMax / from.rows())) {
    return Status::corruption("slab answer: impossible size " + std::to_string(from.rows()) + " x " +
                              std::to_string(from.columns()));
  }
  query::SlabAnswer to;
  to.provenance = take_provenance(from.provenance());
  to.step = take(from.step());
  to.rows = from.rows();
  to.columns = from.columns();
  to.rectilinear = from.rectilinear();
  return to;
}

}  // namespace nvmdb::server::wire
