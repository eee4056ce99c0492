#pragma once

#include <cstdint>
#include <string>

#include "storage/base/result.h"

namespace nvmdb::server {

/// Host and port of "HOST:PORT" or "[IPV6]:PORT".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
/// Errors: InvalidArgument.
[[nodiscard]] Result<HostPort> parse_host_port(const std::string& text);

}  // namespace nvmdb::server
