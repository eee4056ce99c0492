#include "server/paging.h"

#include <gtest/gtest.h>

namespace nvmdb::server {
namespace {

TEST(Paging, WalksAListOnceAndCompletely) {
  std::string token;
  std::size_t seen = 0;
  int pages = 0;
  do {
    const auto page = page_of(10, 4, token);
    ASSERT_TRUE(page.is_ok());
    EXPECT_EQ(page->first, seen);
    seen = page->last;
    token = page->next_token;
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(seen, 10U);
  EXPECT_EQ(pages, 3);
}

TEST(Paging, TakesDefaultsAndBoundsOfSize) {
  EXPECT_EQ(page_of(5000, 0, "")->last, 1000U);
  EXPECT_EQ(page_of(50000, 2000000000, "")->last, 10000U);
  EXPECT_EQ(page_of(5, -1, "").status().code(), Code::InvalidArgument);
}

TEST(Paging, RefusesForeignTokens) {
  for (const char* token : {"abc", "-1", "1x", "99999999999999999999999"}) {
    EXPECT_EQ(page_of(10, 4, token).status().code(), Code::InvalidArgument) << token;
  }
  const auto beyond = page_of(10, 4, "4000");
  ASSERT_TRUE(beyond.is_ok());
  EXPECT_EQ(beyond->first, beyond->last);
}

}  // namespace
}  // namespace nvmdb::server
