#include "query/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace nvmdb::query {
namespace {

float converted(const std::string& from, const std::string& to, float value) {
  const auto converter = UnitConverter::create(from, to);
  EXPECT_TRUE(converter.is_ok()) << converter.status().to_string();
  if (!converter.is_ok()) return 0;
  converter->convert({&value, 1});
  return value;
}

TEST(Units, ConvertsWhatForecastersAskFor) {
  EXPECT_FLOAT_EQ(converted("K", "degC", 273.0F), -0.15F);
  EXPECT_FLOAT_EQ(converted("K", "celsius", 300.0F), 26.85F);
  EXPECT_FLOAT_EQ(converted("Pa", "hPa", 101325.0F), 1013.25F);
  EXPECT_FLOAT_EQ(converted("m s-1", "knot", 10.0F), 19.438445F);  // 1 knot = 1852 m / 3600 s
  EXPECT_FLOAT_EQ(converted("m", "mm", 0.0125F), 12.5F);
}

TEST(Units, ReadsTheSpellingsOfWrfAndGribFiles) {
  EXPECT_FLOAT_EQ(converted("kg m**-2", "g cm-2", 1.0F), 0.1F);
  EXPECT_FLOAT_EQ(converted("m s**-1", "km/h", 10.0F), 36.0F);
  EXPECT_FLOAT_EQ(converted("W m**-2", "kW m-2", 500.0F), 0.5F);
  EXPECT_FLOAT_EQ(converted("W m{-2}", "kW m-2", 500.0F), 0.5F);
  EXPECT_FLOAT_EQ(converted("degK", "K", 3.0F), 3.0F);
  EXPECT_FLOAT_EQ(converted("gpm", "km", 5500.0F), 5.5F);
  EXPECT_FLOAT_EQ(converted("(0 - 1)", "%", 0.25F), 25.0F);
  EXPECT_FLOAT_EQ(converted("Proportion", "percent", 0.25F), 25.0F);
  EXPECT_FLOAT_EQ(converted("kg kg**-1", "g/kg", 0.01F), 10.0F);
  EXPECT_FLOAT_EQ(converted("m**2 s**-2", "J/kg", 7.0F), 7.0F);
  EXPECT_FLOAT_EQ(converted("Degree true", "radian", 180.0F), 3.1415927F);
  EXPECT_FLOAT_EQ(converted("-", "%", 1.0F), 100.0F);
}

TEST(Units, LeavesMissingMissing) {
  EXPECT_TRUE(std::isnan(converted("K", "degC", NAN)));
}

TEST(Units, RefusesWhatDoesNotConvert) {
  EXPECT_EQ(UnitConverter::create("K", "m").status().code(), Code::InvalidArgument);
  EXPECT_EQ(UnitConverter::create("K", "furlongs per blink").status().code(), Code::InvalidArgument);
  EXPECT_EQ(UnitConverter::create("(Code table 4.222)", "K").status().code(), Code::InvalidArgument);
}

TEST(Units, ServesManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) EXPECT_FLOAT_EQ(converted("K", "degC", 273.0F), -0.15F);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace nvmdb::query
