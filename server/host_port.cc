#include "server/host_port.h"

#include <charconv>
#include <system_error>

namespace nvmdb::server {

Result<HostPort> parse_host_port(const std::string& text) {
  const auto malformed = [&text] {
    return Status::invalid_argument("\"" + text +
                                    "\" is not HOST:PORT, such as localhost:50051 or [::1]:50051");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return malformed();
  HostPort out;
  out.host = text.substr(0, colon);
  if (out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return malformed();
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, out.port);
  if (error != std::errc{} || stop != end || out.host.empty()) return malformed();
  return out;
}

}  // namespace nvmdb::server
