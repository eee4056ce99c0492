#include "storage/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace nvmdb {

void check_failed(std::string_view expression, std::string_view message, std::source_location where) {
  std::fprintf(stderr, "nvmdb: invariant broken at %s:%u (%s): %.*s [%.*s]\n", where.file_name(), where.line(),
               where.function_name(), static_cast<int>(message.size()), message.data(),
               static_cast<int>(expression.size()), expression.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace nvmdb
