#include "ingest/worker/ring_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

#include "ingest/protocol/ring.h"
#include "recorded_reply.h"

namespace nvmdb::ingest {
namespace {

met::Grid list_of_points(std::uint32_t points) {
  met::Grid grid;
  grid.columns = points;
  grid.rows = 1;
  grid.points = points;
  grid.description = "numbers";
  return grid;
}

/// A field of `points` numbers from `first` on, handed over in pieces as large as the sink gives.
Status put_field(FieldSink& sink, std::uint32_t points, float first) {
  DecodedRun run;
  run.format = "grib";
  run.model = "m";
  run.domain = "d";
  DecodedField field;
  NVMDB_ASSIGN(field.run, sink.run(run));
  NVMDB_ASSIGN(field.grid, sink.grid(list_of_points(points)));
  field.points = points;
  field.parameter.short_name = "number";
  NVMDB_TRY(sink.begin_field(field));
  std::vector<float> values(points);
  std::iota(values.begin(), values.end(), first);
  for (ByteSpan rest = std::as_bytes(std::span(values)); !rest.empty();) {
    NVMDB_ASSIGN(const std::span<std::byte> room, sink.space(rest.size()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data()) % 64, 0U);
    EXPECT_GE(room.size(), std::min<std::size_t>(rest.size(), 256U << 10U));
    EXPECT_LE(room.size(), rest.size());
    std::memcpy(room.data(), rest.data(), room.size());
    NVMDB_TRY(sink.advance(room.size()));
    rest = rest.subspan(room.size());
  }
  const double low = static_cast<double>(first);
  const double high = low + static_cast<double>(points - 1);
  return sink.end_field({low, high, (low + high) / 2, 0});
}

/// Server and worker in one process: the worker's end in a thread.
class Pair {
 public:
  Pair() {
    auto ends = protocol::Channel::make_pair();
    NVMDB_CHECK(ends.is_ok(), "no socket pair");
    server_ = std::make_unique<protocol::Channel>(std::move(ends->first));
    worker_ = std::make_unique<protocol::Channel>(std::move(ends->second));
    sink_ = std::make_unique<RingSink>(*worker_, ring_);
  }

  /// Runs `body(sink)` as a job; returns the outcome that arrived.
  template <class Body>
  Status job(Body body, RecordedReply& reply) {
    ReplyReader reader({}, ring_, progress_, reply);
    std::thread thread([&] {
      sink_->start_job();
      EXPECT_TRUE(sink_->finish_job(body(*sink_)).is_ok());
    });
    Status status;
    while (!reader.outcome().has_value() && status.is_ok()) status = serve(reader);
    thread.join();
    return status.is_ok() ? *reader.outcome() : status;
  }

 private:
  Status serve(ReplyReader& reader) {
    NVMDB_ASSIGN(const protocol::Channel::Packet packet, server_->receive(10'000, false));
    NVMDB_TRY(reader.read(packet.bytes));
    if (const auto credit = reader.take_credit(); credit.has_value()) {
      ByteWriter bytes;
      protocol::encode(protocol::Credit{*credit}, bytes);
      return server_->send(bytes.bytes(), false);
    }
    return Status::ok();
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_ = std::vector<Line>(protocol::kRingBytes / sizeof(Line));
  std::span<std::byte> ring_ = std::as_writable_bytes(std::span(memory_));
  std::unique_ptr<protocol::Channel> server_;
  std::unique_ptr<protocol::Channel> worker_;
  std::unique_ptr<RingSink> sink_;
  RingProgress progress_;
};

void expect_numbers(const RecordedReply::StoredField& field, std::uint32_t points, float first) {
  ASSERT_EQ(field.bytes.size(), points * sizeof(float));
  std::vector<float> expected(points);
  std::iota(expected.begin(), expected.end(), first);
  EXPECT_EQ(std::memcmp(field.bytes.data(), expected.data(), field.bytes.size()), 0);
}

TEST(RingSink, CarriesFieldsLargerThanTheRing) {
  Pair pair;
  RecordedReply reply;
  constexpr std::uint32_t kPoints = 5'000'003;
  const Status outcome = pair.job([](FieldSink& sink) { return put_field(sink, kPoints, 1); }, reply);
  ASSERT_TRUE(outcome.is_ok()) << outcome.to_string();
  ASSERT_EQ(reply.fields.size(), 1U);
  expect_numbers(reply.fields[0], kPoints, 1);
}

TEST(RingSink, CarriesManyFieldsOfAnySizeThroughSeveralJobs) {
  Pair pair;
  for (int job = 0; job < 3; ++job) {
    RecordedReply reply;
    const auto points = [](int i) { return static_cast<std::uint32_t>(1 + i * i % 90'001); };
    const Status outcome = pair.job(
        [&](FieldSink& sink) -> Status {
          for (int i = 0; i < 500; ++i) {
            NVMDB_TRY(put_field(sink, points(i), static_cast<float>(i)));
          }
          return Status::corruption("the rest is damaged");
        },
        reply);
    EXPECT_EQ(outcome.message(), "the rest is damaged");
    ASSERT_EQ(reply.fields.size(), 500U);
    EXPECT_EQ(reply.runs.size(), 1U);
    for (int i = 0; i < 500; ++i) {
      expect_numbers(reply.fields[static_cast<std::size_t>(i)], points(i), static_cast<float>(i));
    }
  }
}

TEST(RingSink, GetsSpaceBackFromManySmallJobs) {
  Pair pair;
  constexpr std::uint32_t kPoints = 75'000;
  for (int job = 0; job < 60; ++job) {
    RecordedReply reply;
    const Status outcome = pair.job([](FieldSink& sink) { return put_field(sink, kPoints, 3); }, reply);
    ASSERT_TRUE(outcome.is_ok()) << outcome.to_string();
    expect_numbers(reply.fields.at(0), kPoints, 3);
  }
}

TEST(RingSink, NumbersTheSameRunAndGridOnce) {
  Pair pair;
  RecordedReply reply;
  const Status outcome = pair.job(
      [](FieldSink& sink) -> Status {
        NVMDB_ASSIGN(const std::uint32_t first, sink.grid(list_of_points(10)));
        NVMDB_ASSIGN(const std::uint32_t second, sink.grid(list_of_points(11)));
        NVMDB_ASSIGN(const std::uint32_t again, sink.grid(list_of_points(10)));
        EXPECT_EQ(first, again);
        EXPECT_NE(first, second);
        return Status::ok();
      },
      reply);
  ASSERT_TRUE(outcome.is_ok()) << outcome.to_string();
  EXPECT_EQ(reply.grids.size(), 2U);
}

TEST(RingSink, CarriesGridsLargerThanTheRing) {
  Pair pair;
  RecordedReply reply;
  met::Grid grid;
  grid.type = met::GridType::Curvilinear;
  grid.columns = 1500;
  grid.rows = 1000;
  grid.points = 1'500'000;
  grid.latitudes.assign(grid.points, 45);
  grid.longitudes.assign(grid.points, 7);
  grid.longitudes.back() = 8;
  const Status outcome = pair.job([&](FieldSink& sink) { return sink.grid(grid).status(); }, reply);
  ASSERT_TRUE(outcome.is_ok()) << outcome.to_string();
  ASSERT_EQ(reply.grids.size(), 1U);
  EXPECT_EQ(reply.grids[0].latitudes, grid.latitudes);
  EXPECT_EQ(reply.grids[0].longitudes, grid.longitudes);
}

TEST(RingSink, CancelsRejectsAndEndsStepsInOrder) {
  Pair pair;
  RecordedReply reply;
  const Status outcome = pair.job(
      [](FieldSink& sink) -> Status {
        NVMDB_TRY(put_field(sink, 10, 0));
        DecodedField field;
        field.points = 10;
        field.parameter.short_name = "bad\nname";
        NVMDB_TRY(sink.begin_field(field));
        NVMDB_TRY(sink.cancel_field());
        NVMDB_TRY(sink.rejected("variable\tX", Status::corruption("unreadable")));
        return sink.step_done(0, 3600);
      },
      reply);
  ASSERT_TRUE(outcome.is_ok()) << outcome.to_string();
  EXPECT_EQ(reply.fields.size(), 1U);
  ASSERT_EQ(reply.rejections.size(), 1U);
  EXPECT_EQ(reply.rejections[0].first, "variable?X");
  EXPECT_EQ(reply.rejections[0].second.code(), Code::Corruption);
  ASSERT_EQ(reply.steps.size(), 1U);
  EXPECT_EQ(reply.steps[0].second, 3600);
}

}  // namespace
}  // namespace nvmdb::ingest
