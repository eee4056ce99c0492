#include "query/near_words.h"

#include <algorithm>
#include <numeric>

namespace nvmdb::query {
namespace {

constexpr std::size_t kWordMax = 64;
constexpr std::size_t kNearMax = 5;

std::string lower_case(std::string_view text) {
  std::string out(text.substr(0, kWordMax));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Levenshtein's distance.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> near_words(std::string_view word, const std::vector<std::string>& words) {
  const std::string asked = lower_case(word);
  const std::size_t distance_max = asked.size() > 3 ? 2 : 1;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : words) {
    const std::string lower = lower_case(candidate);
    const std::size_t distance = edit_distance(asked, lower);
    const bool within = asked.size() > 1 && lower.size() > 1 &&
                        (lower.find(asked) != std::string::npos || asked.find(lower) != std::string::npos);
    if (distance <= distance_max || within) near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(kNearMax, near.size()); ++i) out.push_back(near[i].second);
  return out;
}

}  // namespace nvmdb::query
