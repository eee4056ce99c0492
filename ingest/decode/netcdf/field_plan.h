#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/netcdf/frames.h"
#include "ingest/decode/netcdf/positions.h"
#include "ingest/decode/netcdf/values.h"

namespace nvmdb::ingest::netcdf {

/// How one variable becomes fields: one per frame and level.
struct FieldPlan {
  std::uint32_t variable = 0;
  bool in_frames = false;    ///< has the time dimension; others belong to the first frame that is stored
  std::uint64_t levels = 1;  ///< product of the dimensions between time and map
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::string level_type;                    ///< "surface", "eta", ..., "none"
  bool level_numbered = false;               ///< levels count from 1; else the level is 0
  std::optional<HorizontalPair> horizontal;  ///< none: an Unlocated grid of the variable's own shape
  std::string unlocated;                     ///< description of that grid
  met::Parameter parameter;
  Conversion conversion;
  std::uint64_t frames_together = 1;

  [[nodiscard]] std::uint64_t points() const { return rows * columns; }
};

/// What cannot be stored, and why.
struct RejectedVariable {
  std::string where;
  Status why;
};

struct FilePlan {
  std::vector<FieldPlan> fields;
  std::vector<RejectedVariable> rejected;
};

/// Plans all numeric variables. Character variables are passed over.
[[nodiscard]] FilePlan plan_fields(const ValueSource& source, const FrameTable& frames,
                                   const DecodeLimits& limits);

/// The run of the file: model, domain, reference time and global attributes.
[[nodiscard]] DecodedRun describe_run(const Dataset& dataset, const FrameTable& frames);

}  // namespace nvmdb::ingest::netcdf
