#include <algorithm>
#include <cmath>
#include <limits>

#include "query/derived_plan.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::query {
namespace {

constexpr std::size_t kPointsAtOnce = 256;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Index of the cell `offset` away along an axis, or of the last one there is.
std::uint64_t neighbour(std::uint64_t index, std::int8_t offset, std::uint64_t count) {
  if (offset < 0) return index > 0 ? index - 1 : 0;
  return offset > 0 ? std::min(index + 1, count - 1) : index;
}

/// Where the values of an input lie for a point of the grid: one place, or two whose mean is meant.
struct Places {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

Places places(const derived::Input& input, char stagger, const met::Grid& grid, std::uint64_t point) {
  if (stagger == ' ' && input.row_offset == 0 && input.column_offset == 0) return {point, point};
  const std::uint64_t row = neighbour(point / grid.columns, input.row_offset, grid.rows);
  const std::uint64_t column = neighbour(point % grid.columns, input.column_offset, grid.columns);
  if (stagger == ' ') return {row * grid.columns + column, row * grid.columns + column};
  const std::uint64_t width = grid.columns + (stagger == 'X' ? 1U : 0U);
  const std::uint64_t minus = row * width + column;
  const std::uint64_t plus = minus + (stagger == 'X' ? 1 : width);
  switch (input.side) {
    case derived::Side::Minus:
      return {minus, minus};
    case derived::Side::Plus:
      return {plus, plus};
    default:
      return {minus, plus};
  }
}

bool follow_each_other(std::span<const std::uint64_t> points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i] != points[0] + i) return false;
  }
  return true;
}

/// Reads one field at the places of the points.
class FieldValues {
 public:
  FieldValues(const derived::Input& input, char stagger, const met::Grid& grid,
              std::span<const std::uint64_t> points)
      : plain_(stagger == ' ' && input.row_offset == 0 && input.column_offset == 0 &&
               follow_each_other(points)),
        first_(points.front()),
        buffer_(points.size()) {
    if (plain_) return;
    places_.reserve(points.size());
    for (const std::uint64_t point : points) places_.push_back(places(input, stagger, grid, point));
  }

  /// Errors: Corruption.
  [[nodiscard]] Status read(const engine::FieldStore& store, const engine::FieldRef& ref, std::span<double> values) {
    if (storage::read_guarded([&] { read_readable(ref, values); })) return Status::ok();
    return store.unreadable({&ref, 1});
  }

 private:
  void read_readable(const engine::FieldRef& ref, std::span<double> values) {
    const met::Decoder decoder = ref.decoder();
    if (plain_) {
      ref.charge_read(first_, buffer_.size());
      decoder.run(first_, buffer_);
      std::copy(buffer_.begin(), buffer_.end(), values.begin());
      return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Places& at = places_[i];
      ref.charge_read(at.first, 1);
      const auto first = static_cast<double>(decoder.at(at.first));
      values[i] = at.first == at.second ? first : 0.5 * (first + static_cast<double>(decoder.at(at.second)));
    }
  }

  bool plain_;
  std::uint64_t first_;
  std::vector<float> buffer_;
  std::vector<Places> places_;
};

/// NaN where an input is missing or the formula has no answer.
void hide_missing(const derived::Block& block, std::span<double> values) {
  for (const derived::Block::Slot& slot : block.slots) {
    for (std::size_t level = 0; level < slot.levels; ++level) {
      for (std::size_t i = 0; i < block.points; ++i) {
        if (std::isnan(slot.values[level * block.points + i])) values[i] = kNan;
      }
    }
  }
  for (double& value : values) {
    if (!std::isfinite(value)) value = kNan;
  }
}

}  // namespace

Status DerivedField::fill_slot(std::size_t slot, std::span<const std::uint64_t> points,
                             derived::Block& block) const {
  const Slot& from = slots_[slot];
  derived::Block::Slot& to = block.slots[slot];
  to.levels = from.is_zero ? 1 : from.levels.size();
  to.maximum = from.maximum;
  to.values.assign(to.levels * points.size(), 0.0);
  if (from.is_zero || to.levels == 0) return Status::ok();
  FieldValues reader(definition_->inputs[slot], from.stagger, *grid_, points);
  std::vector<double> other(points.size());
  for (std::size_t level = 0; level < to.levels; ++level) {
    const std::span<double> values = std::span(to.values).subspan(level * points.size(), points.size());
    NVMDB_TRY(reader.read(*store_, *from.levels[level].field, values));
    if (from.levels[level].other == nullptr) continue;
    NVMDB_TRY(reader.read(*store_, *from.levels[level].other, other));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5 * (values[i] + other[i]);
  }
  return Status::ok();
}

Status DerivedField::fill(const Geometry* geometry, std::span<const std::uint64_t> points,
                        derived::Block& block) const {
  block.points = points.size();
  block.grid = grid_.get();
  block.level_type = level_type_;
  block.level = level_;
  block.bucket_mm = bucket_mm_;
  block.slots.resize(slots_.size());
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) NVMDB_TRY(fill_slot(slot, points, block));
  block.rows.clear();
  block.columns.clear();
  if (grid_->points == std::uint64_t{grid_->rows} * grid_->columns) {
    for (const std::uint64_t point : points) {
      block.rows.push_back(point / grid_->columns);
      block.columns.push_back(point % grid_->columns);
    }
  }
  if (!definition_->needs_positions) return Status::ok();
  block.latitudes.assign(points.size(), kNan);
  block.longitudes.assign(points.size(), kNan);
  if (geometry == nullptr) return Status::ok();
  for (std::size_t i = 0; i < points.size(); ++i) {
    geometry->positions(points[i], std::span(block.latitudes).subspan(i, 1),
                        std::span(block.longitudes).subspan(i, 1));
  }
  return Status::ok();
}

Status DerivedField::compute(const Geometry* geometry, std::span<const std::uint64_t> points,
                           std::span<float> values) const {
  if (is_missing_) {
    std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN());
    return Status::ok();
  }
  derived::Block block;
  std::vector<double> computed;
  for (std::size_t done = 0; done < points.size(); done += kPointsAtOnce) {
    const std::size_t count = std::min(kPointsAtOnce, points.size() - done);
    NVMDB_TRY(fill(geometry, points.subspan(done, count), block));
    computed.assign(count, kNan);
    definition_->compute(block, computed);
    hide_missing(block, computed);
    for (std::size_t i = 0; i < count; ++i) values[done + i] = static_cast<float>(computed[i]);
  }
  return Status::ok();
}

}  // namespace nvmdb::query
