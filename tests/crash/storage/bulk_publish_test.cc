// Goal:   the explorer finds the classic mistakes of bulk writing, and finds nothing in code that is right.
// Method: a toy writes payloads with non-temporal stores and a header with cached ones, then publishes them
// with one
//         8-byte commit word. Three mistakes are planted behind a switch: a flush left out, the fence between
//         payload and commit word left out, an acknowledgement before its fence.

#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "storage/base/crc32c.h"
#include "storage/base/random.h"
#include "tests/support/crash_states.h"
#include "tests/support/recorded_media.h"
#include "tests/support/trace_lint.h"

namespace nvmdb::test {
namespace {

enum class Mistake : unsigned char { None, NoFlush, NoFenceBeforeCommit, AcknowledgeBeforeFence };

constexpr std::uint64_t kRecords = 40;
constexpr std::uint64_t kPayloadBytes = 1024;
constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kRecordBytes = kHeaderBytes + kPayloadBytes;
constexpr std::uint64_t kCommitWord = 0;

Bytes payload_of(std::uint64_t record) {
  SeededRandom random(record);
  ByteWriter writer;
  while (writer.size() < kPayloadBytes) writer.put(random.next());
  return writer.take();
}

Bytes header_of(std::uint64_t record) {
  ByteWriter writer;
  for (std::uint64_t word = 0; word < kHeaderBytes / 8; ++word) writer.put(record * 1000 + word);
  return writer.take();
}

void write_records(RecordedMedia& media, Mistake mistake) {
  storage::Door& region = media.region(0);
  storage::Door& root = media.root_words();
  for (std::uint64_t record = 1; record <= kRecords; ++record) {
    const std::uint64_t at = record * kRecordBytes;
    region.copy(at, header_of(record));
    if (mistake != Mistake::NoFlush) region.flush(at, kHeaderBytes);
    region.copy_nontemporal(at + kHeaderBytes, payload_of(record));
    if (mistake != Mistake::NoFenceBeforeCommit) {
      ASSERT_TRUE(region.fence().is_ok());
    }
    root.store8(kCommitWord, record);
    root.flush(kCommitWord, 8);
    if (mistake == Mistake::AcknowledgeBeforeFence) media.ack(record);
    ASSERT_TRUE(root.fence().is_ok());
    if (mistake != Mistake::AcknowledgeBeforeFence) media.ack(record);
  }
}

std::string check_records(CrashState& state) {
  const std::uint64_t committed = state.media.root_words().load8(kCommitWord);
  const std::uint64_t acknowledged = state.acks.empty() ? 0 : state.acks.back();
  if (committed < acknowledged) {
    return "acknowledged " + std::to_string(acknowledged) + ", found " + std::to_string(committed);
  }
  for (std::uint64_t record = 1; record <= committed; ++record) {
    Bytes expected = header_of(record);
    const Bytes payload = payload_of(record);
    expected.insert(expected.end(), payload.begin(), payload.end());
    if (crc32c(state.media.region(0).bytes(record * kRecordBytes, kRecordBytes)) != crc32c(expected)) {
      return "record " + std::to_string(record) + " is published and damaged";
    }
  }
  return {};
}

Recording record_with(Mistake mistake) {
  RecordedMedia media({.pages = 4, .record = true});
  write_records(media, mistake);
  return media.take_recording();
}

TEST(BulkPublish, IsSoundWhenWrittenRight) {
  const Recording recording = record_with(Mistake::None);
  const CrashReport report = CrashStates(recording, crash_options(10'000)).explore(check_records);
  std::cout << report.to_string() << "\n";
  EXPECT_EQ(report.failures, 0U) << report.to_string();
  EXPECT_GE(report.states, 5'000U);
  EXPECT_TRUE(lint_trace(recording).errors.empty());
}

TEST(BulkPublish, EachPlantedMistakeIsFound) {
  for (const Mistake mistake :
       {Mistake::NoFlush, Mistake::NoFenceBeforeCommit, Mistake::AcknowledgeBeforeFence}) {
    const Recording recording = record_with(mistake);
    CrashStates states(recording, crash_options(5'000));
    const CrashReport report = states.explore(check_records);
    std::cout << report.to_string() << "\n";
    ASSERT_GT(report.failures, 0U) << "mistake " << static_cast<int>(mistake);
    for (const CrashFailure& failure : report.first_failures) {
      EXPECT_EQ(states.replay(failure.token, check_records).value(), failure.message);
      EXPECT_NE(states.replay(failure.minimal_token, check_records).value(), "");
      ASSERT_FALSE(failure.lost.empty());
      EXPECT_NE(failure.lost.front().find("bulk_publish_test.cc:"), std::string::npos)
          << failure.lost.front();
    }
  }
}

TEST(BulkPublish, SameSeedGivesTheSameStates) {
  const Recording recording = record_with(Mistake::NoFlush);
  const CrashOptions options{.seed = 7, .states_max = 2'000};
  std::vector<std::string> tokens[2];
  for (auto& list : tokens) {
    (void)CrashStates(recording, options).explore([&](CrashState& state) {
      list.emplace_back(state.token);
      return std::string();
    });
  }
  EXPECT_EQ(tokens[0], tokens[1]);
}

TEST(BulkPublish, ReplayRefusesAForeignToken) {
  const Recording recording = record_with(Mistake::None);
  CrashStates states(recording, {});
  for (const char* token :
       {"", "1", "1:2", "1:99999999:all", "1:2:most", "1:2:all,99999=0", "1:2:rand-xyz"}) {
    EXPECT_EQ(states.replay(token, check_records).status().code(), Code::InvalidArgument) << token;
  }
}

}  // namespace
}  // namespace nvmdb::test
