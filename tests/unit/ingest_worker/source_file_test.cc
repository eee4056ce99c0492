#include "ingest/jobs/source_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "ingest/jobs/quarantine.h"
#include "temporary_directory.h"

namespace nvmdb::ingest {
namespace {

Code code_of(const std::filesystem::path& path) {
  return SourceFile::open(path).status().code();
}

TEST(SourceFile, KnowsFormatsByContent) {
  const TemporaryDirectory directory;
  const auto format_of = [&](const std::string& content) {
    const Result<SourceFile> file = SourceFile::open(directory.write("any.name", content));
    return file.is_ok() ? format_name(file->format()) : file.status().to_string();
  };
  using namespace std::string_literals;
  EXPECT_EQ(format_of("CDF\x01"s), "NetCDF classic");
  EXPECT_EQ(format_of("CDF\x02"s), "NetCDF 64-bit offset");
  EXPECT_EQ(format_of("CDF\x05"s), "NetCDF CDF-5");
  EXPECT_EQ(format_of("\x89HDF\r\n\x1a\n"s), "NetCDF-4");
  EXPECT_EQ(format_of("GRIB\0\0"s), "GRIB");
  EXPECT_EQ(format_of(std::string(40, '\r') + "GRIB"), "GRIB");
  EXPECT_EQ(code_of(directory.write("text", "hello")), Code::InvalidArgument);
  EXPECT_EQ(code_of(directory.write("late", std::string(70'000, 'x') + "GRIB")), Code::InvalidArgument);
}

TEST(SourceFile, RefusesWhatIsNotARegularFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(code_of(directory.path() / "absent"), Code::NotFound);
  EXPECT_EQ(code_of(directory.path()), Code::InvalidArgument);
  EXPECT_EQ(code_of("/dev/zero"), Code::InvalidArgument);
  ASSERT_EQ(::mkfifo((directory.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of(directory.path() / "fifo"), Code::InvalidArgument);
  EXPECT_EQ(code_of(directory.write("empty", "")), Code::InvalidArgument);
  EXPECT_NE(SourceFile::open(directory.path()).status().message().find("is a directory"), std::string::npos);
}

/// Gives up root's rights over files for a scope.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(::geteuid() == 0) {
    constexpr uid_t kNobody = 65534;
    if (was_root_ && ::seteuid(kNobody) != 0) ADD_FAILURE() << "seteuid";
  }
  ~OrdinaryUser() {
    if (was_root_ && ::seteuid(0) != 0) ADD_FAILURE() << "seteuid";
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  bool was_root_;
};

TEST(SourceFile, RefusesWhatMayNotBeRead) {
  const TemporaryDirectory directory;
  const auto path = directory.write("secret", "GRIB");
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const OrdinaryUser user;
  EXPECT_EQ(code_of(path), Code::PermissionDenied);
}

TEST(SourceFile, FollowsSymbolicLinks) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink(directory.write("real", "GRIB"), directory.path() / "link");
  EXPECT_EQ(code_of(directory.path() / "link"), Code::Ok);
  std::filesystem::create_symlink("loop", directory.path() / "loop");
  EXPECT_EQ(code_of(directory.path() / "loop"), Code::InvalidArgument);
}

TEST(SourceFile, ReopensADescriptorAndKeepsItsOffset) {
  const TemporaryDirectory directory;
  const protocol::FileDescriptor fd(::open(directory.write("real", "GRIBxxxx").c_str(), O_RDWR));
  ASSERT_EQ(::lseek(fd.get(), 3, SEEK_SET), 3);
  const Result<SourceFile> file = SourceFile::reopen(fd.get(), "upload");
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  EXPECT_EQ(::lseek(file->rewound(), 0, SEEK_CUR), 0);
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 3);
  EXPECT_LT(::write(file->rewound(), "x", 1), 0) << "for reading only";
}

TEST(SourceFile, SeesChanges) {
  const TemporaryDirectory directory;
  const auto path = directory.write("file", "GRIB");
  const Result<SourceFile> file = SourceFile::open(path);
  ASSERT_TRUE(file.is_ok());
  EXPECT_TRUE(file->check_unchanged().is_ok());
  std::filesystem::last_write_time(path,
                                   std::filesystem::last_write_time(path) + std::chrono::milliseconds(1));
  EXPECT_EQ(file->check_unchanged().code(), Code::InvalidArgument);
}

TEST(Quarantine, RefusesAContentAfterThreeCrashes) {
  const TemporaryDirectory directory;
  const Result<SourceFile> file = SourceFile::open(directory.write("a", "GRIB bad"));
  const Result<SourceFile> copy = SourceFile::open(directory.write("b", "GRIB bad"));
  const Result<SourceFile> other = SourceFile::open(directory.write("c", "GRIB god"));
  Quarantine quarantine;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(quarantine.check(*copy).is_ok());
    quarantine.note_crash(*file, Status::corruption("decoder crashed (signal 11)"));
  }
  EXPECT_EQ(quarantine.check(*copy).code(), Code::InvalidArgument);
  EXPECT_NE(quarantine.check(*copy).message().find("signal 11"), std::string::npos);
  EXPECT_TRUE(quarantine.check(*other).is_ok());
}

}  // namespace
}  // namespace nvmdb::ingest
