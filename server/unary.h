#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "server/grpc_status.h"
#include "server/work_pool.h"

namespace nvmdb::server {

/// Answers a unary call from a thread of `pool`: what takes long must not hold up the threads that answer
/// short questions. `answer` fills the response and returns a Status; it is not called when the client has
/// gone.
template <class Answer>
grpc::ServerUnaryReactor* answer_in_pool(WorkPool& pool, grpc::CallbackServerContext* call, Answer answer) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const bool accepted = pool.submit([call, reactor, answer = std::move(answer)] {
    reactor->Finish(call->IsCancelled() ? grpc::Status::CANCELLED : to_grpc(answer()));
  });
  if (!accepted)
    reactor->Finish(to_grpc(Status::overloaded("too many requests wait; try again in a moment")));
  return reactor;
}

}  // namespace nvmdb::server
