#pragma once

#include <optional>
#include <string_view>

#include "storage/base/status.h"

namespace nvmdb::server {

/// How a failure is told outside: one row for each Code.
struct ErrorRow {
  Code code;
  int grpc_code;            ///< canonical code; each is used once, so that the way back is exact
  std::string_view reason;  ///< of ErrorInfo
};

[[nodiscard]] const ErrorRow& error_row(Code code);
[[nodiscard]] std::optional<Code> code_of_reason(std::string_view reason);
/// For an answer without ErrorInfo: what the nearest Code of a canonical code is.
[[nodiscard]] Code code_of_grpc(int grpc_code);

}  // namespace nvmdb::server
