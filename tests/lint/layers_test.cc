#include "tests/lint/layers.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace nvmdb::lint {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

TEST(Layers, ProductFollowsThem) {
  std::size_t files = 0;
  const std::vector<Violation> found = check_tree(NVMDB_SOURCE_DIR, files);
  for (const Violation& v : found) ADD_FAILURE() << v.file << ":" << v.line << ": " << v.rule << ": " << v.text;
  std::printf("%zu files checked\n", files);
  EXPECT_GT(files, 30U);
}

TEST(Layers, RefusesAFileThatIncludesUpwards) {
  const std::string content = read(NVMDB_SOURCE_DIR "/tests/lint/must_fail/upward_include.cc");
  const std::vector<Violation> found = check_file("wal/upward_include.cc", content);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].line, 2U);
  EXPECT_EQ(found[0].rule, "includes upwards");
  EXPECT_TRUE(check_file("server/upward_include.cc", content).empty());
}

TEST(Layers, RefusesSiblings) {
  EXPECT_EQ(check_file("ingest/a.cc", "#include \"query/request.h\"\n").size(), 1U);
  EXPECT_EQ(check_file("tpcc/a.cc", "#  include <ingest/ingestor.h>\n").size(), 1U);
  EXPECT_TRUE(check_file("query/a.cc", "#include \"query/request.h\"\n").empty());
}

TEST(Layers, KeepsLibrariesInTheirRooms) {
  EXPECT_EQ(check_file("engine/a.h", "#include <grpcpp/grpcpp.h>\n").size(), 1U);
  EXPECT_EQ(check_file("wal/a.cc", "#include <libpmem2.h>\n").size(), 1U);
  EXPECT_EQ(check_file("wal/a.cc", "  _mm_sfence();\n").size(), 1U);
  EXPECT_EQ(check_file("engine/met/a.h", "#include \"engine/table.h\"\n").size(), 1U);
  EXPECT_TRUE(check_file("storage/nvm/a.cc", "#include <libpmem2.h>\n  _mm_sfence();\n").empty());
  EXPECT_EQ(check_file("query/a.cc", "#include \"tests/support/x.h\"\n").size(), 1U);
}

}  // namespace
}  // namespace nvmdb::lint
