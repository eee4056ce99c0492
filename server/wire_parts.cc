#include "server/wire_parts.h"

#include <cmath>

#include "server/wire.h"

namespace nvmdb::server::wire {
namespace {

constexpr std::size_t kNameBytesMax = 256;

}  // namespace

v1::Interpolation put_interpolation(query::Interpolation from) {
  return from == query::Interpolation::Bilinear ? v1::INTERPOLATION_BILINEAR : v1::INTERPOLATION_NEAREST;
}

Status check_name(const std::string& text, const char* field) {
  if (text.size() <= kNameBytesMax) return Status::ok();
  return Status::invalid_argument(std::string("selection.") + field + " has " + std::to_string(text.size()) +
                                  " bytes; at most " + std::to_string(kNameBytesMax) + " are allowed");
}

Status check_finite(double value, const char* field) {
  if (std::isfinite(value)) return Status::ok();
  return Status::invalid_argument(std::string(field) + " is not a finite number");
}

void put_provenance(const query::Provenance& from, v1::Provenance& to) {
  put(from.run, *to.mutable_run());
  to.set_member(from.member);
  put(from.parameter, *to.mutable_parameter());
  to.mutable_level()->set_type(from.level_type);
  to.mutable_level()->set_value(from.level);
  to.mutable_level()->set_bottom(from.bottom);
  to.set_units(from.units);
  to.set_grid_summary(from.grid_summary);
  to.set_interpolation(put_interpolation(from.interpolation));
}

query::Provenance take_provenance(const v1::Provenance& from) {
  query::Provenance to;
  to.run = take(from.run());
  to.member = from.member();
  to.parameter = take(from.parameter());
  to.level_type = from.level().type();
  to.level = from.level().value();
  to.bottom = from.level().bottom();
  to.units = from.units();
  to.grid_summary = from.grid_summary();
  to.interpolation = from.interpolation() == v1::INTERPOLATION_BILINEAR ? query::Interpolation::Bilinear
                                                                        : query::Interpolation::Nearest;
  return to;
}

void put_points(const std::vector<query::LocatedPoint>& from, v1::SeriesPoints& to) {
  for (const query::LocatedPoint& point : from) {
    to.add_grid_latitudes(point.grid.latitude);
    to.add_grid_longitudes(point.grid.longitude);
    to.add_grid_indices(point.index);
    to.add_distances_m(point.distance_m);
  }
}

Result<std::vector<query::LocatedPoint>> take_points(const v1::SeriesPoints& from,
                                                     const std::vector<query::Point>& asked) {
  const auto count = static_cast<int>(asked.size());
  if (from.grid_latitudes_size() != count || from.grid_longitudes_size() != count ||
      from.grid_indices_size() != count || from.distances_m_size() != count) {
    return Status::corruption("series answer: point columns do not have the " + std::to_string(count) +
                              " points asked");
  }
  std::vector<query::LocatedPoint> to;
  to.reserve(asked.size());
  for (int i = 0; i < count; ++i) {
    to.push_back({asked[static_cast<std::size_t>(i)],
                  {from.grid_latitudes(i), from.grid_longitudes(i)},
                  from.grid_indices(i),
                  from.distances_m(i)});
  }
  return to;
}

Result<query::Interpolation> take_interpolation(v1::Interpolation from) {
  if (!v1::Interpolation_IsValid(from)) {
    return Status::invalid_argument("interpolation " + std::to_string(from) + " is not known");
  }
  return from == v1::INTERPOLATION_BILINEAR ? query::Interpolation::Bilinear : query::Interpolation::Nearest;
}

}  // namespace nvmdb::server::wire
