#include "engine/met/step.h"

#include <gtest/gtest.h>

namespace nvmdb::met {
namespace {

TEST(Step, OrdersByEndThenStart) {
  const Step instant = Step::instant(3600);
  const Step interval{0, 3600, StepProcess::Accumulation};
  EXPECT_LT(interval, instant);
  EXPECT_LT(instant, Step::instant(7200));
}

TEST(Step, WritesTheLargestUnitOfBothEnds) {
  EXPECT_EQ(format_step(Step::instant(6 * 3600)), "6h");
  EXPECT_EQ(format_step(Step::instant(90 * 60)), "90m");
  EXPECT_EQ(format_step(Step::instant(45)), "45s");
  EXPECT_EQ(format_step(Step::instant(-3 * 3600)), "-3h");
  EXPECT_EQ(format_step({0, 6 * 3600, StepProcess::Average}), "0-6h");
  EXPECT_EQ(format_step({0, 15 * 60, StepProcess::Average}), "0-15m");
}

TEST(Step, ReadsWhatItWrites) {
  for (const Step& step : {Step::instant(6 * 3600), Step::instant(90 * 60), Step::instant(-3 * 3600),
                           Step{0, 900, StepProcess::Average}, Step{-7 * 3600, 16 * 3600, StepProcess::Maximum}}) {
    EXPECT_TRUE(parse_step(format_step(step)).value().matches(step)) << format_step(step);
  }
  EXPECT_TRUE(parse_step("all").value().matches(Step::instant(1)));
  EXPECT_EQ(parse_step("6").value().end_seconds, 6 * 3600);
}

TEST(Step, RefusesMalformedText) {
  for (const char* text : {"", "h", "6x", "0-", "1-2-3", "6 h", "99999999999999h"}) {
    EXPECT_EQ(parse_step(text).status().code(), Code::InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace nvmdb::met
