#include "engine/catalogue_rows.h"

#include <gtest/gtest.h>

#include "storage/base/random.h"

namespace nvmdb::engine::rows {
namespace {

FieldKey random_key(SeededRandom& random) {
  FieldKey key;
  key.run = static_cast<RunId>(random.below(3));
  key.member = static_cast<std::uint32_t>(random.below(3));
  key.parameter = static_cast<ParameterId>(random.below(3));
  key.level_type = static_cast<LevelTypeId>(random.below(2));
  key.level = static_cast<double>(random.below(5)) - 2.5;
  key.bottom = key.level + static_cast<double>(random.below(2)) * 0.1;
  key.step.end_seconds = static_cast<std::int64_t>(random.below(7)) * 3600 - 3 * 3600;
  key.step.start_seconds = key.step.end_seconds - static_cast<std::int64_t>(random.below(3)) * 100'000'000;
  key.step.process = static_cast<met::StepProcess>(random.below(4));
  return key;
}

/// The order that readers rely on, written out a second time.
bool before(const FieldKey& a, const FieldKey& b) {
  return std::tie(a.run, a.member, a.parameter, a.level_type, a.level, a.bottom, a.step.end_seconds,
                  a.step.start_seconds, a.step.process) < std::tie(b.run, b.member, b.parameter, b.level_type, b.level,
                                                                   b.bottom, b.step.end_seconds, b.step.start_seconds,
                                                                   b.step.process);
}

TEST(FieldKey, OrderOfWordsIsTheOrderOfFields) {
  SeededRandom random(11);
  for (int round = 0; round < 20000; ++round) {
    const FieldKey a = random_key(random);
    const FieldKey b = random_key(random);
    EXPECT_EQ(field_key(a) < field_key(b), before(a, b));
    EXPECT_EQ(decode_field_key(field_key(a)), a);
    EXPECT_LE(field_low(a.run), field_key(a));
    EXPECT_LE(field_key(a), field_high(a.run));
  }
}

TEST(CatalogueRows, ReadBack) {
  engine::Run run;
  run.id = 7;
  run.key = {"wrf", "d02", -5, "0001"};
  run.state = RunState::Complete;
  run.attributes = R"({"DX": 3000})";
  run.version = 9;
  const engine::Run again = decode_run(7, encode_run(run)).value();
  EXPECT_EQ(again.key, run.key);
  EXPECT_EQ(again.attributes, run.attributes);
  EXPECT_EQ(again.version, 9U);

  const met::Parameter parameter{"t", "Temperature", "K", 130, "grib", "0.0.0", ""};
  EXPECT_EQ(decode_parameter(encode_parameter(parameter)).value(), parameter);

  Event event;
  event.kind = Event::Kind::StepReplaced;
  event.run_key = run.key;
  event.step_end_seconds = -3600;
  EXPECT_EQ(decode_event(3, encode_event(event)).value().step_end_seconds, -3600);
}

TEST(CatalogueRows, SurviveAnyBytes) {
  SeededRandom random(5);
  Field field;
  field.points = 10;
  field.extent = {0, 256, 40};
  const std::vector<Bytes> good = {encode_run(engine::Run{}), encode_parameter({}), encode_grid({}), encode_field(field),
                                   encode_event({}), encode_step({})};
  const index::Key key = field_key({});
  for (int round = 0; round < 30000; ++round) {
    Bytes bad = good[random.below(good.size())];
    bad.resize(random.below(bad.size() + 1));
    for (std::uint64_t flips = random.below(6); flips > 0 && !bad.empty(); --flips) {
      bad[random.below(bad.size())] = static_cast<std::byte>(random.next());
    }
    (void)decode_run(1, bad).is_ok();
    (void)decode_parameter(bad).is_ok();
    (void)decode_grid(bad).is_ok();
    (void)decode_event(1, bad).is_ok();
    (void)decode_step(step_key(1, 2), bad).is_ok();
    if (const Result<Field> decoded = decode_field(key, bad); decoded.is_ok()) {
      EXPECT_EQ(decoded->encoding.extent_bytes(decoded->points), decoded->extent.bytes);
    }
  }
}

}  // namespace
}  // namespace nvmdb::engine::rows
