#pragma once

#include <cstdint>
#include <string>

namespace nvmdb::met {

/// Where in the vertical a field is: ecCodes `typeOfLevel` words (`surface`, `heightAboveGround`, `isobaricInhPa`,
/// ...); WRF native: `eta`, `eta_stag`, `soil` (numbered from 1), else the name of the dimension; `none` when the
/// product has no level.
/// Units: those of the level type (isobaricInhPa: hPa, heightAboveGround: m, depthBelowLandLayer: m).
struct Level {
  std::string type = "surface";
  double value = 0;   ///< the level, or the top of a layer, as ecCodes' `level` and `topLevel` name it but unrounded
  double bottom = 0;  ///< of a layer; equal to `value` for a plain level
  bool operator==(const Level&) const = default;
  [[nodiscard]] bool is_layer() const { return value != bottom; }
};

/// "2", "500", "0-0.1": the shortest text that reads back.
[[nodiscard]] std::string format_level(double value, double bottom);

}  // namespace nvmdb::met
