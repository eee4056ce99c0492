#include "ingest/watcher/directory_watch.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_directory.h"

namespace nvmdb::ingest {
namespace {

using std::chrono::milliseconds;

class Watching : public testing::Test {
 protected:
  static constexpr std::chrono::hours kLong{1};

  std::unique_ptr<DirectoryWatch> open(std::chrono::seconds quiet = kLong, const std::string& pattern = "*") {
    auto watch = DirectoryWatch::open({.directory = folder_.path(), .pattern = pattern, .quiet = quiet});
    EXPECT_TRUE(watch.is_ok()) << watch.status().to_string();
    return watch.is_ok() ? std::move(watch).value() : nullptr;
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text = "data") const { std::ofstream(path(name)) << text; }
  /// As if nobody had touched it for two hours.
  void make_old(const std::string& name) const {
    std::filesystem::last_write_time(path(name), std::filesystem::file_time_type::clock::now() - 2 * kLong);
  }
  /// The name of the file that is ready, and takes it; empty: none.
  static std::string take(DirectoryWatch& watch) {
    const auto ready = watch.next(milliseconds(0));
    EXPECT_TRUE(ready.is_ok()) << ready.status().to_string();
    if (!ready.is_ok() || !ready->has_value()) return "";
    EXPECT_TRUE(watch.done(**ready).is_ok());
    return (*ready)->name;
  }

  test::ScratchDirectory folder_;
};

TEST_F(Watching, AFileIsReadyWhenItsWriterClosesIt) {
  const auto watch = open();
  std::ofstream writer(path("a"));
  writer << "half" << std::flush;
  EXPECT_EQ(take(*watch), "");
  writer << "whole";
  writer.close();
  EXPECT_EQ(take(*watch), "a");
  EXPECT_EQ(take(*watch), "");
}

TEST_F(Watching, AFileIsReadyWhenItIsMovedIn) {
  write(".a.part");
  const auto watch = open();
  EXPECT_EQ(take(*watch), "");
  std::filesystem::rename(path(".a.part"), path("a"));
  EXPECT_EQ(take(*watch), "a");
}

TEST_F(Watching, AFileThatWasThereBeforeIsReadyOnceItKeptStill) {
  write("young");
  write("old");
  make_old("old");
  const auto watch = open();
  EXPECT_EQ(take(*watch), "old");
  EXPECT_EQ(take(*watch), "");
}

TEST_F(Watching, TheOldestComesFirst) {
  for (const char* const name : {"c", "a", "b"}) {
    write(name);
    std::filesystem::last_write_time(path(name), std::filesystem::file_time_type::clock::now() - kLong * (name[0] - 'a' + 2));
  }
  const auto watch = open();
  EXPECT_EQ(take(*watch), "c");
  EXPECT_EQ(take(*watch), "b");
  EXPECT_EQ(take(*watch), "a");
}

TEST_F(Watching, EachStateIsDealtWithOnceOverRestarts) {
  write("a");
  make_old("a");
  EXPECT_EQ(take(*open()), "a");
  const auto watch = open();
  EXPECT_EQ(take(*watch), "");
  write("a", "other data");
  EXPECT_EQ(take(*watch), "a");
  EXPECT_EQ(take(*watch), "");
}

TEST_F(Watching, WhatWasNotDealtWithComesAgainAfterARestart) {
  write("a");
  make_old("a");
  {
    const auto watch = open();
    const auto ready = watch->next(milliseconds(0));
    ASSERT_TRUE(ready.is_ok() && ready->has_value());
    watch->later(**ready, std::chrono::hours(1));
    EXPECT_EQ(take(*watch), "");
    write("a", "changed, so at once");
    EXPECT_EQ(take(*watch), "a");
    write("b");
    ASSERT_TRUE(watch->next(milliseconds(0)).is_ok());
  }
  make_old("b");
  EXPECT_EQ(take(*open()), "b");
}

TEST_F(Watching, OnlyTheNamesAskedForCount) {
  for (const char* const name : {"wrfout_d01_x", "wrfrst_d01_x", ".wrfout_d01_y"}) {
    write(name);
    make_old(name);
  }
  std::filesystem::create_directory(path("wrfout_d01_directory"));
  const auto watch = open(kLong, "wrfout_*");
  EXPECT_EQ(take(*watch), "wrfout_d01_x");
  EXPECT_EQ(take(*watch), "");
}

TEST_F(Watching, AFlagMakesTheOpenFileOfItsDomainAndDateReady) {
  const auto watch = open();
  std::ofstream first(path("wrfout_d01_2024-01-15_00:00:00"));
  std::ofstream second(path("wrfout_d02_2024-01-15_00:00:00"));
  std::ofstream later(path("wrfout_d01_2024-01-15_06:00:00"));
  for (std::ofstream* file : {&first, &second, &later}) *file << "a frame" << std::flush;
  EXPECT_EQ(take(*watch), "");
  write("wrfoutReady_d01_2024-01-15_00:00:00", "");
  EXPECT_EQ(take(*watch), "wrfout_d01_2024-01-15_00:00:00");
  EXPECT_EQ(take(*watch), "");
}

TEST_F(Watching, EachFrameOfAGrowingFileHasAFlagOfItsOwn) {
  const auto watch = open();
  std::ofstream file(path("wrfout_d01_2024-01-15_00:00:00"));
  file << "frame" << std::flush;
  write("wrfoutReady_d01_2024-01-15_00:00:00", "");
  EXPECT_EQ(take(*watch), "wrfout_d01_2024-01-15_00:00:00");
  file << "frame" << std::flush;
  EXPECT_EQ(take(*watch), "");
  write("wrfoutReady_d01_2024-01-15_01:00:00", "");
  EXPECT_EQ(take(*watch), "wrfout_d01_2024-01-15_00:00:00");
  EXPECT_EQ(take(*watch), "");
}

TEST_F(Watching, FlagsAreDealtWithOnceOverRestarts) {
  std::ofstream file(path("wrfout_d01_2024-01-15_00_00_00"));
  file << "frame" << std::flush;
  write("wrfoutReady_d01_2024-01-15_00_00_00", "");
  EXPECT_EQ(take(*open()), "wrfout_d01_2024-01-15_00_00_00");
  EXPECT_EQ(take(*open()), "");
}

TEST_F(Watching, AFlagWithoutItsFileWaits) {
  write("wrfoutReady_d01_2024-01-15_00:00:00", "");
  write("wrfoutReady_", "");
  const auto watch = open();
  EXPECT_EQ(take(*watch), "");
  std::ofstream file(path("wrfout_d01_2024-01-15_00:00:00"));
  file << "frame" << std::flush;
  EXPECT_EQ(take(*watch), "wrfout_d01_2024-01-15_00:00:00");
}

TEST_F(Watching, ListsAllWithReasons) {
  write("a");
  make_old("a");
  write("b");
  const auto watch = open();
  auto list = watch->list();
  ASSERT_TRUE(list.is_ok());
  ASSERT_EQ(list->size(), 2U);
  EXPECT_TRUE(list->at(0).ready);
  EXPECT_FALSE(list->at(1).ready);
  EXPECT_NE(list->at(1).why.find("may still be written"), std::string::npos);
  EXPECT_EQ(take(*watch), "a");
  list = watch->list();
  ASSERT_TRUE(list.is_ok());
  EXPECT_EQ(list->at(0).why, "was dealt with");
}

TEST_F(Watching, SaysThatTheDirectoryIsNotThere) {
  const auto watch = DirectoryWatch::open({.directory = path("none")});
  ASSERT_FALSE(watch.is_ok());
  EXPECT_EQ(watch.status().code(), Code::NotFound);
}

}  // namespace
}  // namespace nvmdb::ingest
