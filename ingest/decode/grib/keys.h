#pragma once

#include <cstdint>
#include <string>

#include "engine/met/level.h"
#include "engine/met/parameter.h"
#include "ingest/decode/grib/handle.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// What a field is a field of. Errors: InvalidArgument (a product template that ecCodes does not know).
[[nodiscard]] Result<met::Parameter> read_parameter(const Handle& handle, unsigned edition);

/// Where in the vertical it is. Numbers come from scaled value and scale factor (GRIB2), so that 0-0.1 m and
/// 0.1-0.4 m stay apart, which ecCodes' whole-number `level` does not.
[[nodiscard]] met::Level read_level(const Handle& handle, unsigned edition);

/// Number of the ensemble member; 0 for the control and when there is none.
[[nodiscard]] std::uint32_t read_member(const Handle& handle);

/// The version of an experiment (MARS expver, four characters) or nothing.
[[nodiscard]] std::string read_version(const Handle& handle);

}  // namespace nvmdb::ingest::grib
