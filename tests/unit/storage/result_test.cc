#include "storage/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace nvmdb {
namespace {

using Numbers = Result<std::vector<int>>;

// A reference into a temporary would dangle in `for (int number : numbers().value())`.
static_assert(std::is_same_v<decltype(std::declval<Numbers>().value()), std::vector<int>>);
static_assert(std::is_same_v<decltype(*std::declval<Numbers>()), std::vector<int>>);
static_assert(std::is_same_v<decltype(std::declval<Numbers&>().value()), std::vector<int>&>);

Result<std::vector<std::shared_ptr<int>>> numbers() {
  return std::vector{std::make_shared<int>(1), std::make_shared<int>(2)};
}

TEST(Result, GivesAValueThatOutlivesATemporary) {
  int sum = 0;
  for (const std::shared_ptr<int>& number : numbers().value()) sum += *number;
  for (const std::shared_ptr<int>& number : *numbers()) sum += *number;
  EXPECT_EQ(sum, 6);
}

TEST(Result, KeepsTheStatusOfAFailure) {
  const Numbers failed = Status::not_found("no numbers");
  EXPECT_FALSE(failed.is_ok());
  EXPECT_EQ(failed.status().code(), Code::NotFound);
}

}  // namespace
}  // namespace nvmdb
