#pragma once

#include "engine/met/step.h"
#include "engine/met/time.h"
#include "ingest/decode/grib/handle.h"
#include "ingest/decode/grib/sections.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

struct FieldTimes {
  met::UnixSeconds reference_time = 0;
  met::ReferenceSignificance significance = met::ReferenceSignificance::StartOfForecast;
  met::Step step;
};

/// When a field is valid. Read from the octets where ecCodes 2.28 is wrong (negative forecast times) or
/// rounds (minutes, seconds). Errors: InvalidArgument (no such date, a step beyond all years), Corruption (no
/// time in the product). Source: GRIB2 section 1, code tables 4.4, 4.10, 4.11; GRIB1 section 1, code tables 4
/// and 5.
[[nodiscard]] Result<FieldTimes> read_times(const FieldSections& sections, const Handle& handle);

/// The same for a GRIB2 product at a point in time (templates 4.0, 4.1), from the octets alone.
[[nodiscard]] Result<FieldTimes> read_times_at_point(const FieldSections& sections);

/// `count` units of `unit` (GRIB2 code table 4.4) after `reference`, in seconds. Months and years go by the
/// calendar. Errors: InvalidArgument (unknown unit, out of range).
[[nodiscard]] Result<std::int64_t> units_to_seconds(met::UnixSeconds reference, std::int64_t count,
                                                    unsigned unit);

}  // namespace nvmdb::ingest::grib
