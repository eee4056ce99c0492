#include "ingest/watcher/watch_journal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/scratch_directory.h"

namespace nvmdb::ingest {
namespace {

class Journal : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / "journal"; }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }
  test::ScratchDirectory folder_;
};

TEST_F(Journal, KnowsAfterwardsWhatWasAdded) {
  const FileState first{1, 2, 3};
  const FileState second{1, 2, 4};
  {
    auto journal = WatchJournal::open(path());
    ASSERT_TRUE(journal.is_ok()) << journal.status().to_string();
    ASSERT_TRUE(journal->add("a \"b\"\n", first).is_ok());
    ASSERT_TRUE(journal->add("c", first).is_ok());
    ASSERT_TRUE(journal->add("c", second).is_ok());
  }
  auto journal = WatchJournal::open(path());
  ASSERT_TRUE(journal.is_ok());
  EXPECT_TRUE(journal->holds("a \"b\"\n", first));
  EXPECT_FALSE(journal->holds("a \"b\"\n", second));
  EXPECT_FALSE(journal->holds("c", first));
  EXPECT_TRUE(journal->holds("c", second));
}

TEST_F(Journal, IsOfOneWatchAtATime) {
  auto journal = WatchJournal::open(path());
  ASSERT_TRUE(journal.is_ok());
  const auto second = WatchJournal::open(path());
  ASSERT_FALSE(second.is_ok());
  EXPECT_EQ(second.status().code(), Code::Conflict);
}

TEST_F(Journal, LosesOnlyTheLineThatACrashCutShort) {
  const FileState state{7, 8, 9};
  {
    auto journal = WatchJournal::open(path());
    ASSERT_TRUE(journal.is_ok());
    ASSERT_TRUE(journal->add("whole", state).is_ok());
    ASSERT_TRUE(journal->add("cut", state).is_ok());
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 5);
  {
    auto journal = WatchJournal::open(path());
    ASSERT_TRUE(journal.is_ok());
    EXPECT_TRUE(journal->holds("whole", state));
    EXPECT_FALSE(journal->holds("cut", state));
    ASSERT_TRUE(journal->add("next", state).is_ok());
  }
  auto journal = WatchJournal::open(path());
  ASSERT_TRUE(journal.is_ok());
  EXPECT_TRUE(journal->holds("next", state));
}

TEST_F(Journal, SkipsLinesThatAreNoneOfItsOwn) {
  std::ofstream(path()) << "[]\n{\"name\": 3}\n{\"name\":\"a\",\"inode\":-1,\"bytes\":1,\"changed_ns\":1}\n\n"
                        << "{\"name\":\"b\",\"inode\":1,\"bytes\":2,\"changed_ns\":-3}\n";
  auto journal = WatchJournal::open(path());
  ASSERT_TRUE(journal.is_ok());
  EXPECT_TRUE(journal->holds("b", {1, 2, -3}));
}

TEST_F(Journal, DoesNotGrowForEver) {
  const FileState state{1, 2, 3};
  {
    auto journal = WatchJournal::open(path());
    ASSERT_TRUE(journal.is_ok());
    for (int i = 0; i < 1100; ++i) ASSERT_TRUE(journal->add("gone" + std::to_string(i % 500), state).is_ok());
    ASSERT_TRUE(journal->add("there", state).is_ok());
    ASSERT_TRUE(journal->tidy([](const std::string& name) { return name == "there"; }).is_ok());
    EXPECT_EQ(WatchJournal::open(path()).status().code(), Code::Conflict) << "the new file is not locked";
    ASSERT_TRUE(journal->add("later", state).is_ok());
  }
  EXPECT_LT(text().size(), 300U);
  auto journal = WatchJournal::open(path());
  ASSERT_TRUE(journal.is_ok());
  EXPECT_TRUE(journal->holds("there", state));
  EXPECT_TRUE(journal->holds("later", state));
  EXPECT_FALSE(journal->holds("gone1", state));
}

TEST_F(Journal, RefusesWhatIsNoFile) {
  std::filesystem::create_directory(path());
  EXPECT_FALSE(WatchJournal::open(path()).is_ok());
}

}  // namespace
}  // namespace nvmdb::ingest
