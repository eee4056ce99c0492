#include <cstring>

#include "server/wire.h"
#include "server/wire_parts.h"

namespace nvmdb::server::wire {
namespace {

constexpr int kLevelsMax = 1000;
constexpr std::uint32_t kSectionPointsMax = 10'000;

v1::Vertical put_vertical(query::Vertical from) {
  switch (from) {
    case query::Vertical::Pressure:
      return v1::VERTICAL_PRESSURE;
    case query::Vertical::Height:
      return v1::VERTICAL_HEIGHT;
    case query::Vertical::Stored:
      break;
  }
  return v1::VERTICAL_STORED;
}

Result<query::Vertical> take_vertical(v1::Vertical from) {
  switch (from) {
    case v1::VERTICAL_UNSPECIFIED:
    case v1::VERTICAL_STORED:
      return query::Vertical::Stored;
    case v1::VERTICAL_PRESSURE:
      return query::Vertical::Pressure;
    case v1::VERTICAL_HEIGHT:
      return query::Vertical::Height;
    default:
      return Status::invalid_argument("vertical " + std::to_string(from) + " is not known");
  }
}

/// What the requests of profiles and sections have in common.
template <class Request, class Message>
void put_common(const Request& from, Message& to) {
  put(from.selection, *to.mutable_selection());
  to.set_interpolation(put_interpolation(from.interpolation));
  to.set_vertical(put_vertical(from.vertical));
  to.mutable_levels()->Add(from.levels.begin(), from.levels.end());
  to.set_units(from.units);
}

template <class Message, class Request>
Status take_common(const Message& from, Request& to) {
  NVMDB_ASSIGN(to.selection, take_selection(from.selection()));
  NVMDB_ASSIGN(to.interpolation, take_interpolation(from.interpolation()));
  NVMDB_ASSIGN(to.vertical, take_vertical(from.vertical()));
  if (from.levels_size() > kLevelsMax) {
    return Status::invalid_argument("levels has " + std::to_string(from.levels_size()) + " entries; at most " +
                                    std::to_string(kLevelsMax) + " are answered");
  }
  for (const double level : from.levels()) NVMDB_TRY(check_finite(level, "levels"));
  to.levels.assign(from.levels().begin(), from.levels().end());
  NVMDB_TRY(check_name(from.units(), "units"));
  to.units = from.units();
  return Status::ok();
}

Status wrong_length(const char* what, std::size_t found, std::size_t expected) {
  return Status::corruption(std::string("curtain answer: ") + std::to_string(found) + " " + what + ", expected " +
                            std::to_string(expected));
}

}  // namespace

void put(const query::ProfileRequest& from, v1::ProfileRequest& to) {
  put_common(from, to);
  to.set_latitude(from.point.latitude);
  to.set_longitude(from.point.longitude);
}

void put(const query::SectionRequest& from, v1::SectionRequest& to) {
  put_common(from, to);
  to.set_from_latitude(from.from.latitude);
  to.set_from_longitude(from.from.longitude);
  to.set_to_latitude(from.to.latitude);
  to.set_to_longitude(from.to.longitude);
  to.set_point_count(from.points);
}

Result<query::ProfileRequest> take_profile_request(const v1::ProfileRequest& from) {
  query::ProfileRequest to;
  NVMDB_TRY(take_common(from, to));
  NVMDB_TRY(check_finite(from.latitude(), "latitude"));
  NVMDB_TRY(check_finite(from.longitude(), "longitude"));
  to.point = {from.latitude(), from.longitude()};
  return to;
}

Result<query::SectionRequest> take_section_request(const v1::SectionRequest& from) {
  query::SectionRequest to;
  NVMDB_TRY(take_common(from, to));
  NVMDB_TRY(check_finite(from.from_latitude(), "from_latitude"));
  NVMDB_TRY(check_finite(from.from_longitude(), "from_longitude"));
  NVMDB_TRY(check_finite(from.to_latitude(), "to_latitude"));
  NVMDB_TRY(check_finite(from.to_longitude(), "to_longitude"));
  if (from.point_count() > kSectionPointsMax) {
    return Status::invalid_argument("point_count is " + std::to_string(from.point_count()) + "; at most " +
                                    std::to_string(kSectionPointsMax) + " are answered");
  }
  to.from = {from.from_latitude(), from.from_longitude()};
  to.to = {from.to_latitude(), from.to_longitude()};
  if (from.point_count() != 0) to.points = from.point_count();
  return to;
}

void put(const query::CurtainAnswer& from, v1::Curtain& to) {
  put_provenance(from.provenance, *to.mutable_provenance());
  put(from.step, *to.mutable_step());
  to.mutable_valid_time()->set_seconds(from.provenance.run.key.reference_time + from.step.end_seconds);
  to.set_vertical(put_vertical(from.vertical));
  to.set_level_units(from.level_units);
  for (const query::LocatedPoint& point : from.points) {
    to.add_latitudes(point.asked.latitude);
    to.add_longitudes(point.asked.longitude);
  }
  put_points(from.points, *to.mutable_points());
  to.mutable_distances_m()->Add(from.distances_m.begin(), from.distances_m.end());
  to.mutable_levels()->Add(from.levels.begin(), from.levels.end());
  to.mutable_bottoms()->Add(from.bottoms.begin(), from.bottoms.end());
  to.set_encoding(v1::VALUE_ENCODING_FLOAT32_LE);
  to.set_values(from.values.data(), from.values.size() * sizeof(float));
}

Result<query::CurtainAnswer> take_curtain(const v1::Curtain& from) {
  query::CurtainAnswer to;
  to.provenance = take_provenance(from.provenance());
  to.step = take(from.step());
  NVMDB_ASSIGN(to.vertical, take_vertical(from.vertical()));
  to.level_units = from.level_units();
  const auto points = static_cast<std::size_t>(from.latitudes_size());
  const auto levels = static_cast<std::size_t>(from.levels_size());
  if (from.longitudes_size() != from.latitudes_size()) {
    return wrong_length("longitudes", static_cast<std::size_t>(from.longitudes_size()), points);
  }
  std::vector<query::Point> asked;
  for (int i = 0; i < from.latitudes_size(); ++i) asked.push_back({from.latitudes(i), from.longitudes(i)});
  NVMDB_ASSIGN(to.points, take_points(from.points(), asked));
  to.distances_m.assign(from.distances_m().begin(), from.distances_m().end());
  to.levels.assign(from.levels().begin(), from.levels().end());
  to.bottoms.assign(from.bottoms().begin(), from.bottoms().end());
  if (to.distances_m.size() != points) return wrong_length("distances", to.distances_m.size(), points);
  if (to.bottoms.size() != levels) return wrong_length("bottoms", to.bottoms.size(), levels);
  const std::size_t bytes = points * levels * sizeof(float);
  if (from.encoding() != v1::VALUE_ENCODING_FLOAT32_LE || from.values().size() != bytes) {
    return wrong_length("value bytes of FLOAT32_LE", from.values().size(), bytes);
  }
  to.values.resize(points * levels);
  if (bytes != 0) std::memcpy(to.values.data(), from.values().data(), bytes);
  return to;
}

}  // namespace nvmdb::server::wire
