#include <gtest/gtest.h>

#include <cstring>

#include "given_data.h"
#include "ingest/decode/grib/message_scanner.h"
#include "ingest/decode/grib/sections.h"
#include "storage/base/random.h"

namespace nvmdb::ingest::testing {
namespace {

using grib::MessageScanner;
using grib::ScannedMessage;
using grib::ScanProblem;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void append(Bytes& to, ByteSpan from) {
  to.insert(to.end(), from.begin(), from.end());
}

struct Scan {
  std::vector<ScannedMessage> messages;
  std::vector<ScanProblem> problems;
};

Scan scan(ByteSpan file) {
  Scan found;
  MessageScanner scanner(file);
  while (const auto next = scanner.next()) {
    if (const auto* message = std::get_if<ScannedMessage>(&*next)) found.messages.push_back(*message);
    if (const auto* problem = std::get_if<ScanProblem>(&*next)) found.problems.push_back(*problem);
  }
  return found;
}

class Scanner : public ::testing::Test {
 protected:
  void SetUp() override { NVMDB_NEED_SHARED_DATA(); }
};

TEST(MessageScanner, FindsNothingInOtherFiles) {
  for (const char* text :
       {"", "GRIB", "GRIB and more text about the word GRIB", "GRIB\r\r\n\001 TTAAII", "\x89HDF\r\n\x1a\n"}) {
    const Bytes file = bytes_of(text);
    EXPECT_TRUE(scan(file).messages.empty());
    EXPECT_TRUE(scan(file).problems.empty()) << text;
  }
}

TEST_F(Scanner, FindsMessagesBetweenText) {
  const Bytes message = read_given("bugG08_forecastTime_minus3h.grib2");
  Bytes file = bytes_of("\001\r\r\n123\r\r\nYTZA98 EGRR 010000\r\r\nGRIB FOLLOWS \001\r\r\n");
  const std::size_t first = file.size();
  append(file, message);
  append(file, Bytes(1000));
  append(file, message);
  append(file, bytes_of("7777GRIB"));
  const Scan found = scan(file);
  ASSERT_EQ(found.messages.size(), 2U);
  EXPECT_TRUE(found.problems.empty());
  EXPECT_EQ(found.messages[0].offset, first);
  EXPECT_EQ(found.messages[1].offset, first + message.size() + 1000);
  EXPECT_EQ(found.messages[1].bytes.size(), message.size());
}

TEST_F(Scanner, SaysHowMuchOfATruncatedMessageIsThereAndGoesOn) {
  const Bytes message = read_given("bugG08_forecastTime_minus3h.grib2");
  const Bytes large = read_given("bugG01_ll_0_360.grib2");
  Bytes file(large.begin(), large.begin() + 300);
  append(file, message);
  const Scan found = scan(file);
  ASSERT_EQ(found.problems.size(), 1U);
  EXPECT_EQ(found.problems[0].why.message(), "truncated message: expected 21203 bytes, found 515");
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_EQ(found.messages[0].offset, 300U);
}

/// A message from 8 MiB on in GRIB1: its length is coded in units of 120 bytes.
TEST(MessageScanner, ReadsTheLengthOfLargeMessagesOfEdition1) {
  constexpr std::size_t kBytes = 8 + 28 + 9'000'000 + 4;
  Bytes file(kBytes);
  const auto put3 = [&](std::size_t at, std::size_t value) {
    for (std::size_t i = 0; i < 3; ++i) file[at + i] = static_cast<std::byte>(value >> (16 - 8 * i) & 0xffU);
  };
  std::memcpy(file.data(), "GRIB", 4);
  std::memcpy(file.data() + kBytes - 4, "7777", 4);
  const std::size_t units = (kBytes - 4 + 119) / 120;
  const std::size_t unused = units * 120 - kBytes + 4;
  put3(4, 0x800000 | units);
  file[7] = std::byte{1};
  put3(8, 28);
  put3(8 + 28, unused);
  const Scan found = scan(file);
  ASSERT_EQ(found.messages.size(), 1U);
  EXPECT_EQ(found.messages[0].bytes.size(), kBytes);
  const auto fields = grib::split_fields(found.messages[0]);
  ASSERT_TRUE(fields.is_ok()) << fields.status().to_string();
  EXPECT_EQ(fields->front().data.size(), 9'000'000U);
}

TEST_F(Scanner, SplitsFieldsThatShareABitmap) {
  const Bytes file = read_given("multifield_reuse_bitmap.grib2");
  const Scan found = scan(file);
  ASSERT_EQ(found.messages.size(), 1U);
  const auto fields = grib::split_fields(found.messages[0]);
  ASSERT_TRUE(fields.is_ok());
  ASSERT_EQ(fields->size(), 2U);
  EXPECT_EQ((*fields)[0].bitmap.data(), (*fields)[1].bitmap.data());
  for (const auto& field : *fields) {
    const Bytes alone = grib::assemble_message(field);
    const Scan again = scan(alone);
    ASSERT_EQ(again.messages.size(), 1U);
    EXPECT_EQ(again.messages[0].bytes.size(), alone.size());
    EXPECT_EQ(grib::split_fields(again.messages[0])->size(), 1U);
  }
}

TEST_F(Scanner, RefusesASharedBitmapWithoutOneBefore) {
  Bytes file = read_given("bugG08_forecastTime_minus3h.grib2");
  const Bytes no_bitmap = bytes_of(std::string_view("\0\0\0\6\6\xff", 6));
  const auto at = std::search(file.begin(), file.end(), no_bitmap.begin(), no_bitmap.end());
  ASSERT_NE(at, file.end());
  at[5] = std::byte{254};
  EXPECT_FALSE(grib::split_fields(scan(file).messages.at(0)).is_ok());
}

TEST_F(Scanner, RefusesGridsBeyondTheLimitsBeforeDecoding) {
  Bytes file = read_given("icon_global_TOT_PREC_const.grib2");
  MemorySink good;
  ASSERT_TRUE(decode_bytes(file, good).is_ok());
  EXPECT_EQ(good.fields.size(), 1U);
  const Scan found = scan(file);
  const auto fields = grib::split_fields(found.messages.at(0));
  const auto points = static_cast<std::size_t>(fields->front().grid.data() - file.data()) + 6;
  const auto values = static_cast<std::size_t>(fields->front().representation.data() - file.data()) + 5;
  for (const unsigned top : {0x10U, 0x7fU}) {  // 2.7e8 and 2e9 points in 193 bytes
    file[points] = file[values] = static_cast<std::byte>(top);
    MemorySink sink;
    ASSERT_TRUE(decode_bytes(file, sink).is_ok());
    EXPECT_TRUE(sink.fields.empty());
    ASSERT_EQ(sink.rejections.size(), 1U);
    EXPECT_EQ(sink.rejections[0].why.code(), Code::InvalidArgument);
  }
}

TEST_F(Scanner, StopsAtTheLimitOfFields) {
  DecodeLimits limits;
  limits.fields_max = 5;
  MemorySink sink;
  const Status status = decode_bytes(read_given("bugG20_two_runs_same_valid_time.grib1"), sink, limits);
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_EQ(sink.fields.size(), 5U);
}

TEST(DecodeGrib, RefusesAFileWithoutMessages) {
  MemorySink sink;
  EXPECT_EQ(decode_bytes(bytes_of("no message here, only the word GRIB"), sink).code(),
            Code::InvalidArgument);
}

/// Goal: hostile input cannot make the scanner or the splitter read outside the file. Method: seeded
/// mutations of real messages; every view that comes back must lie in the file. ecCodes, which may abort, is
/// not called.
TEST_F(Scanner, SurvivesMutations) {
  constexpr std::uint64_t kSeed = 20240115;
  std::cout << "seed " << kSeed << "\n";
  SeededRandom random(kSeed);
  std::size_t whole = 0;
  for (const char* name :
       {"bugG11_multifield_uv.grib2", "multifield_reuse_bitmap.grib2", "second_order_general.grib1",
        "wafs_reduced_ll.grib1", "bugG12_7777_and_GRIB_inside_data.grib2"}) {
    const Bytes original = read_given(name);
    for (int round = 0; round < 2000; ++round) {
      Bytes file = original;
      for (std::uint64_t i = random.below(6); i > 0; --i) {
        const std::size_t head = random.chance(0.7) ? std::min<std::size_t>(200, file.size()) : file.size();
        file[random.below(head)] = static_cast<std::byte>(random.next() & 0xffU);
      }
      if (random.chance(0.3)) file.resize(random.below(file.size()));
      for (const ScannedMessage& message : scan(file).messages) {
        const auto fields = grib::split_fields(message);
        if (!fields.is_ok()) continue;
        for (const auto& field : *fields) {
          EXPECT_GE(field.data.data(), file.data());
          EXPECT_LE(field.data.data() + field.data.size(), file.data() + file.size());
          static_cast<void>(grib::check_declared_sizes(field, DecodeLimits{}, file.size()).is_ok());
          if (field.edition == 2) {
            EXPECT_LE(grib::assemble_message(field).size(), file.size());
          }
          ++whole;
        }
      }
    }
  }
  EXPECT_GT(whole, 1000U);
}

}  // namespace
}  // namespace nvmdb::ingest::testing
