#include "wal/log_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "storage/base/crc32c.h"
#include "storage/page/page.h"

namespace nvmdb::wal {
namespace {

constexpr std::uint32_t kSeed = 0x1234;

std::vector<std::byte> make_block(std::size_t payload, const BlockHeader& base) {
  std::vector<std::byte> block(align_up(sizeof(BlockHeader) + payload, 256));
  for (std::size_t i = 0; i < payload; ++i)
    block[sizeof(BlockHeader) + i] = static_cast<std::byte>(i * 7 + 1);
  BlockHeader header = base;
  header.payload_bytes = static_cast<std::uint32_t>(payload);
  encode_block_header(header, kSeed, block);
  return block;
}

BlockHeader sample() {
  BlockHeader header;
  header.stream = 3;
  header.incarnation = 77;
  header.session = 5;
  header.sequence = 12;
  header.epoch = 99;
  header.previous = 98;
  header.streams = 0b1001;
  header.flags = kEndOfGroup;
  header.group_blocks = 2;
  return header;
}

TEST(LogFormat, ReadsBackTheBlockItWrote) {
  const auto block = make_block(300, sample());
  const auto header = decode_block(block, kSeed);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->stream, 3U);
  EXPECT_EQ(header->incarnation, 77U);
  EXPECT_EQ(header->session, 5U);
  EXPECT_EQ(header->sequence, 12U);
  EXPECT_EQ(header->epoch, 99U);
  EXPECT_EQ(header->previous, 98U);
  EXPECT_EQ(header->streams, 0b1001U);
  EXPECT_EQ(header->group_blocks, 2U);
  EXPECT_EQ(header->payload_bytes, 300U);
  EXPECT_EQ(block_extent(*header, 256), 512U);
}

// The layout on media, byte by byte, computed here without the codec's struct.
TEST(LogFormat, LaysABlockOutAsWrittenDown) {
  const auto block = make_block(10, sample());
  std::vector<std::byte> expected(80);
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) expected[at + i] = static_cast<std::byte>(value >> (8 * i));
  };
  std::memcpy(expected.data(), "NLOGBLK1", 8);
  put(8, 1, 4);    // version
  put(12, 3, 4);   // stream
  put(16, 77, 8);  // incarnation
  put(24, 5, 8);   // session
  put(32, 12, 8);  // sequence
  put(40, 99, 8);  // epoch
  put(48, 98, 8);  // previous
  put(56, 9, 8);   // streams
  put(64, 1, 4);   // flags
  put(68, 10, 4);  // payload bytes
  put(72, 2, 4);   // blocks of the group
  std::vector<std::byte> checked = expected;
  checked.insert(checked.end(), block.begin() + 80, block.begin() + 90);
  put(76, crc32c(checked, kSeed), 4);
  EXPECT_EQ(std::memcmp(block.data(), expected.data(), 80), 0);
}

TEST(LogFormat, RefusesABlockWithAnyBitFlipped) {
  const auto good = make_block(40, sample());
  for (std::size_t bit = 0; bit < (sizeof(BlockHeader) + 40) * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_FALSE(decode_block(bad, kSeed).has_value()) << "bit " << bit;
  }
}

TEST(LogFormat, RefusesABlockThatEndsOutsideItsSegment) {
  const auto block = make_block(300, sample());
  EXPECT_FALSE(decode_block(ByteSpan(block).first(sizeof(BlockHeader) + 299), kSeed).has_value());
  EXPECT_FALSE(decode_block(ByteSpan(block).first(20), kSeed).has_value());
  EXPECT_TRUE(decode_block(ByteSpan(block).first(sizeof(BlockHeader) + 300), kSeed).has_value());
}

TEST(LogFormat, RefusesABlockOfAnotherPool) {
  EXPECT_FALSE(decode_block(make_block(300, sample()), kSeed + 1).has_value());
}

TEST(LogFormat, RefusesImpossibleHeadersWithGoodChecksums) {
  const auto refused = [](auto change) {
    BlockHeader header = sample();
    change(header);
    return !decode_block(make_block(30, header), kSeed).has_value();
  };
  EXPECT_TRUE(refused([](BlockHeader& h) { h.stream = 64; }));
  EXPECT_TRUE(refused([](BlockHeader& h) { h.previous = h.epoch; }));
  EXPECT_TRUE(refused([](BlockHeader& h) { h.flags = 2; }));
  EXPECT_TRUE(refused([](BlockHeader& h) { h.streams = 0b0001; }));
  EXPECT_TRUE(refused([](BlockHeader& h) { h.group_blocks = 0; }));
  EXPECT_TRUE(refused([](BlockHeader& h) { h.group_blocks = 14; }));
  EXPECT_FALSE(refused([](BlockHeader& h) { h.group_blocks = 13; }));
}

TEST(LogFormat, ReadsBackASegmentHeaderAndRefusesAFlippedOne) {
  std::vector<std::byte> page(256);
  encode_segment_header({.stream = 2, .incarnation = 8, .sequence = 4, .session = 3, .unit_bytes = 256},
                        kSeed, page);
  const auto header = decode_segment_header(page, kSeed);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->stream, 2U);
  EXPECT_EQ(header->incarnation, 8U);
  EXPECT_EQ(header->sequence, 4U);
  EXPECT_EQ(header->session, 3U);
  for (std::size_t bit = 0; bit < sizeof(SegmentHeader) * 8; ++bit) {
    auto bad = page;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_FALSE(decode_segment_header(bad, kSeed).has_value()) << "bit " << bit;
  }
}

TEST(LogFormat, RefusesASegmentWithAnUnusableUnit) {
  for (const std::uint32_t unit : {0U, 64U, 100U, 1U << 20U}) {
    std::vector<std::byte> page(256);
    encode_segment_header({.stream = 2, .unit_bytes = unit}, kSeed, page);
    EXPECT_FALSE(decode_segment_header(page, kSeed).has_value()) << unit;
  }
}

}  // namespace
}  // namespace nvmdb::wal
