#pragma once

#include <grpcpp/support/status.h>

#include "storage/base/status.h"

namespace nvmdb::server {

/// The gRPC form of a Status: canonical code, message (cut to 2000 bytes: it travels as a header), and an
/// ErrorInfo in the details.
[[nodiscard]] grpc::Status to_grpc(const Status& status);

/// The way back. An error with no ErrorInfo of ours came from gRPC itself or a proxy: `own` tells.
struct ReceivedStatus {
  Status status;
  bool own = false;
};
[[nodiscard]] ReceivedStatus from_grpc(const grpc::Status& status);

}  // namespace nvmdb::server
