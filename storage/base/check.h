#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace nvmdb {

/// Prints what was broken and where, then aborts: a database that doubts itself stops.
[[noreturn]] void check_failed(std::string_view expression, std::string_view message,
                               std::source_location where = std::source_location::current());

}  // namespace nvmdb

/// Stops the process when an invariant does not hold; also in release builds. `message` is evaluated only then.
#define NVMDB_CHECK(condition, message)                           \
  do {                                                            \
    if (__builtin_expect(!(condition), 0))                        \
      ::nvmdb::check_failed(#condition, (message));               \
  } while (false)
