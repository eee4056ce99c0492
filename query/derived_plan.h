#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/field_store.h"
#include "query/column_cache.h"
#include "query/derived/definition.h"
#include "query/geometry/geometry.h"
#include "query/request.h"

namespace nvmdb::query {

/// A derived parameter at one step: its inputs are found, its values are not computed yet. Valid while the
/// ReadView and the plan live.
class DerivedField {
 public:
  [[nodiscard]] engine::GridId grid_id() const { return grid_id_; }
  [[nodiscard]] const met::Grid& grid() const { return *grid_; }
  /// Computes the values of some points of grid().
  /// Shape: `geometry` is that of the grid; nullptr will do where the definition needs no positions.
  ///        values.size() == points.size(). Missing is NaN.
  /// Errors: Corruption (an input does not match its checksum, or cannot be read).
  /// Threads: any number.
  [[nodiscard]] Status compute(const Geometry* geometry, std::span<const std::uint64_t> points,
                               std::span<float> values) const;

 private:
  friend class DerivedPlan;
  struct LevelFields {
    const engine::FieldRef* field = nullptr;
    const engine::FieldRef* other = nullptr;  // the interface above, where the mean of both is meant
  };
  struct Slot {
    std::vector<LevelFields> levels;
    char stagger = ' ';  // 'X', 'Y'
    double maximum = 0;
    bool is_zero = false;  // nothing before the first step
  };

  [[nodiscard]] Status fill(const Geometry* geometry, std::span<const std::uint64_t> points,
                            derived::Block& block) const;
  [[nodiscard]] Status fill_slot(std::size_t slot, std::span<const std::uint64_t> points, derived::Block& block) const;

  const engine::FieldStore* store_ = nullptr;
  const derived::Definition* definition_ = nullptr;
  std::vector<Slot> slots_;
  std::shared_ptr<const met::Grid> grid_;
  engine::GridId grid_id_ = 0;
  double bucket_mm_ = 0;
  bool is_missing_ = false;  // everywhere
  std::string level_type_;
  double level_ = 0;
};

/// How the answer to a selection of a derived parameter is computed from the fields of one run.
class DerivedPlan {
 public:
  /// What a run offers of a parameter without a choice of level: for profiles.
  struct LevelChoice {
    std::string level_type;
    double level = 0;
    double bottom = 0;
  };

  /// Errors: NotFound (names the inputs that the run has not, or levels, or steps), InvalidArgument (several
  /// level
  ///         types or levels fit).
  [[nodiscard]] static Result<DerivedPlan> make(engine::FieldStore& store, const engine::ReadView& view,
                                                const derived::Definition& definition,
                                                const Selection& selection, const RunIndex& index);
  /// The levels at which the parameter can be computed, of the selection's member and level type, lowest
  /// number first. Errors: as make().
  [[nodiscard]] static Result<std::vector<LevelChoice>> levels(const derived::Definition& definition,
                                                               const Selection& selection,
                                                               const RunIndex& index);

  /// Those that the selection asks for and all inputs have; at least one.
  [[nodiscard]] const std::vector<met::Step>& steps() const { return steps_; }
  [[nodiscard]] const derived::Definition& definition() const { return *definition_; }
  [[nodiscard]] const engine::Run& run() const { return run_; }
  [[nodiscard]] std::uint32_t member() const { return member_; }
  [[nodiscard]] const std::string& level_type() const { return level_type_; }
  [[nodiscard]] double level() const { return level_; }
  [[nodiscard]] double bottom() const { return bottom_; }
  /// Name, units and long name of the derived parameter, which tells what it is computed from.
  [[nodiscard]] const met::Parameter& parameter() const { return parameter_; }

  /// Errors: Corruption, Overloaded (`budget` is used up), InvalidArgument (inputs on grids that do not go together), those of
  /// Catalogue::grid().
  [[nodiscard]] Result<DerivedField> at(std::size_t step, engine::CheckBudget* budget = nullptr) const;

 private:
  using ColumnPointer = std::shared_ptr<const engine::FieldColumn>;
  struct LevelColumns {
    ColumnPointer column;
    ColumnPointer other;
  };
  struct InputColumns {
    std::vector<LevelColumns> levels;  // none: an optional input that is not there
    char stagger = ' ';
  };
  struct Times {
    met::Step now;                    // of the inputs
    std::optional<met::Step> before;  // of those at the start of the interval
  };

  friend class DerivedPlanner;
  Result<DerivedField::Slot> slot_at(std::size_t input, const Times& times) const;

  engine::FieldStore* store_ = nullptr;
  const derived::Definition* definition_ = nullptr;
  engine::Run run_;
  std::uint32_t member_ = 0;
  std::string level_type_;
  double level_ = 0;
  double bottom_ = 0;
  met::Parameter parameter_;
  double bucket_mm_ = 0;
  std::vector<InputColumns> inputs_;
  ColumnPointer anchor_;  // a field on the grid of the answer
  std::vector<met::Step> steps_;
  std::vector<Times> times_;
};

}  // namespace nvmdb::query
