#include "storage/device/calibration_choice.h"

#include <algorithm>
#include <map>

#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kBlockMin = 4096;
constexpr std::uint64_t kBlockMax = 512U << 10U;
constexpr double kBlockShare = 0.90;
constexpr double kWriterShare = 0.95;

}  // namespace

std::string log_shape_rule() {
  return "block: the smallest of 4 KiB to 512 KiB with 90 % of the best sequential non-temporal bandwidth; writers: "
         "the fewest, no more than processors, with 95 % of the best at that block";
}

LogShape choose_log_shape(std::span<const DeviceFigure> figures, std::uint32_t unit_bytes,
                          std::uint32_t processors) {
  // Bandwidth by block, then by number of writers.
  std::map<std::uint64_t, std::map<std::uint32_t, double>> table;
  for (const DeviceFigure& figure : figures) {
    const std::uint64_t block = figure.transfer_bytes;
    const bool counts = figure.path == AccessPath::Nontemporal && figure.pattern == AccessPattern::Sequential &&
                        block >= kBlockMin && block <= kBlockMax && block % unit_bytes == 0 &&
                        figure.threads <= std::max(1U, processors);
    if (counts) table[block][figure.threads] = figure.bytes_per_second;
  }
  LogShape shape{.writers = 1, .block_bytes = std::max<std::uint32_t>(unit_bytes, kBlockMin)};
  const auto best_of = [](const std::map<std::uint32_t, double>& row) {
    double best = 0;
    for (const auto& [writers, bandwidth] : row) best = std::max(best, bandwidth);
    return best;
  };
  double best = 0;
  for (const auto& [block, row] : table) best = std::max(best, best_of(row));
  for (const auto& [block, row] : table) {
    if (best_of(row) < kBlockShare * best) continue;
    shape.block_bytes = narrow<std::uint32_t>(block);
    for (const auto& [writers, bandwidth] : row) {
      if (bandwidth < kWriterShare * best_of(row)) continue;
      shape.writers = writers;
      shape.bytes_per_second = bandwidth;
      return shape;
    }
  }
  return shape;
}

std::vector<DeviceFigure> median_round(const std::vector<std::vector<DeviceFigure>>& rounds) {
  std::vector<DeviceFigure> chosen;
  if (rounds.empty()) return chosen;
  for (std::size_t point = 0; point < rounds.front().size(); ++point) {
    std::vector<DeviceFigure> same;
    for (const auto& round : rounds) {
      NVMDB_CHECK(round.size() == rounds.front().size(), "rounds of a sweep differ in length");
      same.push_back(round[point]);
    }
    const auto middle = same.begin() + static_cast<std::ptrdiff_t>(same.size() / 2);
    std::nth_element(same.begin(), middle, same.end(), [](const DeviceFigure& a, const DeviceFigure& b) {
      return a.bytes_per_second < b.bytes_per_second;
    });
    chosen.push_back(*middle);
  }
  return chosen;
}

}  // namespace nvmdb::storage
