#include "engine/log_codec.h"

#include <gtest/gtest.h>

#include <vector>

#include "storage/base/random.h"

namespace nvmdb::engine {
namespace {

struct Operation {
  LogAction action;
  TableId table;
  index::Key key;
  Bytes row;
};

Bytes encode(const std::vector<Operation>& operations) {
  std::size_t bytes = 0;
  for (const Operation& op : operations) bytes += encoded_bytes(op.action, op.key, op.row.size());
  Bytes payload(bytes);
  std::byte* to = payload.data();
  for (const Operation& op : operations) to = encode_operation(to, op.action, op.table, op.key, op.row);
  EXPECT_EQ(to, payload.data() + payload.size());
  return payload;
}

std::vector<Operation> sample(SeededRandom& random) {
  std::vector<Operation> operations;
  for (std::uint64_t i = random.below(6); i-- > 0;) {
    Operation op;
    op.action = random.chance(0.7) ? LogAction::Put : LogAction::Erase;
    op.table = static_cast<TableId>(random.below(65536));
    op.key.count = std::vector<std::uint32_t>{1, 2, 4, 6}[random.below(4)];
    for (std::uint32_t w = 0; w < op.key.count; ++w) op.key.words[w] = random.next();
    if (op.action == LogAction::Put) {
      op.row.resize(std::vector<std::size_t>{0, 1, 127, 128, 300, 16383, 16384}[random.below(7)]);
      for (std::byte& byte : op.row) byte = static_cast<std::byte>(random.next());
    }
    operations.push_back(op);
  }
  return operations;
}

TEST(LogCodec, ReadsBackWhatWasWritten) {
  SeededRandom random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Operation> operations = sample(random);
    const Bytes payload = encode(operations);
    LogOperationReader reader(payload);
    for (const Operation& expected : operations) {
      LogOperation found;
      ASSERT_TRUE(reader.next(found).is_ok());
      ASSERT_EQ(found.action, expected.action);
      ASSERT_EQ(found.table, expected.table);
      ASSERT_EQ(found.key, expected.key);
      ASSERT_EQ(Bytes(found.row.begin(), found.row.end()), expected.row);
    }
    ASSERT_TRUE(reader.at_end());
  }
}

/// The bytes of a small record as the format description gives them.
TEST(LogCodec, WritesTheDocumentedBytes) {
  const Bytes row(200, std::byte{0xee});
  const Bytes payload = encode({{LogAction::Put, 0x0102, index::make_key(5), row}, {LogAction::Erase, 7, index::make_key(1, 2), {}}});
  const std::vector<unsigned> expected_head = {0x11, 0x02, 0x01, 0xc8, 0x01, 5, 0, 0, 0, 0, 0, 0, 0, 0xee};
  for (std::size_t i = 0; i < expected_head.size(); ++i) EXPECT_EQ(payload[i], static_cast<std::byte>(expected_head[i]));
  const std::vector<unsigned> expected_tail = {0x22, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  const std::size_t tail = 13 + 200;
  ASSERT_EQ(payload.size(), tail + expected_tail.size());
  for (std::size_t i = 0; i < expected_tail.size(); ++i) {
    EXPECT_EQ(payload[tail + i], static_cast<std::byte>(expected_tail[i]));
  }
}

/// Damaged payloads end in an error or in operations that lie inside the payload; never in a read outside of it
/// (sanitizers watch).
TEST(LogCodec, SurvivesHostileBytes) {
  SeededRandom random(2);
  std::uint64_t errors = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes payload = encode(sample(random));
    if (payload.empty()) continue;
    if (random.chance(0.5)) payload.resize(random.below(payload.size()));
    for (std::uint64_t flips = random.below(4); flips-- > 0 && !payload.empty();) {
      payload[random.below(payload.size())] = static_cast<std::byte>(random.next());
    }
    LogOperationReader reader(payload);
    LogOperation found;
    std::size_t count = 0;
    while (!reader.at_end()) {
      const Status status = reader.next(found);
      if (!status.is_ok()) {
        ASSERT_EQ(status.code(), Code::Corruption);
        ++errors;
        break;
      }
      if (!found.row.empty()) {
        ASSERT_GE(found.row.data(), payload.data());
        ASSERT_LE(found.row.data() + found.row.size(), payload.data() + payload.size());
      }
      ASSERT_LE(++count, payload.size());
    }
  }
  EXPECT_GT(errors, 500U);
}

TEST(LogCodec, RefusesAnEndlessRowLength) {
  Bytes payload(64, std::byte{0xff});
  payload[0] = std::byte{0x11};
  LogOperationReader reader(payload);
  LogOperation found;
  EXPECT_EQ(reader.next(found).code(), Code::Corruption);
}

}  // namespace
}  // namespace nvmdb::engine
