#pragma once

#include <eccodes.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace nvmdb::ingest::testing {

/// A field as ecCodes itself gives it, put into canonical order by walking the message point by point.
struct ReferenceField {
  std::string short_name;
  std::vector<float> values;                   ///< canonical order; NaN is missing
  std::vector<std::uint64_t> canonical_index;  ///< of each point of the message
};

/// Reads a file message by message with ecCodes' own file reader and multi-field support; ends where ecCodes
/// ends.
[[nodiscard]] std::vector<ReferenceField> read_by_eccodes(const std::string& path);

/// The N latitudes from north to south of a Gaussian grid, 2 * number of them.
[[nodiscard]] std::vector<double> gaussian_latitudes(std::uint32_t number);

}  // namespace nvmdb::ingest::testing
