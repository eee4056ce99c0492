#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cli/exit_codes.h"

namespace nvmdb::cli {
namespace {

ParseOutcome parse(std::vector<const char*> words) {
  words.insert(words.begin(), "nvmdb");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}

/// Parses what must be wrong, and returns the line on stderr.
std::string complaint(const std::vector<const char*>& words) {
  testing::internal::CaptureStderr();
  const ParseOutcome outcome = parse(words);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(outcome.done);
  EXPECT_EQ(outcome.exit_code, kWrongUsage);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  return text;
}

TEST(Arguments, ReadASeries) {
  const ParseOutcome outcome =
      parse({"series", "--param",  "t",        "--level-type", "isobaricInhPa", "--level",        "500",
             "--at",   "-12.5,30", "--at",     "1,2",          "--run",         "2024-01-15T06Z", "--member",
             "3",      "--interp", "bilinear", "--units",      "degC",          "--format",       "json",
             "-o",     "x.json",   "--server", "host:1"});
  ASSERT_FALSE(outcome.done);
  const Arguments& arguments = outcome.arguments;
  EXPECT_EQ(arguments.command, Command::Series);
  EXPECT_EQ(arguments.selection.parameter, "t");
  EXPECT_EQ(arguments.selection.level_type, "isobaricInhPa");
  EXPECT_EQ(arguments.selection.level, 500);
  EXPECT_EQ(arguments.selection.run, 1705298400);  // date -u -d '2024-01-15 06:00' +%s
  EXPECT_EQ(arguments.selection.member, 3U);
  ASSERT_EQ(arguments.points.size(), 2U);
  EXPECT_EQ(arguments.points[0].latitude, -12.5);
  EXPECT_EQ(arguments.points[1].longitude, 2);
  EXPECT_EQ(arguments.interpolation, query::Interpolation::Bilinear);
  EXPECT_EQ(arguments.units, "degC");
  EXPECT_EQ(arguments.format, Format::Json);
  EXPECT_EQ(arguments.output, "x.json");
  EXPECT_EQ(arguments.server, "host:1");
}

TEST(Arguments, ReadASlab) {
  const ParseOutcome outcome =
      parse({"slab", "--param", "T2", "--step", "0-6h", "--bbox", "-10,20,10,30", "--clip"});
  ASSERT_FALSE(outcome.done);
  EXPECT_EQ(outcome.arguments.command, Command::Slab);
  ASSERT_TRUE(outcome.arguments.box.has_value());
  EXPECT_EQ(outcome.arguments.box->west, -10);
  EXPECT_TRUE(outcome.arguments.clip);
  EXPECT_TRUE(outcome.arguments.selection.step->interval);
  EXPECT_FALSE(outcome.arguments.format.has_value());
}

TEST(Arguments, ReadServe) {
  const ParseOutcome outcome = parse({"serve", "--pool", "/p", "--nvm", "2GiB", "--dram", "64MiB", "--listen",
                                      "127.0.0.1:0", "--ingest-root", "/a", "--ingest-root", "/b"});
  ASSERT_FALSE(outcome.done);
  EXPECT_EQ(outcome.arguments.command, Command::Serve);
  EXPECT_EQ(outcome.arguments.pool, "/p");
  EXPECT_EQ(outcome.arguments.serve.nvm_bytes, 2ULL << 30U);
  EXPECT_EQ(outcome.arguments.serve.dram_bytes, 64ULL << 20U);
  EXPECT_EQ(outcome.arguments.serve.ingest_roots.size(), 2U);
}

TEST(Arguments, TakeTheServerFromTheEnvironment) {
  ::setenv("NVMDB_SERVER", "elsewhere:7", 1);
  EXPECT_EQ(parse({"models"}).arguments.server, "elsewhere:7");
  ::unsetenv("NVMDB_SERVER");
  EXPECT_EQ(parse({"models"}).arguments.server, "localhost:50051");
}

TEST(Arguments, RefuseMalformedValuesInOneLine) {
  EXPECT_NE(complaint({"series", "--param", "t", "--at", "91,0"}).find("latitude must be"),
            std::string::npos);
  EXPECT_NE(complaint({"series", "--param", "t", "--at", "1,2", "--run", "soon"}).find("is not a run"),
            std::string::npos);
  complaint({"series", "--param", "t", "--at", "1,2", "--valid", "2024-13-01T00Z"});
  complaint({"slab", "--param", "t", "--bbox", "1,2,3"});
  complaint({"slab", "--param", "t", "--step", "soon"});
  complaint({"slab", "--param", "t", "--format", "xml"});
  complaint({"models", "--format", "netcdf"});
  complaint({"series", "--at", "1,2"});
  complaint({"series", "--param", "t"});
  complaint({"serve", "--pool", "/p", "--nvm", "lots"});
  complaint({"ingest"});
  complaint({"drop", "yesterday"});
  complaint({"models", "--server", "a:1", "--pool", "/p"});
  complaint({});
}

TEST(Arguments, SuggestWhatWasMeant) {
  EXPECT_NE(complaint({"serie", "--param", "t"}).find("did you mean series?"), std::string::npos);
  EXPECT_NE(complaint({"series", "--parm", "t", "--at", "1,2"}).find("did you mean --param?"),
            std::string::npos);
}

TEST(Arguments, GiveEveryCommandHelpWithAnExample) {
  for (const char* name : {"serve", "ingest", "models", "runs", "params", "steps", "grid", "slab", "series",
                           "drop", "info", "events", "check"}) {
    testing::internal::CaptureStdout();
    const ParseOutcome outcome = parse({name, "--help"});
    const std::string text = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(outcome.done);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(text.find(std::string("Example:\n  nvmdb ") + name), std::string::npos) << text;
  }
}

TEST(ExitCodes, AreTheFixedOnes) {
  EXPECT_EQ(exit_code_of(Code::Ok), 0);
  EXPECT_EQ(exit_code_of(Code::IoError), 1);
  EXPECT_EQ(exit_code_of(Code::Corruption), 1);
  EXPECT_EQ(exit_code_of(Code::OutOfSpace), 1);
  EXPECT_EQ(exit_code_of(Code::Overloaded), 1);
  EXPECT_EQ(exit_code_of(Code::DeadlineExceeded), 4);
  EXPECT_EQ(exit_code_of(Code::InvalidArgument), 6);
  EXPECT_EQ(exit_code_of(Code::Conflict), 6);
  EXPECT_EQ(exit_code_of(Code::PermissionDenied), 6);
  EXPECT_EQ(exit_code_of(Code::NotFound), 7);
}

}  // namespace
}  // namespace nvmdb::cli
