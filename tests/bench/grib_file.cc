#include "tests/bench/grib_file.h"

#include <eccodes.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/random.h"

namespace nvmdb::bench {
namespace {

constexpr long kColumns = 1440;
constexpr long kRows = 721;
constexpr int kLevels = 8;
constexpr const char* kNames[] = {"t", "u", "v", "q", "gh"};

void check(int error, const char* what) {
  NVMDB_CHECK(error == CODES_SUCCESS, std::string(what) + ": " + codes_get_error_message(error));
}

codes_handle* new_message() {
  codes_handle* handle = codes_grib_handle_new_from_samples(nullptr, "regular_ll_pl_grib2");
  NVMDB_CHECK(handle != nullptr, "ecCodes has no sample regular_ll_pl_grib2");
  const std::pair<const char*, double> degrees[] = {
      {"latitudeOfFirstGridPointInDegrees", 90}, {"longitudeOfFirstGridPointInDegrees", 0},
      {"latitudeOfLastGridPointInDegrees", -90}, {"longitudeOfLastGridPointInDegrees", 359.75},
      {"iDirectionIncrementInDegrees", 0.25},    {"jDirectionIncrementInDegrees", 0.25}};
  check(codes_set_long(handle, "Ni", kColumns), "Ni");
  check(codes_set_long(handle, "Nj", kRows), "Nj");
  for (const auto& [key, value] : degrees) check(codes_set_double(handle, key, value), key);
  check(codes_set_long(handle, "dataDate", 20240715), "dataDate");
  return handle;
}

std::vector<double> smooth_field(int number, SeededRandom& random) {
  std::vector<double> values(static_cast<std::size_t>(kColumns * kRows));
  for (long row = 0; row < kRows; ++row) {
    const double wave = std::sin(0.01 * static_cast<double>(row) * (1 + number % 5));
    for (long column = 0; column < kColumns; ++column) {
      const double noise = static_cast<double>(random.below(1000)) / 10000.0;
      values[static_cast<std::size_t>(row * kColumns + column)] =
          250 + 30 * wave + 8 * std::sin(0.004 * static_cast<double>(column) * (2 + number % 3)) + noise;
    }
  }
  return values;
}

}  // namespace

void write_grib_file(const std::filesystem::path& path, const std::string& packing) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  NVMDB_CHECK(file != nullptr, "cannot write " + path.string());
  codes_handle* handle = new_message();
  SeededRandom random(7);
  int number = 0;
  for (const char* name : kNames) {
    for (int level = 0; level < kLevels; ++level) {
      std::size_t length = 0;
      check(codes_set_string(handle, "shortName", name, &length), "shortName");
      check(codes_set_long(handle, "level", 1000 - 100 * level), "level");
      check(codes_set_string(handle, "packingType", packing.c_str(), &length), "packingType");
      check(codes_set_long(handle, "bitsPerValue", 16), "bitsPerValue");
      const std::vector<double> values = smooth_field(number++, random);
      check(codes_set_double_array(handle, "values", values.data(), values.size()), "values");
      const void* message = nullptr;
      std::size_t size = 0;
      check(codes_get_message(handle, &message, &size), "message");
      NVMDB_CHECK(std::fwrite(message, 1, size, file) == size, "cannot write " + path.string());
    }
  }
  codes_handle_delete(handle);
  NVMDB_CHECK(std::fclose(file) == 0, "cannot write " + path.string());
}

std::size_t decode_by_eccodes(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  NVMDB_CHECK(file != nullptr, "cannot read " + path.string());
  std::vector<double> values;
  std::size_t total = 0;
  int error = CODES_SUCCESS;
  while (codes_handle* handle = codes_handle_new_from_file(nullptr, file, PRODUCT_GRIB, &error)) {
    std::size_t count = 0;
    check(codes_get_size(handle, "values", &count), "values");
    values.resize(count);
    check(codes_get_double_array(handle, "values", values.data(), &count), "values");
    total += count;
    codes_handle_delete(handle);
  }
  check(error, "message");
  std::fclose(file);
  return total;
}

}  // namespace nvmdb::bench
