#pragma once

#include <memory>
#include <span>
#include <string>

#include "storage/base/result.h"

namespace nvmdb::query {

/// Spells a unit as udunits does: what WRF and GRIB files write ("m s**-1", "W m{-2}", "Degree true", "gpm")
/// becomes what udunits reads.
[[nodiscard]] std::string udunits_spelling(const std::string& units);

/// Converts values between two units, by udunits. NaN stays NaN.
/// Threads: any number (udunits is entered by one at a time).
class UnitConverter {
 public:
  /// Errors: InvalidArgument (a unit that udunits does not know, units of different quantities).
  [[nodiscard]] static Result<UnitConverter> create(const std::string& from, const std::string& to);
  void convert(std::span<float> values) const;

 private:
  struct State;
  explicit UnitConverter(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace nvmdb::query
