#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "nvmdb/v1/ingest.grpc.pb.h"
#include "server/instance.h"
#include "server/listener.h"
#include "tests/e2e/server/processes.h"
#include "tests/unit/ingest_worker/scripted_decoder.h"

namespace nvmdb::e2e {
namespace {

using Clock = std::chrono::steady_clock;

/// A server in this process whose ingest workers run scripts.
class ServerCancellation : public testing::Test {
 protected:
  void SetUp() override {
    server::InstanceOptions options;
    options.pool = folder_.path() / "pool";
    options.create = true;
    options.nvm_bytes = 64ULL << 20U;
    options.dram_bytes = 64ULL << 20U;
    options.ingest.worker_binary = NVMDB_BINARY_DIR "/tests/ingest_crash_worker";
    options.ingest.workers = 1;
    options.ingest.hang_seconds = 60;
    options.ingest_threads = 1;
    auto instance = server::Instance::open(options);
    ASSERT_TRUE(instance.is_ok()) << instance.status().to_string();
    instance_ = std::move(instance).value();
    server::ListenerOptions listen;
    listen.listen = "127.0.0.1:0";
    listen.ingest_roots = {folder_.path()};
    listen.uploads_bytes_max = 1000;
    auto listener = server::Listener::start(*instance_, listen);
    ASSERT_TRUE(listener.is_ok()) << listener.status().to_string();
    listener_ = std::move(listener).value();
    stub_ = v1::Ingest::NewStub(grpc::CreateChannel(listener_->address(), grpc::InsecureChannelCredentials()));
    idle_ = ingestor().idle_workers().size();
  }
  void TearDown() override {
    // Nothing holds up the end of the server.
    const auto begin = Clock::now();
    if (listener_ != nullptr) listener_->drain(5);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(4));
  }

  ingest::Ingestor& ingestor() { return **instance_->ingestor(); }
  std::string script(const std::string& name, const std::string& commands) {
    const std::filesystem::path file = folder_.path() / name;
    std::ofstream(file) << ingest::kScriptHeader << commands;
    return file.string();
  }
  /// How long it takes until the only worker is free again.
  std::chrono::milliseconds until_idle() {
    const auto begin = Clock::now();
    while (ingestor().idle_workers().size() < idle_ && Clock::now() - begin < std::chrono::seconds(10))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  }
  std::size_t run_count() { return instance_->catalogue().runs()->size(); }

  TemporaryFolder folder_;
  std::unique_ptr<server::Instance> instance_;
  std::unique_ptr<server::Listener> listener_;
  std::unique_ptr<v1::Ingest::Stub> stub_;
  std::size_t idle_ = 0;
};

const std::string kOneStepThenSpin = "run m 0\ngrid 4 4\nfield t 0 1\nstep 0\nfield t 3600 1\nspin\n";

TEST_F(ServerCancellation, StopsAnIngestByPath) {
  v1::IngestPathRequest request;
  request.set_path(script("a.grib", kOneStepThenSpin));
  grpc::ClientContext context;
  const auto reader = stub_->IngestPath(&context, request);
  v1::IngestPathResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.step().fields_stored(), 1U);
  context.TryCancel();
  EXPECT_LT(until_idle(), std::chrono::milliseconds(500));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(run_count(), 1U);  // the step acknowledged stays
}

TEST_F(ServerCancellation, StopsAnUploadThatIsBeingStored) {
  const std::string text = std::string(ingest::kScriptHeader) + "run m 0\ngrid 4 4\nfield t 0 1\nspin\n";
  grpc::ClientContext context;
  const auto stream = stub_->IngestUpload(&context);
  v1::IngestUploadRequest request;
  request.mutable_header()->set_name("a.grib");
  request.mutable_header()->set_file_bytes(text.size());
  ASSERT_TRUE(stream->Write(request));
  request.set_data(text);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->WritesDone());
  while (!ingestor().idle_workers().empty()) std::this_thread::yield();
  context.TryCancel();
  EXPECT_LT(until_idle(), std::chrono::milliseconds(500));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(run_count(), 0U);
}

TEST_F(ServerCancellation, EndsAnIngestAtTheDeadlineOfTheCommandLine) {
  const std::string file = script("a.grib", kOneStepThenSpin);
  const auto begin = Clock::now();
  const Finished finished = run_nvmdb({"ingest", "--server", listener_->address(), "--timeout", "1", file});
  EXPECT_EQ(finished.exit_code, 4) << finished.err;
  EXPECT_NE(finished.err.find("--timeout"), std::string::npos) << finished.err;
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(4));
  EXPECT_LT(until_idle(), std::chrono::milliseconds(500));
}

TEST_F(ServerCancellation, RefusesUploadsBeyondTheSumOfAll) {
  grpc::ClientContext first_context;
  const auto first = stub_->IngestUpload(&first_context);
  v1::IngestUploadRequest header;
  header.mutable_header()->set_name("a.grib");
  header.mutable_header()->set_file_bytes(900);
  v1::IngestUploadRequest bytes;
  bytes.set_data(std::string(600, 'x'));
  ASSERT_TRUE(first->Write(header));
  ASSERT_TRUE(first->Write(bytes));
  const auto outcome = [&] {
    grpc::ClientContext context;
    const auto stream = stub_->IngestUpload(&context);
    v1::IngestUploadRequest more = bytes;
    if (stream->Write(header) && stream->Write(more)) stream->WritesDone();
    v1::IngestUploadResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  };
  // The bytes of the first one may still be on their way.
  grpc::Status refused = outcome();
  for (int i = 0; i < 100 && refused.error_code() != grpc::StatusCode::UNAVAILABLE; ++i) refused = outcome();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(refused.error_message().find("together"), std::string::npos) << refused.error_message();
  first_context.TryCancel();
  EXPECT_EQ(first->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // What the first one held is free again: now the refusal is of the 600 bytes that are not the 900 announced.
  for (int i = 0; i < 100 && refused.error_code() == grpc::StatusCode::UNAVAILABLE; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    refused = outcome();
  }
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << refused.error_message();
}

TEST_F(ServerCancellation, LetsAnUploadLeaveTheQueueWithItsBytes) {
  v1::IngestPathRequest busy;
  busy.set_path(script("a.grib", kOneStepThenSpin));
  grpc::ClientContext busy_context;
  const auto reader = stub_->IngestPath(&busy_context, busy);
  v1::IngestPathResponse step;
  ASSERT_TRUE(reader->Read(&step));  // the only thread has work without end now
  v1::IngestUploadRequest header;
  header.mutable_header()->set_name("b.grib");
  header.mutable_header()->set_file_bytes(600);
  v1::IngestUploadRequest bytes;
  bytes.set_data(std::string(600, 'x'));
  // Two of them do not fit, so each is accepted only when the one before has given its bytes back.
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
    const auto stream = stub_->IngestUpload(&context);
    ASSERT_TRUE(stream->Write(header));
    ASSERT_TRUE(stream->Write(bytes));
    ASSERT_TRUE(stream->WritesDone());
    v1::IngestUploadResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  busy_context.TryCancel();
  EXPECT_LT(until_idle(), std::chrono::milliseconds(500));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServerCancellation, EndsAWatchAtTheDeadlineOfTheCommandLine) {
  const Finished remote =
      run_nvmdb({"events", "--server", listener_->address(), "--after", "0", "--follow", "--timeout", "1"});
  EXPECT_EQ(remote.exit_code, 4) << remote.err;
  listener_.reset();
  instance_.reset();
  const Finished embedded = run_nvmdb(
      {"events", "--pool", (folder_.path() / "pool").string(), "--after", "0", "--follow", "--timeout", "1"});
  EXPECT_EQ(embedded.exit_code, 4) << embedded.err;
}

}  // namespace
}  // namespace nvmdb::e2e
