#include <gtest/gtest.h>

#include "ingest/decode/grib/bit_unpacker.h"
#include "ingest/decode/grib/octets.h"
#include "ingest/decode/grib/point_order.h"
#include "ingest/decode/grib/times.h"
#include "storage/base/random.h"

namespace nvmdb::ingest::grib {
namespace {

TEST(BitUnpacker, ReadsEveryWidthAsWritten) {
  SeededRandom random(7);
  for (unsigned bits = 1; bits <= 32; ++bits) {
    std::vector<std::uint32_t> written(101);
    std::vector<bool> stream;
    for (std::uint32_t& value : written) {
      value = static_cast<std::uint32_t>(random.next() >> (64 - bits));
      for (unsigned bit = bits; bit-- > 0;) stream.push_back((value >> bit & 1U) != 0);
    }
    Bytes bytes((stream.size() + 7) / 8);
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (stream[i]) bytes[i / 8] |= static_cast<std::byte>(0x80U >> (i % 8));
    }
    const BitUnpacker unpacker(bytes, bits);
    EXPECT_GE(unpacker.count(), written.size());
    std::vector<std::uint32_t> read(written.size() - 3);
    unpacker.run(3, read);
    for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], written[i + 3]) << bits << " bits";
    EXPECT_EQ(unpacker.at(100), written[100]);
  }
}

/// Walks the message as flag table 3.4 says, and looks each point up where PointOrder says it is.
TEST(PointOrder, FollowsEveryScanningMode) {
  constexpr std::uint32_t kColumns = 5;
  constexpr std::uint32_t kRows = 4;
  for (std::uint32_t flags = 0; flags < 0x100; flags += 0x10) {
    const auto mode = ScanningMode::from_flags(flags);
    std::vector<std::uint32_t> message;  // canonical index of each point, in the message's order
    const std::uint32_t outer = mode.columns_consecutive ? kColumns : kRows;
    const std::uint32_t inner = mode.columns_consecutive ? kRows : kColumns;
    for (std::uint32_t o = 0; o < outer; ++o) {
      for (std::uint32_t n = 0; n < inner; ++n) {
        const std::uint32_t along = mode.alternate && o % 2 == 1 ? inner - 1 - n : n;
        const std::uint32_t i = mode.columns_consecutive ? o : along;
        const std::uint32_t j = mode.columns_consecutive ? along : o;
        const std::uint32_t column = mode.columns_westward ? kColumns - 1 - i : i;
        const std::uint32_t row = mode.rows_northward ? kRows - 1 - j : j;
        message.push_back(row * kColumns + column);
      }
    }
    const PointOrder order(kColumns, kRows, mode);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      std::vector<std::uint64_t> indices(kColumns);
      order.indices(row, 0, indices);
      for (std::uint32_t column = 0; column < kColumns; ++column) {
        ASSERT_EQ(message[indices[column]], row * kColumns + column) << "flags " << flags;
      }
      if (const auto run = order.run_start(row)) {
        EXPECT_EQ(*run, indices[0]);
        EXPECT_EQ(*run + kColumns - 1, indices[kColumns - 1]);
      }
    }
  }
}

TEST(PointOrder, TurnsReducedGridsNorthUp) {
  const PointOrder order(std::vector<std::uint32_t>{1, 3, 2}, ScanningMode::from_flags(0x40));
  EXPECT_EQ(order.row_length(0), 2U);
  EXPECT_EQ(order.run_start(0), 4U);
  EXPECT_EQ(order.run_start(2), 0U);
}

TEST(SignedOctets, ChoosesTheSmallerReading) {
  EXPECT_EQ(signed4(7), 7);
  EXPECT_EQ(signed4(0x80000003U), -3);
  EXPECT_EQ(signed4(0xfffffff9U), -7);
  EXPECT_EQ(signed4(0x80006fabU), -28587);
}

TEST(Times, GoByTheCalendarForMonthsAndYears) {
  const met::UnixSeconds january = met::make_time(2024, 1, 31, 6, 0, 0).value();
  EXPECT_EQ(units_to_seconds(january, 1, 3).value(), 29 * 86400);
  EXPECT_EQ(units_to_seconds(january, 1, 4).value(), 366 * 86400);
  EXPECT_EQ(units_to_seconds(january, 5, 10).value(), 15 * 3600);
  EXPECT_EQ(units_to_seconds(january, 0xfffffffe, 2).value(), 0xfffffffeLL * 86400);
  EXPECT_FALSE(units_to_seconds(january, 0xfffffffe, 7).is_ok());
  EXPECT_FALSE(units_to_seconds(january, 1, 99).is_ok());
}

}  // namespace
}  // namespace nvmdb::ingest::grib
