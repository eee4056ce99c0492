#include "index/key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nvmdb::index {
namespace {

TEST(Key, ComparesWordsAsUnsignedNumbersFromTheFirst) {
  EXPECT_LT(make_key(1, ~0ULL), make_key(2, 0));
  EXPECT_LT(make_key(1, 2), make_key(1, 3));
  EXPECT_GT(make_key(1ULL << 63U), make_key(1));
  EXPECT_EQ(make_key(7, 8), make_key(7, 8));
}

TEST(Key, SignedWordKeepsOrder) {
  const std::vector<std::int64_t> ascending = {std::numeric_limits<std::int64_t>::min(), -2, -1, 0, 1,
                                               std::numeric_limits<std::int64_t>::max()};
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    EXPECT_LT(signed_word(ascending[i - 1]), signed_word(ascending[i]));
    EXPECT_EQ(word_signed(signed_word(ascending[i])), ascending[i]);
  }
}

TEST(Key, DoubleWordKeepsOrder) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> ascending = {-infinity, -1e300, -1.5, -1e-300, 0.0, 1e-300, 0.25, 1000.0, infinity};
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    EXPECT_LT(double_word(ascending[i - 1]), double_word(ascending[i]));
    EXPECT_EQ(word_double(double_word(ascending[i])), ascending[i]);
  }
  EXPECT_EQ(double_word(-0.0), double_word(0.0));
}

TEST(Key, PrintsWordsInHexadecimal) {
  EXPECT_EQ(make_key(1, 255).to_string(), "0000000000000001.00000000000000ff");
}

}  // namespace
}  // namespace nvmdb::index
