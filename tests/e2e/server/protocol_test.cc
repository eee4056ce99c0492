#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>

#include <chrono>

#include "nvmdb/v1/admin.grpc.pb.h"
#include "nvmdb/v1/catalog.grpc.pb.h"
#include "nvmdb/v1/ingest.grpc.pb.h"
#include "nvmdb/v1/query.grpc.pb.h"
#include "server/grpc_status.h"
#include "tests/e2e/server/processes.h"

namespace nvmdb::e2e {
namespace {

using RawMethod = grpc::internal::RpcMethod;

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

class Protocol : public testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<ServerProcess>(
        folder_.path() / "pool", std::vector<std::string>{"--ingest-root", folder_.path().string()});
    ASSERT_FALSE(server_->address().empty()) << server_->output();
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  }
  static void limit(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }

  TemporaryFolder folder_;
  std::unique_ptr<ServerProcess> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(Protocol, AnswersHealthChecks) {
  // Source: grpc/health/v1/health.proto. HealthCheckRequest.service = 1; HealthCheckResponse.status = 1,
  // SERVING = 1.
  for (const std::string name :
       {"", "nvmdb.v1.Query", "nvmdb.v1.Catalog", "nvmdb.v1.Ingest", "nvmdb.v1.Admin"}) {
    grpc::ClientContext context;
    limit(context);
    std::string request;
    if (!name.empty()) request = std::string("\x0a") + static_cast<char>(name.size()) + name;
    grpc::ByteBuffer response;
    const RawMethod method("/grpc.health.v1.Health/Check", RawMethod::NORMAL_RPC);
    const grpc::Status status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
        channel_.get(), method, &context, buffer_of(request), &response);
    ASSERT_TRUE(status.ok()) << name << ": " << status.error_message();
    EXPECT_EQ(bytes_of(response), "\x08\x01") << name;
  }
}

TEST_F(Protocol, ReflectsItsServices) {
  // Source: grpc/reflection/v1alpha/reflection.proto. ServerReflectionRequest.list_services = 7.
  grpc::ClientContext context;
  limit(context);
  const RawMethod method("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                         RawMethod::BIDI_STREAMING);
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          channel_.get(), method, &context));
  ASSERT_TRUE(stream->Write(buffer_of("\x3a\x01*")));
  grpc::ByteBuffer response;
  ASSERT_TRUE(stream->Read(&response));
  const std::string text = bytes_of(response);
  for (const char* name : {"nvmdb.v1.Query", "nvmdb.v1.Catalog", "nvmdb.v1.Ingest", "nvmdb.v1.Admin"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(Protocol, AnswersPing) {
  const auto admin = v1::Admin::NewStub(channel_);
  grpc::ClientContext context;
  limit(context);
  v1::PingResponse response;
  EXPECT_TRUE(admin->Ping(&context, v1::PingRequest(), &response).ok());
}

TEST_F(Protocol, TellsErrorsWithDetails) {
  const auto query = v1::Query::NewStub(channel_);
  grpc::ClientContext context;
  limit(context);
  v1::SeriesRequest request;
  request.add_selections()->set_parameter("t");
  request.add_latitudes(1);
  request.add_longitudes(1);
  v1::SeriesResponse response;
  const grpc::Status status = query->Series(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
  EXPECT_TRUE(server::from_grpc(status).own);
}

TEST_F(Protocol, RefusesAMessageAboveItsLimit) {
  const auto query = v1::Query::NewStub(channel_);
  v1::SeriesRequest request;
  request.set_units(std::string(5 << 20, 'x'));
  grpc::ClientContext context;
  limit(context);
  v1::SeriesResponse response;
  EXPECT_EQ(query->Series(&context, request, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  grpc::ClientContext again;
  limit(again);
  v1::PingResponse pong;
  EXPECT_TRUE(v1::Admin::NewStub(channel_)->Ping(&again, v1::PingRequest(), &pong).ok());
}

TEST_F(Protocol, RefusesBrokenUploads) {
  const auto ingest = v1::Ingest::NewStub(channel_);
  const auto outcome = [&](const std::vector<v1::IngestUploadRequest>& requests) {
    grpc::ClientContext context;
    limit(context);
    const auto stream = ingest->IngestUpload(&context);
    for (const v1::IngestUploadRequest& request : requests) {
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
    v1::IngestUploadResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish().error_code();
  };
  v1::IngestUploadRequest header;
  header.mutable_header()->set_name("x.grib");
  header.mutable_header()->set_file_bytes(4);
  v1::IngestUploadRequest four;
  four.set_data("abcd");
  v1::IngestUploadRequest five;
  five.set_data("abcde");
  v1::IngestUploadRequest huge = header;
  huge.mutable_header()->set_file_bytes(1ULL << 60U);
  EXPECT_EQ(outcome({}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome({four}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome({header}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome({header, header}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome({header, five}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome({huge}), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome({header, four}), grpc::StatusCode::INVALID_ARGUMENT);  // complete, but no weather file
}

TEST_F(Protocol, IngestsByPathOnlyUnderItsRoots) {
  const std::filesystem::path data = shared_data();
  if (data.empty()) GTEST_SKIP() << "the folder of real files is absent (NVMDB_SHARED_DATA)";
  std::filesystem::copy_file(data / "given" / "Madagascar.wave.7days.grb", folder_.path() / "waves.grb");
  const auto words = [&](const std::string& path) {
    return std::vector<std::string>{"ingest", "--server", server_->address(), "--server-path", path};
  };
  EXPECT_EQ(run_nvmdb(words("waves.grb")).exit_code, 0);
  EXPECT_EQ(run_nvmdb(words("../waves.grb")).exit_code, 6);
  EXPECT_EQ(run_nvmdb(words("/etc/passwd")).exit_code, 6);
}

TEST_F(Protocol, DeliversEventsAndResumes) {
  const std::filesystem::path data = shared_data();
  if (data.empty()) GTEST_SKIP() << "the folder of real files is absent (NVMDB_SHARED_DATA)";
  const auto catalog = v1::Catalog::NewStub(channel_);
  std::vector<std::uint64_t> first;
  {
    // Watches before anything is there; the events come while the file goes in.
    grpc::ClientContext context;
    limit(context);
    v1::WatchRequest request;
    request.set_after_sequence(0);
    const auto stream = catalog->Watch(&context, request);
    stream->WaitForInitialMetadata();
    const Finished ingest = run_nvmdb(
        {"ingest", "--server", server_->address(), (data / "given" / "Madagascar.wave.7days.grb").string()});
    ASSERT_EQ(ingest.exit_code, 0) << ingest.err;
    v1::WatchResponse response;
    while (first.size() < 27 && stream->Read(&response)) {
      for (const v1::Event& event : response.events()) {
        EXPECT_EQ(event.kind(), v1::EVENT_KIND_STEP_VISIBLE);
        EXPECT_EQ(event.fields_changed(), 3U);
        first.push_back(event.sequence());
      }
    }
    context.TryCancel();
  }
  ASSERT_EQ(first.size(), 27U);  // the file has 27 steps of 3 fields
  for (std::size_t i = 1; i < first.size(); ++i) EXPECT_EQ(first[i], first[i - 1] + 1);
  grpc::ClientContext context;
  limit(context);
  v1::WatchRequest request;
  request.set_after_sequence(first[9]);
  const auto stream = catalog->Watch(&context, request);
  v1::WatchResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.events(0).sequence(), first[10]);
  // A stream that waits does not hold up the end of the server.
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(server_->stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace nvmdb::e2e
