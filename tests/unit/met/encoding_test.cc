#include "engine/met/encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace nvmdb::met {
namespace {

TEST(Encoding, PlacesTheBitmapBehindTheValues) {
  Encoding encoding{.kind = EncodingKind::Packed, .width_bytes = 3, .has_bitmap = true};
  EXPECT_EQ(encoding.bitmap_offset(100), 320U);
  EXPECT_EQ(encoding.extent_bytes(100), 333U);
  encoding.has_bitmap = false;
  EXPECT_EQ(encoding.extent_bytes(100), 300U);
}

// GRIB2 template 5.0: Y = (R + X * 2^E) / 10^D.
TEST(Decoder, DecodesPackedIntegersOfEveryWidth) {
  for (const unsigned width : {1U, 2U, 3U, 4U}) {
    const Encoding encoding{.kind = EncodingKind::Packed,
                            .width_bytes = static_cast<std::uint8_t>(width),
                            .binary_scale = -2,
                            .decimal_scale = 1,
                            .reference = 2500};
    const std::uint64_t points = 37;
    std::vector<std::byte> extent(encoding.extent_bytes(points));
    for (std::uint32_t i = 0; i < points; ++i) {
      const std::uint32_t packed = (i * 7U) & 0xffU;
      std::memcpy(extent.data() + i * width, &packed, width);
    }
    const Decoder decoder(encoding, points, extent);
    std::vector<float> values(points);
    decoder.run(0, values);
    for (std::uint32_t i = 0; i < points; ++i) {
      const double packed = (i * 7U) & 0xffU;
      EXPECT_FLOAT_EQ(values[i], static_cast<float>((2500 + packed * 0.25) / 10));
      EXPECT_EQ(values[i], decoder.at(i));
    }
  }
}

TEST(Decoder, MakesPointsOutsideTheBitmapMissing) {
  const Encoding encoding{.kind = EncodingKind::Constant, .width_bytes = 0, .has_bitmap = true, .reference = 9999};
  std::vector<std::byte> extent(encoding.extent_bytes(10));
  extent[0] = std::byte{0b00000101};
  const Decoder decoder(encoding, 10, extent);
  std::vector<float> values(9);
  decoder.run(1, values);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 9999.0F);
  EXPECT_EQ(decoder.at(0), 9999.0F);
  EXPECT_TRUE(std::isnan(decoder.at(9)));
}

TEST(Encoding, RefusesWhatNoWriterMakes) {
  EXPECT_TRUE((Encoding{.kind = EncodingKind::Float32, .width_bytes = 4}).validate().is_ok());
  EXPECT_FALSE((Encoding{.kind = EncodingKind::Float32, .width_bytes = 8}).validate().is_ok());
  EXPECT_FALSE((Encoding{.kind = EncodingKind::Packed, .width_bytes = 5}).validate().is_ok());
  EXPECT_FALSE((Encoding{.kind = static_cast<EncodingKind>(9)}).validate().is_ok());
  EXPECT_FALSE(
      (Encoding{.kind = EncodingKind::Packed, .width_bytes = 2, .reference = std::nan("")}).validate().is_ok());
}

}  // namespace
}  // namespace nvmdb::met
