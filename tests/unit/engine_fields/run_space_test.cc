#include "engine/run_space.h"

#include <gtest/gtest.h>

#include "tests/support/recorded_media.h"

namespace nvmdb::engine {
namespace {

class RunSpaceTest : public ::testing::Test {
 protected:
  test::RecordedMedia media_{{.pages = 32}};
  std::unique_ptr<storage::PageAllocator> pages_ = storage::PageAllocator::open(media_).value();
  RunTails tails_;

  std::uint64_t used() const { return pages_->pages_of(storage::PageKind::Field); }
};

TEST_F(RunSpaceTest, FieldsOfOneRunLieBehindOneAnother) {
  RunSpace space(*pages_, 5, tails_);
  const storage::Extent a = space.allocate(1000).value();
  const storage::Extent b = space.allocate(1000).value();
  EXPECT_EQ(a.offset % kFieldAlignment, 0U);
  EXPECT_EQ(b.offset, a.offset + 1024);
}

TEST_F(RunSpaceTest, NextWriterGoesOnInTheHalfFilledPage) {
  storage::Extent first;
  {
    RunSpace space(*pages_, 5, tails_);
    first = space.allocate(1000).value();
    space.keep(first);
  }
  EXPECT_EQ(used(), 1U);
  RunSpace space(*pages_, 5, tails_);
  EXPECT_EQ(space.allocate(10).value().offset, first.offset + 1024);
  EXPECT_EQ(used(), 1U);
}

TEST_F(RunSpaceTest, WhatWasNotKeptGoesBack) {
  {
    RunSpace space(*pages_, 5, tails_);
    (void)space.allocate(5 * storage::kPageBytes).value();
  }
  EXPECT_EQ(used(), 0U);
  {
    RunSpace space(*pages_, 5, tails_);
    space.keep(space.allocate(100).value());
    (void)space.allocate(3 * storage::kPageBytes).value();
  }
  EXPECT_EQ(used(), 1U);
}

TEST_F(RunSpaceTest, DiscardedLastFieldLeavesNoHole) {
  RunSpace space(*pages_, 5, tails_);
  const storage::Extent a = space.allocate(1000).value();
  space.discard(a);
  EXPECT_EQ(space.allocate(2000).value().offset, a.offset);
}

TEST_F(RunSpaceTest, FieldLargerThanAPageIsContiguous) {
  RunSpace space(*pages_, 5, tails_);
  const storage::Extent a = space.allocate(5 * storage::kPageBytes + 1).value();
  EXPECT_EQ(a.bytes, 5 * storage::kPageBytes + 1);
  EXPECT_GE(used(), 6U);
}

TEST_F(RunSpaceTest, FullPoolIsAnError) {
  RunSpace space(*pages_, 5, tails_);
  EXPECT_EQ(space.allocate(33 * storage::kPageBytes).status().code(), Code::OutOfSpace);
  EXPECT_TRUE(space.allocate(100).is_ok());
}

}  // namespace
}  // namespace nvmdb::engine
