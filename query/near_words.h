#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nvmdb::query {

/// Those of `words` that somebody who wrote `word` may have meant, nearest first: without regard to case, at
/// most two letters inserted, left out or changed (one for short words), or one within the other.
[[nodiscard]] std::vector<std::string> near_words(std::string_view word,
                                                  const std::vector<std::string>& words);

}  // namespace nvmdb::query
