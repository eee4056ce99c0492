#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/base/result.h"

namespace nvmdb::server {

/// The part of a list of `count` rows that a page_size and page_token ask for, and the token of what follows.
struct Page {
  std::size_t first = 0;
  std::size_t last = 0;
  std::string next_token;  ///< empty: this page is the last
};

/// Errors: InvalidArgument (negative size, a token that was not given out).
[[nodiscard]] Result<Page> page_of(std::size_t count, std::int32_t page_size, const std::string& page_token);

}  // namespace nvmdb::server
