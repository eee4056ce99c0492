#pragma once

#include <cstdint>
#include <string>

namespace nvmdb::met {

/// What a field is a field of.
struct Parameter {
  std::string short_name;      ///< ecCodes shortName, or the WRF variable name
  std::string long_name;
  std::string units;           ///< as the file says
  std::int32_t param_id = 0;   ///< ecCodes paramId; 0 for WRF and for parameters ecCodes does not know
  std::string origin;          ///< "grib" or "wrf"
  /// Tells parameters apart that share a short name, such as "unknown": "0.3.192" (discipline.category.number) for
  /// GRIB2, "2.11" (table.indicator) for GRIB1; empty when the short name is enough.
  std::string discriminator;
  std::string stagger;         ///< WRF: "", "X", "Y", "Z"
  bool operator==(const Parameter&) const = default;
};

}  // namespace nvmdb::met
