#pragma once

#include <string>
#include <vector>

#include "nvmdb/v1/query.pb.h"
#include "query/answer.h"
#include "storage/base/result.h"

namespace nvmdb::server::wire {

// Pieces that the messages of several questions have in common; for the files of wire.h only.

[[nodiscard]] Status check_name(const std::string& text, const char* field);
[[nodiscard]] Status check_finite(double value, const char* field);

[[nodiscard]] v1::Interpolation put_interpolation(query::Interpolation from);
void put_provenance(const query::Provenance& from, v1::Provenance& to);
void put_points(const std::vector<query::LocatedPoint>& from, v1::SeriesPoints& to);

[[nodiscard]] Result<query::Interpolation> take_interpolation(v1::Interpolation from);
[[nodiscard]] query::Provenance take_provenance(const v1::Provenance& from);
/// Errors: Corruption (not as many as were asked).
[[nodiscard]] Result<std::vector<query::LocatedPoint>> take_points(const v1::SeriesPoints& from,
                                                                   const std::vector<query::Point>& asked);

}  // namespace nvmdb::server::wire
