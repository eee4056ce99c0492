#include <algorithm>

#include "query/derived/definition.h"

// Precipitation of WRF runs, which is counted from their start in several parts.
namespace nvmdb::query::derived {
namespace {

// Slots: the parts, then how often the bucket of each was emptied; in rain over an interval the same at its
// start.
constexpr std::size_t kParts = 3;
constexpr std::size_t kBuckets = 2;
constexpr std::size_t kAll = kParts + kBuckets;

double total(const Block& b, std::size_t first, std::size_t i) {
  double sum = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (b.has(first + part)) sum += b.at(first + part, i);
  }
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (b.has(first + kParts + bucket)) sum += b.bucket_mm * b.at(first + kParts + bucket, i);
  }
  return sum;
}

void since_start(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) values[i] = total(block, 0, i);
}

/// A count that went down was begun anew by a restart: what fell since then is all that is known. Counts are
/// float32, so that equal ones may differ in their last digits.
void over_interval(const Block& block, std::span<double> values) {
  for (std::size_t i = 0; i < block.points; ++i) {
    const double now = total(block, 0, i);
    const double before = total(block, kAll, i);
    const double tolerance = 1e-6 * before;
    values[i] = now >= before - tolerance ? std::max(now - before, 0.0) : now;
  }
}

std::vector<Input> inputs(bool previous) {
  std::vector<Input> list;
  for (const std::string_view name : {"RAINC", "RAINNC"})
    list.push_back({name, Span::Surface, 0, 0, Side::Mean, false, previous});
  for (const std::string_view name : {"RAINSH", "I_RAINC", "I_RAINNC"})
    list.push_back({name, Span::Surface, 0, 0, Side::Mean, true, previous});
  return list;
}

}  // namespace

std::vector<Definition> rain_definitions() {
  std::vector<Input> both = inputs(false);
  for (const Input& input : inputs(true)) both.push_back(input);
  return {{"rain", "mm", "precipitation since the start of the run", "wrf", Place::Surface, inputs(false),
           since_start},
          {"rain_interval", "mm", "precipitation over the interval", "wrf", Place::Interval, both,
           over_interval}};
}

}  // namespace nvmdb::query::derived
