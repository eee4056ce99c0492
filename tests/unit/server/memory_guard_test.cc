#include "server/memory_guard.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace nvmdb::server {
namespace {

TEST(MemoryGuard, MakesAnErrorOfMemoryThatCannotBeHad) {
  EXPECT_TRUE(within_memory([] { return Status::ok(); }).is_ok());
  EXPECT_EQ(within_memory([] { return Status::not_found("x"); }).code(), Code::NotFound);
  EXPECT_EQ(within_memory([]() -> Status { throw std::bad_alloc(); }).code(), Code::Overloaded);
  const Status too_long = within_memory([] {
    std::vector<double> values;
    values.reserve(std::numeric_limits<std::size_t>::max() / 2);
    return Status::ok();
  });
  EXPECT_EQ(too_long.code(), Code::Overloaded);
}

}  // namespace
}  // namespace nvmdb::server
