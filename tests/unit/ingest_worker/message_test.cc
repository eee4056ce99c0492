#include "ingest/protocol/message.h"

#include <gtest/gtest.h>

#include <limits>

#include "ingest/protocol/text.h"

namespace nvmdb::ingest::protocol {
namespace {

DecodedField some_field() {
  DecodedField field;
  field.run = 3;
  field.grid = 2;
  field.member = 7;
  field.parameter = {"2t", "2 metre temperature", "K", 167, "grib", "0.0.0", "X"};
  field.level = {"heightAboveGround", 2, 2.5};
  field.step = {-3600, 7200, met::StepProcess::Average};
  field.encoding = {met::EncodingKind::Packed, 3, true, -4, 2, 271.25};
  field.points = 1234;
  field.where = "message 12 at byte 34567";
  return field;
}

Result<std::vector<Message>> round_trip(const Message& message) {
  ByteWriter packet;
  encode(message, packet);
  return decode_packet(packet.bytes());
}

TEST(Message, FieldsComeBackAsTheyWere) {
  const DecodedField field = some_field();
  const auto messages = round_trip(field);
  ASSERT_TRUE(messages.is_ok()) << messages.status().to_string();
  const auto& back = std::get<DecodedField>(messages->at(0));
  EXPECT_EQ(back.run, 3U);
  EXPECT_EQ(back.grid, 2U);
  EXPECT_EQ(back.member, 7U);
  EXPECT_EQ(back.parameter, field.parameter);
  EXPECT_EQ(back.level, field.level);
  EXPECT_EQ(back.step, field.step);
  EXPECT_EQ(back.encoding, field.encoding);
  EXPECT_EQ(back.points, 1234U);
  EXPECT_EQ(back.where, field.where);
}

TEST(Message, RunsAndGridsComeBackAsTheyWere) {
  const DecodedRun run{"wrf",      "wrf", "d01", "0001", 1'705'276'800, met::ReferenceSignificance::Analysis,
                       "{\"a\":1}"};
  const auto run_back = decode_run(encode_run(run));
  ASSERT_TRUE(run_back.is_ok()) << run_back.status().to_string();
  EXPECT_EQ(*run_back, run);

  met::Grid grid;
  grid.type = met::GridType::Curvilinear;
  grid.columns = 2;
  grid.rows = 1;
  grid.points = 2;
  grid.latitudes = {10, 11};
  grid.longitudes = {20, 21};
  const auto grid_back = decode_grid(encode_grid(grid));
  ASSERT_TRUE(grid_back.is_ok()) << grid_back.status().to_string();
  EXPECT_EQ(grid_back->latitudes, grid.latitudes);
  EXPECT_EQ(grid_back->longitudes, grid.longitudes);
  EXPECT_EQ(grid_back->encode_definition(), grid.encode_definition());
}

TEST(Message, SeveralShareAPacket) {
  ByteWriter packet;
  encode(Rejected{"here", Status::corruption("damaged")}, packet);
  encode(StepDone{1, -3600}, packet);
  encode(JobDone{Status::ok()}, packet);
  const auto messages = decode_packet(packet.bytes());
  ASSERT_TRUE(messages.is_ok());
  ASSERT_EQ(messages->size(), 3U);
  EXPECT_EQ(std::get<Rejected>(messages->at(0)).why.message(), "damaged");
  EXPECT_EQ(std::get<StepDone>(messages->at(1)).end_seconds, -3600);
  EXPECT_TRUE(std::get<JobDone>(messages->at(2)).outcome.is_ok());
}

TEST(Message, RefusesWhatIsNotFiniteOrOutOfRange) {
  const auto refused = [](auto change) {
    DecodedField field = some_field();
    change(field);
    return round_trip(field).status().code() == Code::Corruption;
  };
  EXPECT_FALSE(refused([](DecodedField&) {}));
  EXPECT_TRUE(refused([](DecodedField& f) { f.level.value = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](DecodedField& f) { f.level.bottom = std::numeric_limits<double>::infinity(); }));
  EXPECT_TRUE(
      refused([](DecodedField& f) { f.step.end_seconds = std::numeric_limits<std::int64_t>::max(); }));
  EXPECT_TRUE(refused([](DecodedField& f) { f.step.process = static_cast<met::StepProcess>(99); }));
  EXPECT_TRUE(refused([](DecodedField& f) { f.encoding.kind = static_cast<met::EncodingKind>(0); }));
  EXPECT_TRUE(refused([](DecodedField& f) { f.encoding.width_bytes = 9; }));
  EXPECT_TRUE(refused([](DecodedField& f) { f.parameter.short_name.clear(); }));
}

TEST(Message, RefusesTruncatedAndUnknownOnes) {
  ByteWriter packet;
  encode(some_field(), packet);
  for (std::size_t size = 1; size < packet.size(); ++size) {
    EXPECT_FALSE(decode_packet(packet.bytes().first(size)).is_ok()) << size;
  }
  ByteWriter unknown;
  unknown.put(std::uint32_t{1000});
  unknown.put(std::uint32_t{0});
  EXPECT_FALSE(decode_packet(unknown.bytes()).is_ok());
}

TEST(Message, RefusesPositionsThatAreNotFinite) {
  met::Grid grid;
  grid.type = met::GridType::Curvilinear;
  grid.columns = grid.rows = 1;
  grid.points = 1;
  grid.latitudes = {std::numeric_limits<float>::quiet_NaN()};
  grid.longitudes = {0};
  EXPECT_EQ(decode_grid(encode_grid(grid)).status().code(), Code::Corruption);
}

TEST(CleanText, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(clean_text("Gew\xc3\xa4sser", 100), "Gew\xc3\xa4sser");
  EXPECT_EQ(clean_text("a\nb\x1b[1m\xff", 100), "a?b?[1m?");
  EXPECT_EQ(clean_text("\xc0\xaf\xed\xa0\x80", 100), "?????");
  EXPECT_EQ(clean_text("abc\xc3\xa4", 4), "abc");
  EXPECT_FALSE(is_clean_text("a\nb", 10));
  EXPECT_FALSE(is_clean_text("abc", 2));
  EXPECT_TRUE(is_clean_text("\xf0\x9f\x8c\xa7", 4));
}

}  // namespace
}  // namespace nvmdb::ingest::protocol
