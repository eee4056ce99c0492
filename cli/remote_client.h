#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/client.h"
#include "storage/base/result.h"

namespace nvmdb::cli {

struct RemoteOptions {
  std::string address;            ///< HOST:PORT
  std::optional<unsigned> timeout_seconds;  ///< of each call of the client
  bool server_path = false;       ///< ingest() names a file of the server instead of sending one
};

/// Asks a server over gRPC. Errors: InvalidArgument (malformed address). Nothing is sent yet.
[[nodiscard]] Result<std::unique_ptr<server::Client>> make_remote_client(const RemoteOptions& options);

}  // namespace nvmdb::cli
