#include "reference_decoder.h"

#include <cmath>
#include <limits>

namespace nvmdb::ingest::testing {
namespace {

constexpr double kMissing = -7.0e299;

long integer(codes_handle* h, const char* key, long otherwise) {
  long value = otherwise;
  return codes_get_long(h, key, &value) == CODES_SUCCESS ? value : otherwise;
}

/// Row lengths in the message's order; one row of all points for grids without known positions.
std::vector<long> message_rows(codes_handle* h, const std::string& grid) {
  if (grid == "reduced_gg" || grid == "reduced_ll") {
    std::size_t count = 0;
    codes_get_size(h, "pl", &count);
    std::vector<long> rows(count);
    codes_get_long_array(h, "pl", rows.data(), &count);
    return rows;
  }
  return std::vector<long>(static_cast<std::size_t>(integer(h, "Nj", 0)), integer(h, "Ni", 0));
}

/// Walks the message as its flags say and writes down where each point belongs.
std::vector<std::uint64_t> canonical_order(codes_handle* h, const std::string& grid, std::size_t points) {
  std::vector<std::uint64_t> order(points);
  const bool located = grid == "regular_ll" || grid == "rotated_ll" || grid == "regular_gg" ||
                       grid == "reduced_gg" || grid == "reduced_ll" || grid == "lambert" ||
                       grid == "mercator" || grid == "polar_stereographic";
  if (!located) {
    for (std::size_t i = 0; i < points; ++i) order[i] = i;
    return order;
  }
  const std::vector<long> rows = message_rows(h, grid);
  const bool westward = integer(h, "iScansNegatively", 0) == 1;
  const bool northward = integer(h, "jScansPositively", 0) == 1;
  const bool columns_first = integer(h, "jPointsAreConsecutive", 0) == 1;
  const bool alternate = integer(h, "alternativeRowScanning", 0) == 1;
  std::vector<std::uint64_t> row_begin(rows.size());  // of canonical rows
  std::uint64_t begin = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    row_begin[r] = begin;
    begin += static_cast<std::uint64_t>(rows[northward ? rows.size() - 1 - r : r]);
  }
  const long outer = columns_first ? rows[0] : static_cast<long>(rows.size());
  std::size_t at = 0;
  for (long o = 0; o < outer; ++o) {
    const long inner = columns_first ? static_cast<long>(rows.size()) : rows[static_cast<std::size_t>(o)];
    for (long n = 0; n < inner; ++n, ++at) {
      const long along = alternate && o % 2 == 1 ? inner - 1 - n : n;
      const long i = columns_first ? o : along;
      const long j = columns_first ? along : o;
      const long length = rows[static_cast<std::size_t>(columns_first ? 0 : j)];
      const long column = westward ? length - 1 - i : i;
      const long row = northward ? static_cast<long>(rows.size()) - 1 - j : j;
      order[at] = row_begin[static_cast<std::size_t>(row)] + static_cast<std::uint64_t>(column);
    }
  }
  return order;
}

std::string text(codes_handle* h, const char* key) {
  char buffer[256] = "";
  std::size_t length = sizeof buffer;
  return codes_get_string(h, key, buffer, &length) == CODES_SUCCESS ? buffer : "";
}

}  // namespace

std::vector<ReferenceField> read_by_eccodes(const std::string& path) {
  std::vector<ReferenceField> fields;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return fields;
  codes_grib_multi_support_on(nullptr);
  int error = 0;
  while (codes_handle* h = codes_handle_new_from_file(nullptr, file, PRODUCT_GRIB, &error)) {
    const std::string grid = text(h, "gridType");
    std::size_t count = 0;
    if (grid != "sh" && codes_set_double(h, "missingValue", kMissing) == CODES_SUCCESS &&
        codes_get_size(h, "values", &count) == CODES_SUCCESS) {
      std::vector<double> decoded(count);
      if (codes_get_double_array(h, "values", decoded.data(), &count) == CODES_SUCCESS) {
        const bool predefined =
            integer(h, "edition", 2) == 1 && integer(h, "gridDescriptionSectionPresent", 1) == 0;
        ReferenceField field{text(h, "shortName"), std::vector<float>(count),
                             canonical_order(h, predefined ? "none" : grid, count)};
        for (std::size_t i = 0; i < count; ++i) {
          field.values[field.canonical_index[i]] = decoded[i] == kMissing
                                                       ? std::numeric_limits<float>::quiet_NaN()
                                                       : static_cast<float>(decoded[i]);
        }
        fields.push_back(std::move(field));
      }
    }
    codes_handle_delete(h);
  }
  codes_grib_multi_support_reset_file(nullptr, file);
  codes_grib_multi_support_off(nullptr);
  std::fclose(file);
  return fields;
}

std::vector<double> gaussian_latitudes(std::uint32_t number) {
  std::vector<double> latitudes(2 * number);
  codes_get_gaussian_latitudes(number, latitudes.data());
  return latitudes;
}

}  // namespace nvmdb::ingest::testing
