#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/e2e/queries/stored_file.h"

namespace nvmdb::e2e {

using Json = nlohmann::json;

/// How many queries of the reference were asked, and how many gave the reference's answer.
struct Score {
  std::uint64_t right = 0;
  std::uint64_t asked = 0;

  Score& operator+=(const Score& other) {
    right += other.right;
    asked += other.asked;
    return *this;
  }
};

/// Each asks one query of a file's reference; the text is empty when the answer is the reference's.
[[nodiscard]] std::string ask_grib(StoredFile& file, const Json& reference, const Json& query);
[[nodiscard]] std::string ask_netcdf(StoredFile& file, const Json& reference, const Json& query);

/// Values are printed with 10 digits: within one float of each other, or both missing.
[[nodiscard]] inline bool same_value(float found, const Json& expected) {
  if (expected.is_null()) return std::isnan(found);
  const auto value = static_cast<float>(expected.get<double>());
  return found == value || found == std::nextafterf(value, found);
}

/// Compares the points of a slab that are inside the reference's box with its count, extremes and mean.
[[nodiscard]] std::string compare_slab(const query::SlabAnswer& slab, const Json& query);
/// Asks for the slab of the reference's box, then compares.
[[nodiscard]] std::string ask_slab(StoredFile& file, const query::Selection& selection, const Json& query);

}  // namespace nvmdb::e2e
