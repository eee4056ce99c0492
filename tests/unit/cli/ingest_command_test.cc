#include "cli/ingest_command.h"

#include <gtest/gtest.h>

namespace nvmdb::cli {
namespace {

TEST(RejectionLines, TellOfAllLevelsOfAVariableInOne) {
  const Status damaged = Status::corruption("a compressed chunk is damaged");
  const auto lines = rejection_lines({{"variable PH, frame 0, level 1", damaged},
                                      {"variable PH, frame 0, level 2", damaged},
                                      {"variable PH, frame 0, level 3", damaged},
                                      {"variable PH, frame 1, level 1", damaged},
                                      {"variable T2, frame 0", damaged},
                                      {"variable T2, frame 0", damaged},
                                      {"message 3 at byte 10", damaged}});
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].where, "variable PH, frame 0, levels 1 to 3");
  EXPECT_EQ(lines[0].count, 3U);
  EXPECT_EQ(lines[0].reason, "a compressed chunk is damaged");
  EXPECT_EQ(lines[1].where, "variable PH, frame 1, level 1");
  EXPECT_EQ(lines[2].where, "variable T2, frame 0");
  EXPECT_EQ(lines[4].where, "message 3 at byte 10");
}

}  // namespace
}  // namespace nvmdb::cli
