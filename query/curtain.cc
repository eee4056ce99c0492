#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "query/derived_answers.h"
#include "query/engine_state.h"
#include "query/place_search.h"
#include "query/point_placer.h"
#include "query/section_line.h"
#include "query/vertical/column.h"
#include "storage/nvm/media_guard.h"

// Values above points: profiles, and sections along a line.
namespace nvmdb::query {
namespace {

using State = QueryEngine::State;
using Level = DerivedPlan::LevelChoice;

constexpr std::size_t kLevelsMax = 1000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What a profile and a section have in common.
struct CurtainRequest {
  Selection selection;
  std::vector<Point> points;
  Interpolation interpolation = Interpolation::Nearest;
  Vertical vertical = Vertical::Stored;
  std::vector<double> levels;
  std::string units;
};

/// The levels of one type that a run has of what is selected.
struct Levels {
  engine::Run run;
  std::vector<Level> levels;  // lowest first
};

/// Level types whose numbers fall as one goes up.
bool numbers_fall(const std::string& level_type) {
  static const std::set<std::string, std::less<>> falling{
      "isobaricInhPa",  "isobaricInPa", "isobaricLayer",       "hybrid",        "sigma",
      "depthBelowLand", "soil",         "depthBelowLandLayer", "depthBelowSea", "soilLayer"};
  return falling.contains(level_type);
}

/// What gives the coordinate of a level: the level itself times a factor, or the first of these parameters
/// there is.
struct CoordinateSource {
  std::vector<std::string> parameters;
  double factor = 0;
};

Result<CoordinateSource> source_of(Vertical vertical, const std::string& level_type) {
  const bool isobaric = level_type == "isobaricInhPa" || level_type == "isobaricInPa";
  if (vertical == Vertical::Pressure && isobaric)
    return CoordinateSource{{}, level_type == "isobaricInPa" ? 0.01 : 1.0};
  if (vertical == Vertical::Pressure && level_type == "eta") return CoordinateSource{{"pressure"}, 0};
  if (vertical == Vertical::Height && isobaric) return CoordinateSource{{"gh", "height"}, 0};
  if (vertical == Vertical::Height && level_type == "eta") return CoordinateSource{{"z"}, 0};
  if (vertical == Vertical::Height && level_type == "eta_stag") return CoordinateSource{{"zstag"}, 0};
  if (vertical == Vertical::Height && level_type == "heightAboveSea") return CoordinateSource{{}, 1.0};
  const std::string what = vertical == Vertical::Pressure ? "pressure" : "height above sea level";
  return Status::invalid_argument("levels of type '" + level_type + "' have no known " + what +
                                  "; ask for the levels as they are stored" +
                                  (level_type == "eta_stag" ? ", or for the parameter at cell centres" : ""));
}

/// Of several level types the only one that has several levels and, where they are interpolated, known
/// coordinates.
Result<std::vector<Level>> of_one_type(const Selection& selection, Vertical vertical, const engine::Run& run,
                                       std::vector<Level> levels) {
  std::map<std::string, std::size_t> counts;
  for (const Level& level : levels) ++counts[level.level_type];
  if (counts.size() > 1 && vertical != Vertical::Stored)
    std::erase_if(counts, [&](const auto& type) { return !source_of(vertical, type.first).is_ok(); });
  if (counts.size() > 1) std::erase_if(counts, [](const auto& type) { return type.second < 2; });
  if (counts.size() != 1) {
    std::vector<std::string> types;
    for (const Level& level : levels) {
      if (std::find(types.begin(), types.end(), level.level_type) == types.end())
        types.push_back(level.level_type);
    }
    return Status::invalid_argument("'" + selection.parameter + "' in run " + engine::format_run(run.key) +
                                    " has " + std::to_string(types.size()) +
                                    " level types; choose one: " + list_words(types));
  }
  const std::string type = counts.begin()->first;
  std::erase_if(levels, [&](const Level& level) { return level.level_type != type; });
  const bool fall = numbers_fall(type);
  std::sort(levels.begin(), levels.end(), [fall](const Level& a, const Level& b) {
    if (a.level != b.level) return fall ? a.level > b.level : a.level < b.level;
    return a.bottom < b.bottom;
  });
  const auto same = [](const Level& a, const Level& b) { return a.level == b.level && a.bottom == b.bottom; };
  levels.erase(std::unique(levels.begin(), levels.end(), same), levels.end());
  return levels;
}

/// The levels at which a run stores what is selected; none when it does not.
std::vector<Level> stored_levels(const Selection& selection, const RunIndex& index) {
  std::vector<const RunIndex::Row*> rows = rows_named(index, selection.parameter);
  std::erase_if(rows, [&](const RunIndex::Row* row) {
    return (selection.member.has_value() && *selection.member != row->row.member) ||
           (!selection.level_type.empty() && selection.level_type != row->level_type) ||
           (selection.level.has_value() && *selection.level != row->row.level) ||
           (selection.level_bottom.has_value() && *selection.level_bottom != row->row.bottom) ||
           select_steps(selection, index.run.key.reference_time, row->row.steps).empty();
  });
  std::vector<Level> levels;
  levels.reserve(rows.size());
  for (const RunIndex::Row* row : rows) levels.push_back({row->level_type, row->row.level, row->row.bottom});
  return levels;
}

/// The newest run that has what is selected, stored or computed, and its levels.
Result<Levels> find_levels(State& state, const engine::ReadView& view, const Selection& selection,
                           Vertical vertical) {
  NVMDB_ASSIGN(const auto runs, state.store.catalogue().runs());
  for (const engine::Run& run : runs) {
    if (!fits(selection, run)) continue;
    NVMDB_ASSIGN(const auto index, state.columns.index_of(run));
    std::vector<Level> levels = stored_levels(selection, *index);
    for (const derived::Definition* definition : derived::definitions_named(selection.parameter)) {
      if (!levels.empty() || definition->format != run.format) continue;
      auto computed = DerivedPlan::levels(*definition, selection, *index);
      if (computed.is_ok()) levels = std::move(computed).value();
    }
    if (levels.empty()) continue;
    NVMDB_ASSIGN(levels, of_one_type(selection, vertical, run, std::move(levels)));
    return Levels{run, std::move(levels)};
  }
  // Says why.
  NVMDB_TRY(find_selected(state, view, selection).status());
  return Status::not_found("no levels of '" + selection.parameter + "'");
}

/// Index of the one step that an answer shows. Errors: InvalidArgument (several intervals end at the step
/// asked).
Result<std::size_t> only_step(const Selection& selection, const std::vector<met::Step>& steps) {
  const bool lone = selection.valid_time.has_value() ||
                    (selection.step.has_value() && !selection.step->all && !selection.step->interval);
  std::set<std::string> words;
  for (const met::Step& step : steps) words.insert(met::format_step(step));
  if (!lone || words.size() == 1) return std::size_t{0};
  return Status::invalid_argument(
      "'" + selection.parameter + "' has " + std::to_string(words.size()) +
      " intervals that end there; choose one as the step: " + list_words({words.begin(), words.end()}));
}

/// Runs under a guard: see storage/nvm/media_guard.h.
void read_points(const engine::FieldRef& ref, const PlacedPoints& placed, std::span<float> values) {
  const met::Decoder decoder = ref.decoder();
  const auto value_at = [&](std::uint64_t index) {
    ref.charge_read(index, 1);
    return decoder.at(index);
  };
  for (std::size_t point = 0; point < values.size(); ++point) {
    const std::uint64_t index = placed.indexes[point];
    if (!placed.stencils.empty()) {
      values[point] = interpolate(value_at, placed.stencils[point]);
    } else {
      values[point] = index == PlacedPoints::kOutside ? PlacedPoints::kMissing : value_at(index);
    }
  }
}

/// Reads one field after the other at the same points.
class FieldReader {
 public:
  FieldReader(State& state, const engine::ReadView& view, const std::vector<Point>& points,
              Interpolation interpolation)
      : state_(state), view_(view), interpolation_(interpolation), placer_(points, interpolation) {}

  struct Read {
    met::Step step;
    Provenance provenance;
    bool is_direction = false;
  };

  /// `values`: one for each point. Errors: those of find_selected(), InvalidArgument.
  Result<Read> read(const Selection& selection, const std::string& units, std::span<float> values) {
    NVMDB_ASSIGN(const FoundSelection found, find_selected(state_, view_, selection));
    Read read;
    if (found.computed != nullptr) {
      const DerivedPlan& plan = *found.computed;
      NVMDB_ASSIGN(const std::size_t step, only_step(selection, plan.steps()));
      NVMDB_ASSIGN(const DerivedField field, plan.at(step));
      NVMDB_ASSIGN(const Placed* placed, place(field.grid_id()));
      NVMDB_TRY(compute_points(field, *placed->geometry, placed->points, values.data(), 1,
                               plan.definition().is_direction, nullptr));
      read = {plan.steps()[step], provenance_of(plan, field.grid(), units, interpolation_),
              plan.definition().is_direction};
    } else {
      const ResolvedSelection& stored = *found.stored;
      NVMDB_ASSIGN(const std::size_t step, only_step(selection, stored.steps));
      const engine::FieldRef& ref = stored.column->fields[stored.fields[step]];
      NVMDB_ASSIGN(const Placed* placed, place(ref.field.grid));
      NVMDB_TRY(state_.check_field(ref, placed->geometry->grid()));
      if (!storage::read_guarded([&] { read_points(ref, placed->points, values); })) {
        return state_.store.unreadable({&ref, 1});
      }
      read = {stored.steps[step], state_.provenance(stored, placed->geometry->grid(), units, interpolation_),
              false};
    }
    const std::string& from = found.computed != nullptr ? found.computed->parameter().units
                                                        : found.stored->selected.parameter->units;
    NVMDB_ASSIGN(const auto converter, state_.converter(from, units));
    if (converter.has_value()) converter->convert(values);
    return read;
  }

  /// Where the points are in the grid read first. Errors: InvalidArgument (a point is outside).
  Result<std::vector<LocatedPoint>> located() { return placer_.located(*last_); }
  [[nodiscard]] double radius_m() const {
    const met::Grid& grid = last_->grid();
    return (2 * grid.earth_semi_major + grid.earth_semi_minor) / 3;
  }

 private:
  struct Placed {
    std::shared_ptr<const Geometry> geometry;
    PlacedPoints points;
  };

  Result<const Placed*> place(engine::GridId grid) {
    const auto known = placed_.find(grid);
    if (known != placed_.end()) return &known->second;
    Placed made;
    NVMDB_ASSIGN(made.geometry, state_.geometries.get(grid));
    made.points = placer_.place(*made.geometry);
    last_ = made.geometry;
    return &placed_.emplace(grid, std::move(made)).first->second;
  }

  State& state_;
  const engine::ReadView& view_;
  const Interpolation interpolation_;
  PointPlacer placer_;
  std::map<engine::GridId, Placed> placed_;
  std::shared_ptr<const Geometry> last_;
};

/// A curtain while it is made. Arrays of fields are [levels][points].
class Curtain {
 public:
  Curtain(State& state, const engine::ReadView& view, const CurtainRequest& request)
      : state_(state),
        request_(request),
        selection_(request.selection),
        points_(request.points.size()),
        reader_(state, view, request.points, request.interpolation) {}

  Status read(const Levels& found, Elsewhere& elsewhere) {
    NVMDB_TRY(check_amount(std::max(found.levels.size(), request_.levels.size())));
    levels_ = found.levels;
    const met::UnixSeconds reference_time = found.run.key.reference_time;
    selection_.model = found.run.key.model;
    selection_.domain = found.run.key.domain;
    selection_.run = reference_time;
    selection_.version = found.run.key.version;
    values_.resize(levels_.size() * points_);
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      auto read =
          read_level(selection_, level, request_.units, std::span(values_).subspan(level * points_, points_));
      if (!read.is_ok()) return read.status();
      is_direction_ = read->is_direction;
      if (level > 0) continue;
      answer_.provenance = std::move(read->provenance);
      answer_.step = read->step;
      auto located = reader_.located();
      if (!located.is_ok()) elsewhere.run = found.run;
      NVMDB_ASSIGN(answer_.points, std::move(located));
      answer_.distances_m = distances_along(request_.points, reader_.radius_m());
      // What was found first is what the rest must be of.
      const met::Step& step = read->step;
      selection_.member = answer_.provenance.member;
      selection_.valid_time.reset();
      selection_.step = met::StepSelector{false, !step.is_instant(), step.start_seconds, step.end_seconds};
    }
    answer_.provenance.level = answer_.provenance.bottom = 0;
    return Status::ok();
  }

  Result<CurtainAnswer> finish() {
    answer_.vertical = request_.vertical;
    if (request_.vertical == Vertical::Stored) {
      for (const Level& level : levels_) {
        answer_.levels.push_back(level.level);
        answer_.bottoms.push_back(level.bottom);
      }
      answer_.values.resize(values_.size());
      for (std::size_t point = 0; point < points_; ++point) {
        const std::vector<float> column = column_of(point);
        std::copy(column.begin(), column.end(), answer_.values.begin() + offset(point, levels_.size()));
      }
      return std::move(answer_);
    }
    NVMDB_TRY(interpolate_levels());
    const bool pressure = request_.vertical == Vertical::Pressure;
    answer_.levels = answer_.bottoms = request_.levels;
    answer_.level_units = pressure ? "hPa" : "m";
    answer_.provenance.level_type = pressure ? "isobaricInhPa" : "heightAboveSea";
    return std::move(answer_);
  }

 private:
  static std::ptrdiff_t offset(std::size_t point, std::size_t levels) {
    return static_cast<std::ptrdiff_t>(point * levels);
  }

  [[nodiscard]] Status check_amount(std::size_t levels) const {
    if (levels <= kLevelsMax && points_ <= state_.limits.values_max / std::max<std::size_t>(levels, 1))
      return Status::ok();
    return Status::out_of_space(std::to_string(points_) + " points of " + std::to_string(levels) +
                                " levels are more than are answered at once");
  }

  Result<FieldReader::Read> read_level(Selection selection, std::size_t level, const std::string& units,
                                       std::span<float> values) {
    selection.level_type = levels_[level].level_type;
    selection.level = levels_[level].level;
    selection.level_bottom = levels_[level].bottom;
    return reader_.read(selection, units, values);
  }

  [[nodiscard]] std::vector<float> column_of(std::size_t point) const {
    std::vector<float> column;
    for (std::size_t level = 0; level < levels_.size(); ++level)
      column.push_back(values_[level * points_ + point]);
    return column;
  }

  Result<std::vector<double>> read_coordinates(Vertical vertical) {
    NVMDB_ASSIGN(const CoordinateSource source, source_of(vertical, levels_.front().level_type));
    std::vector<double> coordinates(values_.size(), kNan);
    if (source.parameters.empty()) {
      for (std::size_t i = 0; i < coordinates.size(); ++i)
        coordinates[i] = levels_[i / points_].level * source.factor;
      return coordinates;
    }
    std::vector<float> read(values_.size());
    const std::string units = vertical == Vertical::Pressure ? "hPa" : "m";
    Status failure = Status::ok();
    for (const std::string& parameter : source.parameters) {
      failure = Status::ok();
      Selection selection = selection_;
      selection.parameter = parameter;
      for (std::size_t level = 0; failure.is_ok() && level < levels_.size(); ++level)
        failure =
            read_level(selection, level, units, std::span(read).subspan(level * points_, points_)).status();
      if (failure.is_ok()) break;
    }
    if (!failure.is_ok()) {
      return Status(failure.code(),
                    "where the levels of '" + selection_.parameter + "' lie: " + failure.message());
    }
    std::copy(read.begin(), read.end(), coordinates.begin());
    return coordinates;
  }

  /// Pressure at the surface, where the run has it; hPa.
  std::vector<float> surface_pressure() {
    std::vector<float> values(points_);
    Selection selection = selection_;
    selection.parameter = "sp";
    selection.level_type = "surface";
    selection.level.reset();
    selection.level_bottom.reset();
    // A run without it says nothing of where the ground is.
    if (!reader_.read(selection, "hPa", values).is_ok())
      values.assign(points_, std::numeric_limits<float>::infinity());
    return values;
  }

  Status interpolate_levels() {
    const bool pressure = request_.vertical == Vertical::Pressure;
    NVMDB_ASSIGN(const std::vector<double> coordinates, read_coordinates(request_.vertical));
    // Levels of one pressure go on below the ground, where their values mean nothing.
    const bool isobaric = levels_.front().level_type.starts_with("isobaric");
    std::vector<double> pressures;
    std::vector<float> ground;
    if (isobaric) {
      NVMDB_ASSIGN(pressures, read_coordinates(Vertical::Pressure));
      ground = surface_pressure();
    }
    std::vector<double> axis(levels_.size());
    for (std::size_t point = 0; point < points_; ++point) {
      const std::vector<float> column = column_of(point);
      for (std::size_t level = 0; level < axis.size(); ++level)
        axis[level] = coordinates[level * points_ + point];
      for (const double at : request_.levels) {
        const auto bracket = vertical::find_bracket(axis, at, pressure);
        float value = PlacedPoints::kMissing;
        if (bracket.has_value())
          value =
              is_direction_ ? vertical::direction_at(column, *bracket) : vertical::value_at(column, *bracket);
        if (bracket.has_value() && isobaric) {
          const double lower = pressures[bracket->lower * points_ + point];
          const double upper = pressures[bracket->upper * points_ + point];
          if (lower * std::pow(upper / lower, bracket->share) > static_cast<double>(ground[point]))
            value = PlacedPoints::kMissing;
        }
        answer_.values.push_back(value);
      }
    }
    return Status::ok();
  }

  State& state_;
  const CurtainRequest& request_;
  Selection selection_;
  const std::size_t points_;
  FieldReader reader_;
  std::vector<Level> levels_;
  std::vector<float> values_;
  bool is_direction_ = false;
  CurtainAnswer answer_;
};

Status check_request(const CurtainRequest& request, const QueryLimits& limits) {
  if (request.points.size() > limits.points_max) {
    return Status::out_of_space(std::to_string(request.points.size()) + " points are asked for, at most " +
                                std::to_string(limits.points_max) + " are answered at once");
  }
  if (request.selection.step.has_value() && request.selection.step->all)
    return Status::invalid_argument("a profile or a section is of one step");
  const bool stored = request.vertical == Vertical::Stored;
  if (stored != request.levels.empty())
    return Status::invalid_argument(stored ? "levels are given, but not whether they are pressures or heights"
                                           : "no level to interpolate to is given");
  for (const double level : request.levels) {
    if (std::isfinite(level) && (level > 0 || request.vertical == Vertical::Height)) continue;
    return Status::invalid_argument(
        "a level to interpolate to is no " +
        std::string(request.vertical == Vertical::Height ? "height" : "pressure"));
  }
  return Status::ok();
}

Result<CurtainAnswer> curtain_of(State& state, const CurtainRequest& request, Elsewhere& elsewhere) {
  NVMDB_ASSIGN(const engine::ReadView view, state.store.view());
  NVMDB_ASSIGN(const Levels levels, find_levels(state, view, request.selection, request.vertical));
  Curtain curtain(state, view, request);
  NVMDB_TRY(curtain.read(levels, elsewhere));
  return curtain.finish();
}

Result<CurtainAnswer> answer_curtain(State& state, const CurtainRequest& request) {
  NVMDB_TRY(check_request(request, state.limits));
  return search_place<CurtainAnswer>(state, request,
                                     [&state](const CurtainRequest& one, Elsewhere& elsewhere) {
                                       return curtain_of(state, one, elsewhere);
                                     });
}

}  // namespace

Result<CurtainAnswer> QueryEngine::profile(const ProfileRequest& request) {
  return answer_curtain(*state_, {request.selection,
                                  {request.point},
                                  request.interpolation,
                                  request.vertical,
                                  request.levels,
                                  request.units});
}

Result<CurtainAnswer> QueryEngine::section(const SectionRequest& request) {
  if (request.points > state_->limits.points_max) {
    return Status::out_of_space("a section of " + std::to_string(request.points) + " points, at most " +
                                std::to_string(state_->limits.points_max) + " are answered at once");
  }
  NVMDB_ASSIGN(std::vector<Point> points, section_line(request.from, request.to, request.points));
  return answer_curtain(*state_, {request.selection, std::move(points), request.interpolation,
                                  request.vertical, request.levels, request.units});
}

}  // namespace nvmdb::query
