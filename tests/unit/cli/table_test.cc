#include "cli/table.h"

#include "cli/number_text.h"
#include "tests/unit/cli/written.h"

namespace nvmdb::cli {
namespace {

Table sample() {
  Table table({"name", "count", "ratio"});
  table.add({"a,\"b\"", std::uint64_t{7}, 0.1});
  table.add({"\u00e9t\u00e9", std::uint64_t{1234}, std::monostate{}});
  return table;
}

TEST(Table, WritesCsv) {
  EXPECT_EQ(written([](Output& output) { return sample().write(Format::Csv, output); }),
            "name,count,ratio\n\"a,\"\"b\"\"\",7,0.1\n\u00e9t\u00e9,1234,\n");
}

TEST(Table, WritesJson) {
  EXPECT_EQ(written([](Output& output) { return sample().write(Format::Json, output); }),
            "[\n  {\"name\": \"a,\\\"b\\\"\", \"count\": 7, \"ratio\": 0.1},\n"
            "  {\"name\": \"\u00e9t\u00e9\", \"count\": 1234, \"ratio\": null}\n]\n");
}

TEST(Table, AlignsTextByCharacters) {
  EXPECT_EQ(written([](Output& output) { return sample().write(Format::Text, output); }),
            "name   count  ratio\na,\"b\"      7    0.1\n\u00e9t\u00e9     1234\n");
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  std::string text;
  append_number(text, 273.15F);
  text += ' ';
  append_number(text, 273.15);
  text += ' ';
  append_number(text, 1.0F / 3.0F);
  EXPECT_EQ(text, "273.15 273.15 0.33333334");
}

TEST(NumberText, ReplacesBytesThatAreNotUtf8InJson) {
  std::string text;
  append_json(text, "a\xff");
  EXPECT_EQ(text, "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace nvmdb::cli
