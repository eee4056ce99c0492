#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/instance.h"
#include "storage/base/result.h"

namespace nvmdb::server {

struct ListenerOptions {
  std::string listen = "127.0.0.1:50051";  ///< HOST:PORT; port 0 takes a free one
  bool insecure_listen = false;            ///< allow addresses beyond this machine, without encryption
  std::vector<std::filesystem::path> ingest_roots;
  std::uint64_t upload_bytes_max = 16ULL << 30U;   ///< of one upload
  std::uint64_t uploads_bytes_max = 32ULL << 30U;  ///< of all uploads under way
  std::uint64_t answer_bytes_max = 16ULL << 30U;   ///< of one streamed answer
  std::uint64_t answer_seconds_max = 600;          ///< that a question and its answer may take
  std::uint64_t stall_seconds_max = 60;            ///< that a client may take nothing of an answer, or send nothing
};

/// The gRPC services of nvmdb.v1 on a socket, with health and reflection.
class Listener {
 public:
  /// Errors: InvalidArgument (malformed address), PermissionDenied (an address beyond this machine without
  ///         insecure_listen), Conflict (the port is taken), IoError.
  [[nodiscard]] static Result<std::unique_ptr<Listener>> start(Instance& instance,
                                                               const ListenerOptions& options);
  /// drain(0).
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// "127.0.0.1:50051": with the port that was taken.
  [[nodiscard]] const std::string& address() const;
  /// Tells health checks, takes no new calls, waits for running ones up to `seconds`, then cancels what is
  /// left.
  void drain(unsigned seconds);

 private:
  struct State;
  explicit Listener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nvmdb::server
