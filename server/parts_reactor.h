#pragma once

#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "nvmdb/v1/query.pb.h"
#include "server/grpc_status.h"
#include "server/memory_guard.h"
#include "server/services.h"
#include "server/wire.h"
#include "storage/base/cancellation.h"

namespace nvmdb::server {

/// A streamed answer of several parts, each a header and then its arrays in chunks. A part is computed in a pool, then
/// sent, one write at a time, so that a slow client holds its own part and nothing else; then the next one. Between
/// parts the call goes to the end of the pool's queue: large answers take turns.
/// A client that takes nothing for too long is cut off. A call that is cancelled, or whose deadline passes, leaves the queue at once and stops computing between pieces.
template <class Response>
class PartsReactor : public grpc::ServerWriteReactor<Response> {
 public:
  PartsReactor(ServiceContext& context, grpc::CallbackServerContext& call, WorkPool& pool)
      : context_(context),
        pool_(pool),
        held_(context.answers),
        cancellation_(context.deadline_ns()),
        transfer_(context.stalls, call) {}

  void start() { compute_next(); }
  void OnWriteDone(bool ok) override {
    transfer_.moved();
    if (!ok) return this->Finish(grpc::Status::CANCELLED);
    if (const Status wanted = cancellation_.check(); !wanted.is_ok()) return this->Finish(to_grpc(wanted));
    send_next();
  }
  void OnCancel() override {
    cancellation_.cancel();
    if (pool_.withdraw(ticket_)) this->Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 protected:
  /// An array of the part that is being sent; its bytes live as long as the part.
  struct Array {
    v1::SlabChunk::Array which;
    std::span<const std::byte> bytes;
    std::size_t element_bytes;
  };

  [[nodiscard]] ServiceContext& context() { return context_; }
  [[nodiscard]] const Cancellation& cancellation() const { return cancellation_; }
  /// Understands the request. Returns how many parts there are.
  [[nodiscard]] virtual Result<std::size_t> begin() = 0;
  /// Computes a part: its header and its arrays, which replace those of the part before.
  [[nodiscard]] virtual Status compute(std::size_t part, Response& response, std::vector<Array>& arrays) = 0;

 private:
  void compute_next() {
    if (!pool_.submit([this] { run(); }, &ticket_))
      this->Finish(to_grpc(Status::overloaded("too many large questions wait; try again in a moment")));
  }

  void run() {
    if (const Status status = within_memory([this] { return prepare(); }); !status.is_ok()) return this->Finish(to_grpc(status));
    write();
  }
  void write() {
    transfer_.waits();
    this->StartWrite(&response_);
  }

  Status prepare() {
    NVMDB_TRY(cancellation_.check());
    if (next_ == 0) {
      NVMDB_ASSIGN(count_, begin());
    }
    response_.Clear();
    arrays_.clear();
    held_.clear();
    NVMDB_TRY(compute(next_, response_, arrays_));
    std::uint64_t bytes = 0;
    for (const Array& array : arrays_) bytes += array.bytes.size();
    if (next_ == 0 && bytes > context_.answer_bytes_max / count_) {
      return Status::out_of_space("the answer has " + std::to_string(count_) + " parts of about " +
                                  std::to_string(bytes) + " bytes; at most " +
                                  std::to_string(context_.answer_bytes_max) + " bytes are sent for one question");
    }
    if (!held_.grow(bytes))
      return Status::overloaded("answers being sent fill the server's buffers; try again in a moment");
    array_ = 0;
    at_ = 0;
    ++next_;
    return Status::ok();
  }

  void send_next() {
    while (array_ < arrays_.size()) {
      const Array& array = arrays_[array_];
      if (at_ < array.bytes.size()) {
        const std::size_t count = std::min(wire::kChunkBytes, array.bytes.size() - at_);
        v1::SlabChunk& chunk = *response_.mutable_chunk();
        chunk.set_array(array.which);
        chunk.set_offset(at_ / array.element_bytes);
        chunk.set_data(array.bytes.data() + at_, count);
        at_ += count;
        return write();
      }
      ++array_;
      at_ = 0;
    }
    if (next_ == count_) return this->Finish(grpc::Status::OK);
    compute_next();
  }

  ServiceContext& context_;
  WorkPool& pool_;
  WorkPool::Ticket ticket_{0};
  ByteBudget::Share held_;
  Cancellation cancellation_;
  StallWatch::Transfer transfer_;
  Response response_;
  std::vector<Array> arrays_;
  std::size_t array_ = 0;
  std::size_t at_ = 0;
  std::size_t count_ = 1;
  std::size_t next_ = 0;
};

}  // namespace nvmdb::server
