#include "ingest/decode/grib/header_memo.h"

#include <eccodes.h>
#include <gtest/gtest.h>

#include "given_data.h"
#include "ingest/decode/grib/file_decoder.h"
#include "memory_sink.h"

// Goal: a remembered header gives what reading it again gives. Reference: the same message without memory.

namespace nvmdb::ingest::testing {
namespace {

Bytes message_with(std::initializer_list<std::pair<const char*, long>> keys) {
  codes_handle* handle = codes_grib_handle_new_from_samples(nullptr, "regular_ll_pl_grib2");
  EXPECT_NE(handle, nullptr);
  for (const auto& [key, value] : keys) EXPECT_EQ(codes_set_long(handle, key, value), 0) << key;
  const void* message = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(codes_get_message(handle, &message, &size), 0);
  Bytes bytes(static_cast<const std::byte*>(message), static_cast<const std::byte*>(message) + size);
  codes_handle_delete(handle);
  return bytes;
}

std::optional<std::string> key_of(const Bytes& message) {
  grib::MessageScanner scanner{ByteSpan(message)};
  const auto found = scanner.next();
  return grib::HeaderMemo::key(grib::split_fields(std::get<grib::ScannedMessage>(*found)).value().at(0));
}

MemorySink decode_with(grib::HeaderMemo& memo, const Bytes& file) {
  MemorySink sink;
  EXPECT_TRUE(grib::FileDecoder(file, DecodeLimits{}, memo, sink).run().is_ok());
  return sink;
}

void expect_same(const MemorySink& found, const MemorySink& wanted, const std::string& what) {
  EXPECT_EQ(found.runs, wanted.runs) << what;
  ASSERT_EQ(found.fields.size(), wanted.fields.size()) << what;
  ASSERT_EQ(found.rejections.size(), wanted.rejections.size()) << what;
  for (std::size_t i = 0; i < found.fields.size(); ++i) {
    const DecodedField& a = found.fields[i].field;
    const DecodedField& b = wanted.fields[i].field;
    EXPECT_EQ(a.parameter, b.parameter) << what << ", field " << i;
    EXPECT_EQ(a.level, b.level) << what << ", field " << i;
    EXPECT_EQ(a.step, b.step) << what << ", field " << i;
    EXPECT_EQ(a.member, b.member) << what << ", field " << i;
    EXPECT_EQ(found.fields[i].extent, wanted.fields[i].extent) << what << ", field " << i;
  }
}

TEST(HeaderMemo, KnowsTheHeaderOfAnotherForecastTime) {
  const Bytes first = message_with({{"forecastTime", 0}});
  const Bytes later = message_with({{"forecastTime", 3}});
  EXPECT_TRUE(key_of(first).has_value());
  EXPECT_EQ(key_of(first), key_of(later));
  grib::HeaderMemo memo;
  (void)decode_with(memo, first);
  ASSERT_NE(memo.find(*key_of(later)), nullptr);
  const MemorySink remembered = decode_with(memo, later);
  EXPECT_EQ(remembered.fields.at(0).field.step, met::Step::instant(3 * 3600));
  grib::HeaderMemo fresh;
  expect_same(remembered, decode_with(fresh, later), "3 h");
}

TEST(HeaderMemo, TellsOtherHeadersApart) {
  const auto key = key_of(message_with({}));
  EXPECT_NE(key_of(message_with({{"level", 500}})), key);
  EXPECT_NE(key_of(message_with({{"discipline", 2}})), key);
  EXPECT_NE(key_of(message_with({{"parameterNumber", 5}})), key);
  EXPECT_NE(key_of(message_with({{"centre", 7}})), key);
  EXPECT_NE(key_of(message_with({{"dataDate", 20240102}})), key);
  EXPECT_NE(key_of(message_with({{"indicatorOfUnitOfTimeRange", 0}})), key);
  EXPECT_NE(key_of(message_with({{"productDefinitionTemplateNumber", 1}, {"perturbationNumber", 4}})),
            key_of(message_with({{"productDefinitionTemplateNumber", 1}, {"perturbationNumber", 5}})));
}

TEST(HeaderMemo, RemembersNoIntervals) {
  EXPECT_EQ(key_of(message_with({{"productDefinitionTemplateNumber", 8}})), std::nullopt);
}

TEST(HeaderMemo, ChangesNothingInTheGivenFiles) {
  NVMDB_NEED_SHARED_DATA();
  grib::HeaderMemo shared;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : given_grib_files()) {
      const Bytes file = read_given(name);
      if (file.size() > (4U << 20U)) continue;  // the large ones have nothing of their own
      grib::HeaderMemo fresh;
      expect_same(decode_with(shared, file), decode_with(fresh, file), name);
    }
  }
}

}  // namespace
}  // namespace nvmdb::ingest::testing
