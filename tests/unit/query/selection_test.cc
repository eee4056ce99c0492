#include "query/selection.h"

#include <gtest/gtest.h>

#include "query/alias.h"
#include "query/near_words.h"

namespace nvmdb::query {
namespace {

constexpr std::int64_t kHour = 3600;

/// Runs with fields, as a catalogue would give them.
class SelectionTest : public testing::Test {
 protected:
  RunIndex& add_run(const std::string& model, met::UnixSeconds time) {
    auto index = std::make_shared<RunIndex>();
    index->run.id = static_cast<engine::RunId>(runs_.size() + 1);
    index->run.key = {model, "", time, ""};
    index->run.version = 1;
    runs_.push_back(index->run);
    indexes_.push_back(index);
    return *index;
  }
  void add(RunIndex& run, const std::string& name, const std::string& level_type, double level, double bottom,
           std::vector<met::Step> steps, std::uint32_t member = 0, const std::string& discriminator = "") {
    met::Parameter parameter{name, name, "K", name == "2t" ? 167 : 0, "grib", discriminator, ""};
    const auto id = static_cast<engine::ParameterId>(std::hash<std::string>{}(name + discriminator));
    run.rows.push_back({{member, id, 0, level, bottom, 1, std::move(steps)},
                        std::make_shared<const met::Parameter>(std::move(parameter)),
                        level_type});
  }
  Result<SelectedColumn> select(const Selection& selection) {
    return select_column(selection, runs_, [this](const engine::Run& run) {
      return Result<std::shared_ptr<const RunIndex>>(indexes_[run.id - 1]);
    });
  }
  static Selection named(const std::string& name) {
    Selection selection;
    selection.parameter = name;
    return selection;
  }
  static std::vector<met::Step> hours(std::initializer_list<int> list) {
    std::vector<met::Step> steps;
    for (const int hour : list) steps.push_back(met::Step::instant(hour * kHour));
    return steps;
  }
  static met::StepSelector step(const std::string& text) { return *met::parse_step(text); }

  std::vector<engine::Run> runs_;
  std::vector<std::shared_ptr<RunIndex>> indexes_;
};

TEST_F(SelectionTest, TakesTheNewestRunThatHasIt) {
  add(add_run("gfs", 200), "msl", "meanSea", 0, 0, hours({0}));
  RunIndex& older = add_run("gfs", 100);
  add(older, "msl", "meanSea", 0, 0, hours({0, 6}));
  add(older, "2t", "heightAboveGround", 2, 2, hours({0}));
  EXPECT_EQ(select(named("msl"))->run.key.reference_time, 200);
  EXPECT_EQ(select(named("2t"))->run.key.reference_time, 100);
  Selection six = named("msl");
  six.step = step("6");
  EXPECT_EQ(select(six)->run.key.reference_time, 100);
  Selection at = named("msl");
  at.valid_time = 100 + 6 * kHour;
  EXPECT_EQ(select(at)->run.key.reference_time, 100);
}

TEST_F(SelectionTest, TellsWhatThereIsWhenNothingFits) {
  EXPECT_NE(select(named("2t")).status().message().find("nothing is stored"), std::string::npos);
  RunIndex& run = add_run("gfs", 0);
  add(run, "2t", "heightAboveGround", 2, 2, hours({0, 6}));
  add(run, "t", "isobaricInhPa", 500, 500, hours({0}));
  const auto message = [&](Selection selection) {
    const Status status = select(selection).status();
    EXPECT_EQ(status.code(), Code::NotFound);
    return status.message();
  };
  Selection selection = named("2d");
  EXPECT_NE(message(selection).find("near: 2t"), std::string::npos) << message(selection);
  selection = named("t");
  selection.level = 850;
  EXPECT_NE(message(selection).find("850"), std::string::npos) << message(selection);
  EXPECT_NE(message(selection).find("there is: 500"), std::string::npos) << message(selection);
  selection = named("2t");
  selection.step = step("12");
  EXPECT_NE(message(selection).find("there is: 0h, 6h"), std::string::npos) << message(selection);
  selection = named("2t");
  selection.model = "icon";
  EXPECT_NE(message(selection).find("gfs 1970-01-01T00Z"), std::string::npos) << message(selection);
  selection = named("2t");
  selection.member = 3;
  EXPECT_NE(message(selection).find("member 3"), std::string::npos) << message(selection);
  selection = named("2t");
  selection.level_type = "surface";
  EXPECT_NE(message(selection).find("there is: heightAboveGround"), std::string::npos) << message(selection);
}

TEST_F(SelectionTest, ListsValidTimesWhereOneWasAsked) {
  add(add_run("gfs", 0), "msl", "meanSea", 0, 0, hours({0, 6}));
  Selection selection = named("msl");
  selection.valid_time = 3 * kHour;
  const std::string message = select(selection).status().message();
  EXPECT_NE(message.find("1970-01-01T00:00:00Z, 1970-01-01T06:00:00Z"), std::string::npos) << message;
  EXPECT_EQ(message.find("6h"), std::string::npos) << message;
  EXPECT_NE(message.find("gfs"), std::string::npos) << message;
}

TEST_F(SelectionTest, FindsNearNamesInOlderRunsToo) {
  add(add_run("lfpw", 200), "tcc", "surface", 0, 0, hours({0}));
  add(add_run("wrf", 100), "T2", "surface", 0, 0, hours({0}));
  const std::string message = select(named("t2")).status().message();
  EXPECT_NE(message.find("in any of the 2 runs; near: T2"), std::string::npos) << message;
}

TEST_F(SelectionTest, CutsLongLists) {
  RunIndex& run = add_run("gfs", 0);
  for (int i = 0; i < 40; ++i) add(run, "p" + std::to_string(i), "surface", 0, 0, hours({0}));
  const std::string message = select(named("nothing")).status().message();
  EXPECT_NE(message.find("p9, and 30 more"), std::string::npos) << message;
  EXPECT_EQ(message.find("p10"), std::string::npos) << message;
}

TEST_F(SelectionTest, ListsTheChoicesOfAnAmbiguity) {
  RunIndex& run = add_run("gfs", 0);
  add(run, "t", "isobaricInhPa", 500, 500, hours({0}));
  add(run, "t", "isobaricInhPa", 850, 850, hours({0}));
  add(run, "t", "surface", 0, 0, hours({0}));
  add(run, "unknown", "surface", 0, 0, hours({0}), 0, "0.3.192");
  add(run, "unknown", "surface", 0, 0, hours({0}), 0, "0.3.193");
  Status status = select(named("t")).status();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.message().find("isobaricInhPa, surface"), std::string::npos) << status.message();
  Selection selection = named("t");
  selection.level_type = "isobaricInhPa";
  status = select(selection).status();
  EXPECT_EQ(status.code(), Code::InvalidArgument);
  EXPECT_NE(status.message().find("500, 850"), std::string::npos) << status.message();
  selection.level = 850;
  EXPECT_EQ(select(selection)->key.level, 850);
  EXPECT_EQ(select(named("unknown")).status().code(), Code::InvalidArgument);
  EXPECT_EQ(select(named("unknown:0.3.193"))->parameter->discriminator, "0.3.193");
}

TEST_F(SelectionTest, TellsParametersOfOneNameApart) {
  RunIndex& run = add_run("gfs", 0);
  add(run, "tp", "surface", 0, 0, hours({0}), 0, "em");
  EXPECT_EQ(select(named("tp"))->parameter->discriminator, "em");
  add(run, "tp", "surface", 0, 0, hours({0}));
  EXPECT_EQ(select(named("tp"))->parameter->discriminator, "");
  EXPECT_EQ(select(named("tp:em"))->parameter->discriminator, "em");
  add(run, "unknown", "unknown", 0, 0, hours({0}), 0, "0.5.7+surface20");
  add(run, "unknown", "unknown", 0, 0, hours({0}), 0, "0.5.70");
  EXPECT_EQ(select(named("unknown:0.5.7"))->parameter->discriminator, "0.5.7+surface20");
  EXPECT_NE(select(named("unknown:0.5")).status().message().find("unknown:0.5.70"), std::string::npos);
}

TEST_F(SelectionTest, TakesThePlainLevelBeforeALayer) {
  RunIndex& run = add_run("gfs", 0);
  add(run, "st", "depthBelowLandLayer", 0, 0.1, hours({0}));
  add(run, "st", "depthBelowLandLayer", 0, 1, hours({0}));
  Selection selection = named("st");
  selection.level = 0;
  EXPECT_EQ(select(selection).status().code(), Code::InvalidArgument);
  selection.level_bottom = 0.1;
  EXPECT_EQ(select(selection)->key.bottom, 0.1);
  add(run, "st", "depthBelowLandLayer", 0, 0, hours({0}));
  selection.level_bottom.reset();
  EXPECT_EQ(select(selection)->key.bottom, 0);
}

TEST_F(SelectionTest, TakesMemberZeroElseTheLowest) {
  RunIndex& run = add_run("eps", 0);
  add(run, "z", "surface", 0, 0, hours({0}), 3);
  add(run, "z", "surface", 0, 0, hours({0}), 2);
  EXPECT_EQ(select(named("z"))->key.member, 2U);
  add(run, "z", "surface", 0, 0, hours({0}), 0);
  EXPECT_EQ(select(named("z"))->key.member, 0U);
  Selection selection = named("z");
  selection.member = 3;
  EXPECT_EQ(select(selection)->key.member, 3U);
}

TEST_F(SelectionTest, KnowsAliasesOnlyForNamesTheRunDoesNotHave) {
  RunIndex& run = add_run("wrf", 0);
  add(run, "T2", "surface", 0, 0, hours({0}));
  EXPECT_EQ(select(named("2t"))->parameter->short_name, "T2");
  add(run, "2t", "heightAboveGround", 2, 2, hours({0}));
  EXPECT_EQ(select(named("2t"))->parameter->short_name, "2t");
  EXPECT_EQ(select(named("167"))->parameter->short_name, "2t");
  RunIndex& ncep = add_run("nam", -1);
  add(ncep, "t", "heightAboveGround", 2, 2, hours({0}));
  add(ncep, "t", "heightAboveGround", 80, 80, hours({0}));
  add(ncep, "prmsl", "meanSea", 0, 0, hours({0}));
  Selection selection = named("t2m");
  selection.model = "nam";
  EXPECT_EQ(select(selection)->key.level, 2);
  EXPECT_EQ(select(named("msl"))->parameter->short_name, "prmsl");
  EXPECT_TRUE(other_spellings("t").empty());
}

TEST(SelectSteps, PrefersTheInstantAtALoneStep) {
  const met::Step instant = met::Step::instant(12 * kHour);
  const met::Step long_sum{0, 12 * kHour, met::StepProcess::Accumulation};
  const met::Step short_sum{11 * kHour, 12 * kHour, met::StepProcess::Accumulation};
  Selection selection;
  selection.step = *met::parse_step("12");
  EXPECT_EQ(select_steps(selection, 0, {long_sum, short_sum}), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(select_steps(selection, 0, {long_sum, short_sum, instant}), (std::vector<std::uint32_t>{2}));
  selection.step = *met::parse_step("11-12");
  EXPECT_EQ(select_steps(selection, 0, {long_sum, short_sum, instant}), (std::vector<std::uint32_t>{1}));
  selection.step = *met::parse_step("all");
  EXPECT_EQ(select_steps(selection, 0, {long_sum, short_sum, instant}),
            (std::vector<std::uint32_t>{0, 1, 2}));
  selection.step.reset();
  selection.valid_time = 1000 + 12 * kHour;
  EXPECT_EQ(select_steps(selection, 1000, {long_sum, instant}), (std::vector<std::uint32_t>{1}));
  EXPECT_TRUE(select_steps(selection, 0, {long_sum, instant}).empty());
}

TEST(NearWords, FindsMisspelledNames) {
  const std::vector<std::string> names{"2t", "T2", "10u", "RAINNC", "RAINC", "prmsl"};
  EXPECT_EQ(near_words("rainnc", names).front(), "RAINNC");
  EXPECT_EQ(near_words("t2", names).front(), "T2");
  EXPECT_EQ(near_words("msl", names), (std::vector<std::string>{"prmsl"}));
  EXPECT_TRUE(near_words("vorticity", names).empty());
}

}  // namespace
}  // namespace nvmdb::query
