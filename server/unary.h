#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "server/grpc_status.h"
#include "server/memory_guard.h"
#include "server/work_pool.h"
#include "storage/base/cancellation.h"

namespace nvmdb::server {

/// A unary call that is answered from a thread of a pool. A call that is cancelled, or whose deadline passes, leaves the
/// queue at once.
template <class Answer>
class PooledUnary final : public grpc::ServerUnaryReactor {
 public:
  PooledUnary(WorkPool& pool, std::uint64_t deadline_ns, Answer answer)
      : pool_(pool), cancellation_(deadline_ns), answer_(std::move(answer)) {}

  void start() {
    const bool accepted = pool_.submit(
        [this] {
          const Status wanted = cancellation_.check();
          Finish(to_grpc(wanted.is_ok() ? within_memory([this] { return answer_(cancellation_); }) : wanted));
        },
        &ticket_);
    if (!accepted) Finish(to_grpc(Status::overloaded("too many requests wait; try again in a moment")));
  }
  void OnCancel() override {
    cancellation_.cancel();
    if (pool_.withdraw(ticket_)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  WorkPool& pool_;
  WorkPool::Ticket ticket_{0};
  Cancellation cancellation_;
  Answer answer_;
};

/// Answers a unary call from a thread of `pool`: what takes long must not hold up the threads that answer short
/// questions. `answer(cancellation)` fills the response and returns a Status; it is not called when the client has gone.
template <class Answer>
grpc::ServerUnaryReactor* answer_in_pool(WorkPool& pool, std::uint64_t deadline_ns, Answer answer) {
  auto* reactor = new PooledUnary<Answer>(pool, deadline_ns, std::move(answer));
  reactor->start();
  return reactor;
}

}  // namespace nvmdb::server
