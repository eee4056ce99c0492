#pragma once

#include "ingest/decode/field_sink.h"
#include "ingest/decode/grib/field_values.h"
#include "ingest/decode/grib/point_order.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// Writes the extent of a field (layout: met/encoding.h) to the sink in canonical order, between
/// begin_field() and end_field(), and returns the statistics of what it wrote. Errors: those of the sink.
[[nodiscard]] Result<DecodedStatistics> write_extent(const FieldValues& values, const PointOrder& order,
                                                     FieldSink& sink);

}  // namespace nvmdb::ingest::grib
