#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/met/time.h"
#include "ingest/decode/netcdf/value_source.h"

namespace nvmdb::ingest::netcdf {

/// A time of WRF: YYYY, MM, DD, HH and, where they are there, minutes and seconds, parted by any single
/// characters
/// ("2008-06-27_01:00:00", "2008_06_27_01_00_00", "2008-06-27T01"). Hour 24 is the next day's 00. A fraction
/// of a second is left away. Errors: InvalidArgument (also for WRF's "0000-00-00_00:00:00", which means no
/// time).
[[nodiscard]] Result<met::UnixSeconds> parse_wrf_time(std::string_view text);
/// True for a text without any digit but 0: WPS and crashed writers leave such.
[[nodiscard]] bool is_no_time(std::string_view text);

/// Units of a CF time coordinate, "hours since 2000-01-01 00:00:00". Source: CF conventions, section 4.4.
struct TimeUnits {
  double seconds = 1;
  met::UnixSeconds origin = 0;
};
[[nodiscard]] Result<TimeUnits> parse_time_units(std::string_view text);

struct Frame {
  std::uint64_t index = 0;  ///< along the time dimension
  met::UnixSeconds valid_time = 0;
};

struct RejectedFrame {
  std::string where;
  Status why;
};

/// The frames of a file and the time from which lead times count.
struct FrameTable {
  std::optional<std::uint32_t> time_dimension;
  bool is_static =
      false;  ///< no time anywhere: one frame of step 0 (index 0), or none when there is no time dimension
  std::vector<Frame>
      frames;  ///< to be stored, in file order; of frames with one valid time the last complete one
  std::vector<RejectedFrame> rejected;
  met::UnixSeconds reference_time = 0;
  met::ReferenceSignificance significance = met::ReferenceSignificance::StartOfForecast;
};

/// Finds out what the frames are the time of: from Times, else from a CF time coordinate or XTIME. A frame
/// whose values are not all in the file is rejected. Errors: IoError.
[[nodiscard]] Result<FrameTable> read_frames(ValueSource& source, const DecodeLimits& limits);

}  // namespace nvmdb::ingest::netcdf
