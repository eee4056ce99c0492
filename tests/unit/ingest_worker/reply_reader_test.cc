#include "ingest/jobs/reply_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "ingest/protocol/ring.h"
#include "recorded_reply.h"
#include "storage/base/random.h"

namespace nvmdb::ingest {
namespace {

using protocol::kRingBytes;

/// A ring and the packets of a small job, as an honest worker would make them.
class Job {
 public:
  Job() : ring_(kRingBytes) {}

  void blob(ByteSpan bytes) {
    std::memcpy(ring_.data() + position_, bytes.data(), bytes.size());
    add(protocol::BlobPiece{position_, bytes.size()});
    position_ = align_up(position_ + bytes.size(), 64);
  }
  void run() {
    DecodedRun run;
    run.format = "grib";
    run.model = "m";
    run.domain = "d";
    blob(protocol::encode_run(run));
    add(protocol::RunFromBlob{});
  }
  void grid(std::uint32_t points) {
    met::Grid grid;
    grid.columns = points;
    grid.rows = 1;
    grid.points = points;
    blob(protocol::encode_grid(grid));
    add(protocol::GridFromBlob{});
  }
  DecodedField field(std::uint64_t points) {
    DecodedField field;
    field.points = points;
    field.parameter.short_name = "x";
    return field;
  }
  void piece(std::uint64_t bytes) {
    add(protocol::FieldPiece{position_, bytes});
    position_ = align_up(position_ + bytes, 64);
  }
  void whole_field(std::uint64_t points) {
    add(field(points));
    piece(points * sizeof(float));
    add(protocol::EndField{{0, 1, 0.5, 0}});
  }
  void add(const protocol::Message& message) { protocol::encode(message, packet_); }
  [[nodiscard]] ByteSpan packet() const { return packet_.bytes(); }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] ByteSpan ring() const { return ring_; }

  /// What a reader says of the packet so far.
  Status verdict(const ReplyLimits& limits = {}) {
    RecordedReply reply;
    RingProgress progress;
    ReplyReader reader(limits, ring_, progress, reply);
    const Status status = reader.read(packet());
    EXPECT_EQ(reader.violated(), !status.is_ok()) << status.to_string();
    return status;
  }

 private:
  std::vector<std::byte> ring_;
  ByteWriter packet_;
  std::uint64_t position_ = 0;
};

Job started(std::uint32_t points = 16) {
  Job job;
  job.run();
  job.grid(points);
  return job;
}

TEST(ReplyReader, TakesAnHonestJob) {
  Job job = started();
  job.whole_field(16);
  job.add(protocol::StepDone{0, 3600});
  job.add(protocol::JobDone{Status::ok()});
  RecordedReply reply;
  RingProgress progress;
  ReplyReader reader({}, job.ring(), progress, reply);
  const Status status = reader.read(job.packet());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  ASSERT_TRUE(reader.outcome().has_value());
  EXPECT_EQ(reply.fields.size(), 1U);
  EXPECT_EQ(reply.steps.size(), 1U);
}

TEST(ReplyReader, RefusesPiecesOutsideTheRing) {
  const auto verdict_of_piece = [](std::uint64_t position, std::uint64_t bytes) {
    Job job = started(1'000'000);
    job.add(job.field(1'000'000));
    job.add(protocol::FieldPiece{position, bytes});
    return job.verdict().is_ok();
  };
  EXPECT_TRUE(verdict_of_piece(1024, 64));
  EXPECT_FALSE(verdict_of_piece(0, 64)) << "behind what was read";
  EXPECT_FALSE(verdict_of_piece(1024, 0));
  EXPECT_FALSE(verdict_of_piece(1024, protocol::kPieceBytesMax + 1));
  EXPECT_FALSE(verdict_of_piece(kRingBytes - 64, 128)) << "across the end";
  EXPECT_FALSE(verdict_of_piece(kRingBytes, 64)) << "not given back yet";
  EXPECT_FALSE(verdict_of_piece(std::numeric_limits<std::uint64_t>::max() - 63, 64));
  EXPECT_FALSE(
      verdict_of_piece(std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::uint64_t>::max()));
}

TEST(ReplyReader, RefusesFieldsThatDoNotFit) {
  const auto verdict_of_field = [](auto change) {
    Job job = started();
    DecodedField field = job.field(16);
    change(field);
    job.add(field);
    return job.verdict().is_ok();
  };
  EXPECT_TRUE(verdict_of_field([](DecodedField&) {}));
  EXPECT_FALSE(verdict_of_field([](DecodedField& f) { f.run = 1; }));
  EXPECT_FALSE(verdict_of_field([](DecodedField& f) { f.grid = 1; }));
  EXPECT_FALSE(verdict_of_field([](DecodedField& f) { f.points = 17; }));
  EXPECT_FALSE(
      verdict_of_field([](DecodedField& f) { f.points = std::numeric_limits<std::uint64_t>::max(); }));
}

TEST(ReplyReader, RefusesTooMuch) {
  Job job = started(1000);
  job.whole_field(1000);
  job.whole_field(1000);
  EXPECT_TRUE(job.verdict().is_ok());
  const auto verdict_with = [&job](auto change) {
    ReplyLimits limits;
    change(limits);
    return job.verdict(limits).is_ok();
  };
  EXPECT_FALSE(verdict_with([](ReplyLimits& l) { l.total_bytes_max = 7999; }));
  EXPECT_TRUE(verdict_with([](ReplyLimits& l) { l.total_bytes_max = 8000; }));
  EXPECT_FALSE(verdict_with([](ReplyLimits& l) { l.decode.fields_max = 1; }));
  EXPECT_FALSE(verdict_with([](ReplyLimits& l) { l.decode.field_bytes_max = 3999; }));
  EXPECT_FALSE(verdict_with([](ReplyLimits& l) { l.grid_bytes_max = 100; }));
  EXPECT_FALSE(verdict_with([](ReplyLimits& l) { l.runs_max = 0; }));
  EXPECT_FALSE(verdict_with([](ReplyLimits& l) { l.grids_max = 0; }));
}

TEST(ReplyReader, RefusesMessagesOutOfOrder) {
  const auto verdict_after = [](auto... messages) {
    Job job = started();
    (job.add(messages), ...);
    return job.verdict().is_ok();
  };
  const DecodedField field = Job().field(16);
  const protocol::EndField end{{0, 1, 0.5, 0}};
  EXPECT_FALSE(verdict_after(protocol::Hello{}));
  EXPECT_FALSE(verdict_after(protocol::Job{}));
  EXPECT_FALSE(verdict_after(protocol::Credit{}));
  EXPECT_FALSE(verdict_after(end));
  EXPECT_FALSE(verdict_after(protocol::CancelField{}));
  EXPECT_FALSE(verdict_after(field, field));
  EXPECT_FALSE(verdict_after(field, end)) << "bytes are missing";
  EXPECT_FALSE(verdict_after(field, protocol::StepDone{0, 0}));
  EXPECT_FALSE(verdict_after(field, protocol::JobDone{Status::ok()}));
  EXPECT_TRUE(verdict_after(field, protocol::JobDone{Status::corruption("x")}));
  EXPECT_FALSE(verdict_after(protocol::StepDone{1, 0}));
  EXPECT_FALSE(verdict_after(protocol::RunFromBlob{})) << "no blob";
  EXPECT_FALSE(verdict_after(protocol::JobDone{Status::ok()}, protocol::JobDone{Status::ok()}));
  EXPECT_TRUE(verdict_after(protocol::JobDone{Status::ok()}, protocol::ForbiddenCall{59}));
}

TEST(ReplyReader, RefusesStatisticsThatContradict) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto verdict_of = [](const DecodedStatistics& statistics) {
    Job job = started();
    job.add(job.field(16));
    job.piece(64);
    job.add(protocol::EndField{statistics});
    return job.verdict().is_ok();
  };
  EXPECT_TRUE(verdict_of({1, 1, 1, 0}));
  EXPECT_TRUE(verdict_of({kNan, kNan, kNan, 16}));
  EXPECT_TRUE(verdict_of({-kInfinity, 3, -kInfinity, 2}));
  EXPECT_FALSE(verdict_of({2, 1, 1.5, 0}));
  EXPECT_FALSE(verdict_of({1, 2, 3, 0}));
  EXPECT_FALSE(verdict_of({1, 2, kNan, 0}));
  EXPECT_FALSE(verdict_of({kNan, kNan, kNan, 3}));
  EXPECT_FALSE(verdict_of({1, 2, 1.5, 17}));
}

// Goal: no reply, however damaged, does harm. Method: an honest job's packet, mutated in 1 to 8 places of its
// bytes or of the blobs in the ring, cut, or with parts repeated; RecordedReply stops the process when a
// promise is broken.
TEST(ReplyReader, SurvivesMutatedReplies) {
  constexpr std::uint64_t kSeed = 20260131;
  constexpr int kMutations = 60'000;
  RecordProperty("seed", std::to_string(kSeed));
  SeededRandom random(kSeed);
  Job job = started();
  job.whole_field(16);
  job.add(protocol::Rejected{"here", Status::corruption("x")});
  job.add(protocol::StepDone{0, 3600});
  job.whole_field(16);
  job.add(protocol::JobDone{Status::ok()});
  const Bytes original(job.packet().begin(), job.packet().end());
  std::vector<std::byte> ring(job.ring().begin(), job.ring().end());
  constexpr std::size_t kUsed = 4096;
  int accepted = 0;
  for (int i = 0; i < kMutations; ++i) {
    Bytes packet = original;
    std::memcpy(ring.data(), job.ring().data(), kUsed);
    for (std::uint64_t change = 1 + random.below(8); change > 0; --change) {
      const auto value = static_cast<std::byte>(random.chance(0.3) ? 0xff : random.below(256));
      if (random.chance(0.3)) {
        ring[random.below(job.position())] = value;
      } else {
        packet[random.below(packet.size())] = value;
      }
    }
    if (random.chance(0.1)) packet.resize(random.below(packet.size()));
    if (random.chance(0.1)) {
      const std::size_t from = random.below(packet.size() + 1);
      packet.insert(packet.end(), original.begin() + static_cast<std::ptrdiff_t>(from), original.end());
    }
    RecordedReply reply;
    RingProgress progress;
    ReplyReader reader({}, ring, progress, reply);
    if (reader.read(packet).is_ok()) ++accepted;
  }
  EXPECT_GT(accepted, 0) << "mutations of values alone are legal";
  EXPECT_LT(accepted, kMutations);
}

}  // namespace
}  // namespace nvmdb::ingest
