#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "nvmdb/v1/ingest.grpc.pb.h"
#include "server/grpc_status.h"
#include "server/services.h"
#include "server/wire.h"
#include "storage/base/cancellation.h"
#include "storage/base/fail_point.h"
#include "storage/base/size_text.h"

namespace nvmdb::server {
namespace {

/// A reactor that sends messages in the order they are pushed, from any thread. After close() nothing may be
/// pushed; the stream ends when all is sent. A client that went away, or whose deadline has passed, cancels what
/// is under way; pushes are then dropped.
template <class Base, class Response>
class QueuedWrites : public Base {
 public:
  QueuedWrites(ServiceContext& context, grpc::CallbackServerContext& call)
      : pool_(context.ingests), transfer_(context.stalls, call) {}

  void push(Response response) {
    const MutexLock lock(mutex_);
    if (broken_) return;
    queue_.push_back(std::move(response));
    if (queue_.size() == 1) write_first();
  }
  void close(grpc::Status status) {
    {
      const MutexLock lock(mutex_);
      closed_ = std::move(status);
      if (!queue_.empty()) return;
    }
    // Without the lock: OnDone may delete this at once in another thread.
    this->Finish(*closed_);
  }
  void OnCancel() override {
    cancellation_.cancel();
    if (pool_.withdraw(ticket_)) close(grpc::Status::CANCELLED);
  }
  void OnWriteDone(bool ok) override {
    transfer_.moved();
    {
      const MutexLock lock(mutex_);
      queue_.pop_front();
      if (!ok) {
        broken_ = true;
        queue_.clear();
      }
      if (!queue_.empty()) {
        write_first();
        return;
      }
      if (!closed_) return;
    }
    this->Finish(*closed_);
  }

 protected:
  [[nodiscard]] const Cancellation& cancellation() const { return cancellation_; }
  /// False when the queue is full: `job` will not run. A job that still waits when the call is cancelled will not either.
  [[nodiscard]] bool submit(std::function<void()> job) { return pool_.submit(std::move(job), &ticket_); }

 private:
  void write_first() NVMDB_REQUIRES(mutex_) {
    transfer_.waits();
    this->StartWrite(&queue_.front());
  }

  WorkPool& pool_;
  WorkPool::Ticket ticket_{0};
  Cancellation cancellation_;
  StallWatch::Transfer transfer_;
  Mutex mutex_;
  std::deque<Response> queue_ NVMDB_GUARDED_BY(mutex_);  ///< the first one is being written
  std::optional<grpc::Status> closed_;
  bool broken_ NVMDB_GUARDED_BY(mutex_) = false;
};

ingest::IngestOptions take_options(const v1::IngestOptions& from, const Cancellation& cancellation) {
  return {from.model(), from.domain(), &cancellation};
}

/// Ingests an open file, pushes acknowledgements and the report, and closes the stream.
template <class Response, class Reactor>
void ingest_into(ServiceContext& context, int fd, const std::string& name,
                 const ingest::IngestOptions& options, Reactor& reactor) {
  if (const Status wanted = still_wanted(options.cancellation); !wanted.is_ok())
    return reactor.close(to_grpc(wanted));
  const auto ingestor = context.instance.ingestor();
  if (!ingestor.is_ok()) return reactor.close(to_grpc(ingestor.status()));
  const auto report = (*ingestor)->ingest_fd(fd, name, options, [&reactor](const ingest::IngestedStep& step) {
    Response response;
    wire::put(step, *response.mutable_step());
    NVMDB_FAIL_POINT("server.step");
    reactor.push(std::move(response));
  });
  if (!report.is_ok()) return reactor.close(to_grpc(report.status()));
  Response response;
  wire::put(*report, *response.mutable_report());
  NVMDB_FAIL_POINT("server.report");
  reactor.push(std::move(response));
  reactor.close(grpc::Status::OK);
}

Status too_busy() {
  return Status::overloaded("too many files are being ingested; try again in a moment");
}

class PathReactor final
    : public QueuedWrites<grpc::ServerWriteReactor<v1::IngestPathResponse>, v1::IngestPathResponse> {
 public:
  PathReactor(ServiceContext& context, grpc::CallbackServerContext& call, v1::IngestPathRequest request)
      : QueuedWrites(context, call), context_(context), request_(std::move(request)) {}
  void start() {
    if (!submit([this] { run(); })) close(to_grpc(too_busy()));
  }
  void OnDone() override { delete this; }

 private:
  void run() {
    const auto file = context_.gate.open_file(request_.path());
    if (!file.is_ok()) return close(to_grpc(file.status()));
    ingest_into<v1::IngestPathResponse>(context_, file->get(), request_.path(),
                                        take_options(request_.options(), cancellation()), *this);
  }

  ServiceContext& context_;
  const v1::IngestPathRequest request_;
};

class UploadReactor final
    : public QueuedWrites<grpc::ServerBidiReactor<v1::IngestUploadRequest, v1::IngestUploadResponse>,
                          v1::IngestUploadResponse> {
 public:
  UploadReactor(ServiceContext& context, grpc::CallbackServerContext& call)
      : QueuedWrites(context, call), context_(context), incoming_(context.stalls, call), spooled_(context.uploads) {}
  void start() { read_next(); }

  void OnReadDone(bool ok) override {
    incoming_.moved();
    if (!ok) return end_of_upload();
    const Status status =
        request_.has_header() ? take_header(request_.header()) : take_bytes(request_.data());
    if (!status.is_ok()) return close(to_grpc(status));
    read_next();
  }
  void OnDone() override { delete this; }

 private:
  void read_next() {
    incoming_.waits();
    StartRead(&request_);
  }

  Status take_header(const v1::UploadHeader& header) {
    if (file_.valid()) return Status::invalid_argument("upload: a second header");
    const std::uint64_t most = std::min(context_.upload_bytes_max, context_.uploads.bytes_max());
    if (header.file_bytes() > most) return too_large(header.file_bytes(), most);
    if (!context_.uploads.has_room(header.file_bytes())) return no_room();
    header_ = header;
    // Unnamed: nobody else can open it, and it is gone when this process is.
    const char* folder = std::getenv("TMPDIR");
    file_ = OwnedFd(
        ::open(folder != nullptr && *folder != '\0' ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file_.valid()) {
      return Status::io_error("upload: no temporary file: " + std::generic_category().message(errno) +
                              "; set TMPDIR for the server to a directory with room");
    }
    return Status::ok();
  }

  Status take_bytes(const std::string& bytes) {
    if (!file_.valid()) return Status::invalid_argument("upload: bytes before the header");
    if (bytes.size() > header_.file_bytes() - written_) {
      return Status::invalid_argument("upload: more than the " + std::to_string(header_.file_bytes()) +
                                      " bytes announced");
    }
    // Counted as they come, so that nobody keeps room by announcing what he does not send.
    if (!spooled_.grow(bytes.size())) return no_room();
    std::size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t count = ::write(file_.get(), bytes.data() + at, bytes.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == ENOSPC)
        return Status::out_of_space("upload: no room left for temporary files");
      if (count <= 0) return Status::io_error("upload: " + std::generic_category().message(errno));
      at += static_cast<std::size_t>(count);
    }
    written_ += bytes.size();
    return Status::ok();
  }

  void end_of_upload() {
    if (!file_.valid()) return close(to_grpc(Status::invalid_argument("upload: no header")));
    if (written_ != header_.file_bytes()) {
      return close(
          to_grpc(Status::invalid_argument("upload: " + std::to_string(written_) + " bytes came, " +
                                           std::to_string(header_.file_bytes()) + " were announced")));
    }
    if (!submit([this] {
          ingest_into<v1::IngestUploadResponse>(context_, file_.get(), header_.name(),
                                                take_options(header_.options(), cancellation()), *this);
        })) {
      close(to_grpc(too_busy()));
    }
  }

  static Status too_large(std::uint64_t bytes, std::uint64_t most) {
    return Status::invalid_argument("upload: " + std::to_string(bytes) +
                                    " bytes; this server takes at most " + std::to_string(most));
  }
  Status no_room() const {
    return Status::overloaded("upload: all uploads under way may have " + format_size(context_.uploads.bytes_max()) +
                              " together; try again in a moment, or put the file under the server's "
                              "--ingest-root and use --server-path");
  }

  ServiceContext& context_;
  StallWatch::Transfer incoming_;
  ByteBudget::Share spooled_;
  v1::IngestUploadRequest request_;
  v1::UploadHeader header_;
  OwnedFd file_;
  std::uint64_t written_ = 0;
};

class IngestService final : public v1::Ingest::CallbackService {
 public:
  explicit IngestService(ServiceContext& context) : context_(context) {}

  grpc::ServerWriteReactor<v1::IngestPathResponse>* IngestPath(
      grpc::CallbackServerContext* call, const v1::IngestPathRequest* request) override {
    auto* reactor = new PathReactor(context_, *call, *request);
    reactor->start();
    return reactor;
  }
  grpc::ServerBidiReactor<v1::IngestUploadRequest, v1::IngestUploadResponse>* IngestUpload(
      grpc::CallbackServerContext* call) override {
    auto* reactor = new UploadReactor(context_, *call);
    reactor->start();
    return reactor;
  }

 private:
  ServiceContext& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_ingest_service(ServiceContext& context) {
  return std::make_unique<IngestService>(context);
}

}  // namespace nvmdb::server
