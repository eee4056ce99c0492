#pragma once

#include <cstdint>
#include <vector>

#include "query/request.h"
#include "storage/base/result.h"

namespace nvmdb::query {

/// Points at equal distances along the shorter great circle from one point to another, both among them.
/// Errors: InvalidArgument (less than two points; ends that are one place, or opposite ones: any line joins
/// them).
[[nodiscard]] Result<std::vector<Point>> section_line(const Point& from, const Point& to,
                                                      std::uint32_t count);

/// Distance of each point from the first along the line through them, on a sphere. Units: m.
[[nodiscard]] std::vector<double> distances_along(const std::vector<Point>& points, double radius_m);

}  // namespace nvmdb::query
