#include <eccodes.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ingest/decode/grib/field_values.h"
#include "ingest/decode/grib/file_decoder.h"
#include "memory_sink.h"
#include "storage/base/random.h"

// Goal: CCSDS fields unpacked by libaec itself. The reference is ecCodes, which packs the fields and decodes
// them again.

namespace nvmdb::ingest::testing {
namespace {

constexpr long kColumns = 37;
constexpr long kRows = 19;
constexpr double kMissing = 9999;

struct Packed {
  Bytes message;
  std::vector<float> values;  ///< as ecCodes decodes them; NaN is missing
};

Packed pack(long bits, bool with_missing) {
  codes_handle* handle = codes_grib_handle_new_from_samples(nullptr, "regular_ll_pl_grib2");
  EXPECT_NE(handle, nullptr);
  SeededRandom random(static_cast<std::uint64_t>(bits));
  std::vector<double> values(static_cast<std::size_t>(kColumns * kRows));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        250 + 20 * std::sin(static_cast<double>(i) / 50) + static_cast<double>(random.below(1000)) / 500;
    if (with_missing && random.below(4) == 0) values[i] = kMissing;
  }
  std::size_t length = 0;
  EXPECT_EQ(codes_set_long(handle, "Ni", kColumns), 0);
  EXPECT_EQ(codes_set_long(handle, "Nj", kRows), 0);
  EXPECT_EQ(codes_set_double(handle, "iDirectionIncrementInDegrees", 1), 0);
  EXPECT_EQ(codes_set_double(handle, "jDirectionIncrementInDegrees", 1), 0);
  EXPECT_EQ(codes_set_double(handle, "latitudeOfLastGridPointInDegrees", 60 - kRows + 1), 0);
  EXPECT_EQ(codes_set_double(handle, "longitudeOfLastGridPointInDegrees", kColumns - 1), 0);
  EXPECT_EQ(codes_set_string(handle, "packingType", "grid_ccsds", &length), 0);
  EXPECT_EQ(codes_set_long(handle, "bitsPerValue", bits), 0);
  EXPECT_EQ(codes_set_double(handle, "missingValue", kMissing), 0);
  EXPECT_EQ(codes_set_long(handle, "bitmapPresent", with_missing ? 1 : 0), 0);
  EXPECT_EQ(codes_set_double_array(handle, "values", values.data(), values.size()), 0);
  const void* message = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(codes_get_message(handle, &message, &size), 0);
  Packed out;
  out.message.assign(static_cast<const std::byte*>(message), static_cast<const std::byte*>(message) + size);
  EXPECT_EQ(codes_get_double_array(handle, "values", values.data(), &(size = values.size())), 0);
  for (const double value : values) {
    out.values.push_back(value == kMissing ? std::numeric_limits<float>::quiet_NaN()
                                           : static_cast<float>(value));
  }
  codes_handle_delete(handle);
  return out;
}

std::vector<grib::FieldSections> sections_of(const Bytes& message) {
  grib::MessageScanner scanner{ByteSpan(message)};
  const auto found = scanner.next();
  EXPECT_TRUE(found && std::holds_alternative<grib::ScannedMessage>(*found));
  return grib::split_fields(std::get<grib::ScannedMessage>(*found)).value();
}

TEST(Ccsds, GivesWhatEcCodesGivesAtEveryWidth) {
  for (const bool with_missing : {false, true}) {
    for (const long bits : {1L, 2L, 7L, 8L, 9L, 12L, 16L, 17L, 20L, 24L, 25L, 31L}) {
      const Packed packed = pack(bits, with_missing);
      const std::vector<grib::FieldSections> sections = sections_of(packed.message);
      const auto unpacked = grib::unpack_ccsds(sections.at(0), packed.values.size());
      ASSERT_TRUE(unpacked.is_ok()) << bits << " bits: " << unpacked.status().to_string();
      EXPECT_TRUE(unpacked->has_value()) << bits << " bits went another way";
      MemorySink sink;
      grib::HeaderMemo memo;
      ASSERT_TRUE(grib::FileDecoder(packed.message, DecodeLimits{}, memo, sink).run().is_ok());
      ASSERT_EQ(sink.fields.size(), 1U)
          << (sink.rejections.empty() ? "" : sink.rejections[0].why.to_string());
      EXPECT_EQ(sink.fields[0].field.encoding.width_bytes, (bits + 7) / 8);
      const std::vector<float> values = sink.fields[0].decode();
      ASSERT_EQ(values.size(), packed.values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(packed.values[i])) {
          ASSERT_TRUE(std::isnan(values[i])) << bits << " bits, point " << i;
        } else {
          ASSERT_EQ(values[i], packed.values[i]) << bits << " bits, point " << i;
        }
      }
    }
  }
}

TEST(Ccsds, RefusesDataThatEndEarly) {
  const Packed packed = pack(16, false);
  std::vector<grib::FieldSections> sections = sections_of(packed.message);
  sections.at(0).data = sections.at(0).data.first(sections.at(0).data.size() / 2);
  const auto unpacked = grib::unpack_ccsds(sections.at(0), packed.values.size());
  EXPECT_EQ(unpacked.status().code(), Code::Corruption) << unpacked.status().to_string();
}

/// In a worker process, so a crash would harm nothing; but there is no need for one.
TEST(Ccsds, SurvivesDamagedDataAndParameters) {
  const Packed packed = pack(12, true);
  const std::vector<grib::FieldSections> sound = sections_of(packed.message);
  SeededRandom random(11);
  for (int round = 0; round < 2000; ++round) {
    Bytes data(sound.at(0).data.begin(), sound.at(0).data.end());
    Bytes representation(sound.at(0).representation.begin(), sound.at(0).representation.end());
    for (std::uint64_t flips = random.below(4); flips > 0; --flips) {
      data[5 + random.below(data.size() - 5)] ^= static_cast<std::byte>(1U << random.below(8));
    }
    representation[19 + random.below(6)] = static_cast<std::byte>(random.below(256));
    grib::FieldSections damaged = sound.at(0);
    damaged.data = data;
    damaged.representation = representation;
    const auto unpacked = grib::unpack_ccsds(damaged, packed.values.size());
    EXPECT_TRUE(unpacked.is_ok() || unpacked.status().code() == Code::Corruption)
        << unpacked.status().to_string();
  }
}

}  // namespace
}  // namespace nvmdb::ingest::testing
