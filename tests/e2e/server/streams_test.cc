#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "nvmdb/v1/ingest.grpc.pb.h"
#include "nvmdb/v1/query.grpc.pb.h"
#include "server/instance.h"
#include "server/listener.h"
#include "tests/e2e/server/processes.h"

namespace nvmdb::e2e {
namespace {

constexpr std::uint32_t kColumns = 1000;
constexpr std::uint32_t kRows = 801;
constexpr int kSteps = 4;

float value_of(int parameter, int step, std::uint64_t point) {
  return static_cast<float>(parameter * 100'000'000 + step * 10'000'000) + static_cast<float>(point);
}

/// A server in this process with two parameters of 3.2 MB a step.
class ServerStreams : public testing::Test {
 protected:
  void SetUp() override {
    server::InstanceOptions options;
    options.pool = folder_.path() / "pool";
    options.create = true;
    options.nvm_bytes = 128ULL << 20U;
    options.dram_bytes = 64ULL << 20U;
    auto instance = server::Instance::open(options);
    ASSERT_TRUE(instance.is_ok()) << instance.status().to_string();
    instance_ = std::move(instance).value();
    for (int parameter = 0; parameter < 2; ++parameter) store(parameter);
  }

  void store(int parameter) {
    met::Grid grid;
    grid.type = met::GridType::RegularLatLon;
    grid.columns = kColumns;
    grid.rows = kRows;
    grid.points = std::uint64_t{kColumns} * kRows;
    grid.first_latitude = 80;
    grid.last_latitude = 0;
    grid.last_longitude = 99.9;
    grid.column_step = grid.row_step = 0.1;
    engine::RunDescription run;
    run.key = {"model", "", 0, ""};
    run.format = "grib";
    auto writer = instance_->fields().write(run);
    ASSERT_TRUE(writer.is_ok()) << writer.status().to_string();
    engine::FieldHeader header;
    header.parameter.short_name = "p" + std::to_string(parameter);
    header.parameter.units = "K";
    header.parameter.origin = "grib";
    header.level = {"surface", 0, 0};
    header.points = grid.points;
    header.grid = *(*writer)->grid(grid);
    std::vector<float> values(grid.points);
    for (int step = 0; step < kSteps; ++step) {
      for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = value_of(parameter, step, i);
      header.step = met::Step::instant(step * 3600);
      ASSERT_TRUE((*writer)->begin_field(header).is_ok());
      ASSERT_TRUE((*writer)->write(0, std::as_bytes(std::span(values))).is_ok());
      ASSERT_TRUE((*writer)->end_field({}).is_ok());
      ASSERT_TRUE((*writer)->commit_step(step * 3600).is_ok());
    }
  }

  void listen(server::ListenerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    auto listener = server::Listener::start(*instance_, options);
    ASSERT_TRUE(listener.is_ok()) << listener.status().to_string();
    listener_ = std::move(listener).value();
    stub_ = v1::Query::NewStub(grpc::CreateChannel(listener_->address(), grpc::InsecureChannelCredentials()));
  }

  static v1::SlabRequest all_steps() {
    v1::SlabRequest request;
    request.mutable_selection()->set_parameter("p0");
    request.mutable_selection()->mutable_step()->set_all(true);
    return request;
  }
  /// Reads a stream to its end.
  grpc::Status drain(const v1::SlabRequest& request) {
    grpc::ClientContext context;
    const auto reader = stub_->Slab(&context, request);
    v1::SlabResponse response;
    while (reader->Read(&response)) {
    }
    return reader->Finish();
  }

  TemporaryFolder folder_;
  std::unique_ptr<server::Instance> instance_;
  std::unique_ptr<server::Listener> listener_;
  std::unique_ptr<v1::Query::Stub> stub_;
};

/// Its answer is larger than what gRPC and the kernel hold for a reader.
TEST_F(ServerStreams, AReaderThatStandsStillIsCutOff) {
  server::ListenerOptions options;
  options.stall_seconds_max = 1;
  listen(options);
  grpc::ClientContext context;
  const auto reader = stub_->Slab(&context, all_steps());
  v1::SlabResponse response;
  ASSERT_TRUE(reader->Read(&response));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(drain(all_steps()).ok());
}

TEST_F(ServerStreams, AnUploadThatStandsStillIsCutOff) {
  server::ListenerOptions options;
  options.stall_seconds_max = 1;
  listen(options);
  const auto ingest = v1::Ingest::NewStub(grpc::CreateChannel(listener_->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = ingest->IngestUpload(&context);
  v1::IngestUploadRequest request;
  request.mutable_header()->set_name("wrfout");
  request.mutable_header()->set_file_bytes(1000);
  ASSERT_TRUE(stream->Write(request));
  v1::IngestUploadResponse response;
  EXPECT_FALSE(stream->Read(&response));  // returns when the server ends the call
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ServerStreams, PointsHaveTheValuesOfAllSelectionsAndSteps) {
  listen();
  v1::SeriesRequest request;
  request.add_selections()->set_parameter("p0");
  request.add_selections()->set_parameter("p1");
  std::vector<std::uint64_t> indexes;
  // 5000 points of 4 steps and 2 selections.
  for (std::uint64_t i = 0; i < 5000; ++i) {
    indexes.push_back(i * 7919 % (std::uint64_t{kColumns} * kRows));
    request.add_latitudes(80 - 0.1 * static_cast<double>(indexes.back() / kColumns));
    request.add_longitudes(0.1 * static_cast<double>(indexes.back() % kColumns));
  }
  grpc::ClientContext context;
  const auto reader = stub_->Points(&context, request);
  std::vector<std::string> values;
  v1::PointsResponse response;
  while (reader->Read(&response)) {
    if (response.has_header()) {
      const v1::PointsHeader& header = response.header();
      EXPECT_EQ(header.series_index(), values.size());
      EXPECT_EQ(header.series_count(), 2U);
      EXPECT_EQ(header.same_points(), !values.empty());
      EXPECT_EQ(header.series().points().grid_indices_size(), values.empty() ? 5000 : 0);
      EXPECT_EQ(header.series().regular_steps().count(), static_cast<std::uint32_t>(kSteps));
      values.emplace_back();
    } else {
      ASSERT_FALSE(values.empty());
      EXPECT_EQ(response.chunk().offset(), values.back().size() / sizeof(float));
      values.back() += response.chunk().data();
    }
  }
  ASSERT_TRUE(reader->Finish().ok());
  ASSERT_EQ(values.size(), 2U);
  for (int parameter = 0; parameter < 2; ++parameter) {
    const std::string& bytes = values[static_cast<std::size_t>(parameter)];
    ASSERT_EQ(bytes.size(), indexes.size() * kSteps * sizeof(float));
    std::vector<float> numbers(indexes.size() * kSteps);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      for (int step = 0; step < kSteps; ++step)
        ASSERT_EQ(numbers[i * kSteps + static_cast<std::size_t>(step)], value_of(parameter, step, indexes[i]));
    }
  }
}

TEST_F(ServerStreams, SlabsOfAllStepsFollowEachOther) {
  listen();
  grpc::ClientContext context;
  const auto reader = stub_->Slab(&context, all_steps());
  v1::SlabResponse response;
  int headers = 0;
  int positions = 0;
  std::uint64_t value_bytes = 0;
  while (reader->Read(&response)) {
    if (response.has_header()) {
      EXPECT_EQ(response.header().step().end().seconds(), headers * 3600);
      EXPECT_EQ(response.header().slab_count(), static_cast<std::uint32_t>(kSteps));
      EXPECT_EQ(response.header().same_positions(), headers > 0);
      ++headers;
    } else if (response.chunk().array() == v1::SlabChunk::ARRAY_VALUES) {
      value_bytes += response.chunk().data().size();
    } else {
      ++positions;
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(headers, kSteps);
  EXPECT_EQ(positions, 2);  // latitudes and longitudes once
  EXPECT_EQ(value_bytes, std::uint64_t{kColumns} * kRows * sizeof(float) * kSteps);
}

TEST_F(ServerStreams, RefusesAnswersAboveTheBudgetBeforeSendingThem) {
  server::ListenerOptions options;
  options.answer_bytes_max = 10'000'000;
  listen(options);
  const grpc::Status refused = drain(all_steps());  // 12.8 MB
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(refused.error_message().find("10000000"), std::string::npos) << refused.error_message();
  v1::SlabRequest one = all_steps();
  one.mutable_selection()->clear_step();
  EXPECT_TRUE(drain(one).ok());
}

TEST_F(ServerStreams, EndsAnAnswerThatIsReadTooSlowly) {
  server::ListenerOptions options;
  options.answer_seconds_max = 1;
  listen(options);
  grpc::ClientContext context;
  const auto reader = stub_->Slab(&context, all_steps());
  v1::SlabResponse response;
  ASSERT_TRUE(reader->Read(&response));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ServerStreams, EndsAtTheClientsDeadlineAndServesOthers) {
  listen();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  const auto reader = stub_->Slab(&context, all_steps());
  v1::SlabResponse response;
  ASSERT_TRUE(reader->Read(&response));
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(drain(all_steps()).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace nvmdb::e2e
