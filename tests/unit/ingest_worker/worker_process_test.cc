#include "ingest/jobs/worker_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "ingest/jobs/job_runner.h"
#include "ingest/jobs/worker_pool.h"
#include "ingest/worker/sandbox.h"
#include "recorded_reply.h"
#include "scripted_decoder.h"
#include "temporary_directory.h"

namespace nvmdb::ingest {
namespace {

WorkerOptions options() {
  WorkerOptions options;
  options.binary = NVMDB_BINARY_DIR "/tests/ingest_scripted_worker";
  return options;
}

/// Runs scripts in workers.
class ScriptedWorkers : public testing::Test {
 protected:
  void SetUp() override {
    auto pool = WorkerPool::start(options(), 1);
    ASSERT_TRUE(pool.is_ok()) << pool.status().to_string();
    pool_ = std::move(*pool);
  }

  JobEnd run(const std::string& commands, RecordedReply& reply, std::uint32_t hang_seconds = 30,
             std::uint32_t cpu_seconds = 60) {
    const auto path = directory_.write("script", kScriptHeader + commands);
    const Result<SourceFile> file = SourceFile::open(path);
    Result<WorkerPool::Lease> lease = pool_->acquire(false);
    if (!file.is_ok() || !lease.is_ok())
      return {JobEnd::Kind::HandlerFailed, Status::io_error("no file or worker")};
    pid_ = lease->worker().pid();
    const JobEnd end = run_job(lease->worker(), *file, {cpu_seconds, hang_seconds, {}}, reply);
    if (end.kind == JobEnd::Kind::Done) lease->keep();
    return end;
  }
  JobEnd run(const std::string& commands) {
    RecordedReply reply;
    return run(commands, reply);
  }
  void expect_healthy() {
    RecordedReply reply;
    const JobEnd end = run("run m 0\ngrid 10 10\nfield t 0 5\n", reply);
    EXPECT_EQ(end.kind, JobEnd::Kind::Done) << end.status.to_string();
    EXPECT_EQ(reply.fields.size(), 1U);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<WorkerPool> pool_;
  pid_t pid_ = 0;
};

TEST_F(ScriptedWorkers, BringWhatTheyDecode) {
  RecordedReply reply;
  const JobEnd end = run("run gfs 1000\ngrid 1000 2000\nfield t 3600 7\nstep 3600\nfield t 7200 8\n", reply);
  ASSERT_EQ(end.kind, JobEnd::Kind::Done) << end.status.to_string();
  EXPECT_TRUE(end.status.is_ok());
  ASSERT_EQ(reply.fields.size(), 2U);
  std::vector<float> expected(2'000'000);
  std::iota(expected.begin(), expected.end(), 8.0F);
  ASSERT_EQ(reply.fields[1].bytes.size(), expected.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(reply.fields[1].bytes.data(), expected.data(), reply.fields[1].bytes.size()), 0);
  EXPECT_EQ(reply.steps.size(), 1U);
}

TEST_F(ScriptedWorkers, AreSandboxed) {
  EXPECT_NE(pool_->sandbox().find("Landlock"), std::string::npos) << pool_->sandbox();
  // What Landlock refuses comes back as an error.
  for (const char* denied : {"open /etc/passwd", "open /proc/self/environ", "open /proc/self/fd/4",
                             "open_directory /etc", "open_directory /"}) {
    RecordedReply reply;
    const JobEnd end = run(std::string("try ") + denied + "\n", reply);
    ASSERT_EQ(end.kind, JobEnd::Kind::Done) << denied << ": " << end.status.to_string();
    ASSERT_EQ(reply.rejections.size(), 1U);
    EXPECT_EQ(reply.rejections[0].second.message(), std::strerror(EACCES)) << denied;
  }
  RecordedReply reply;
  run("try open /usr/share/eccodes/definitions/boot.def\n", reply);
  ASSERT_EQ(reply.rejections.size(), 1U);
  EXPECT_EQ(reply.rejections[0].second.message(), "allowed");
}

TEST_F(ScriptedWorkers, DieOnForbiddenSystemCalls) {
  const auto target = directory_.path() / "made";
  for (const std::string& denied :
       {"open_for_writing " + target.string(), "unlink " + directory_.write("kept", "x").string(),
        std::string("socket x"), std::string("connect x"), std::string("exec /bin/true"),
        std::string("fork x"), std::string("kill x"), std::string("ptrace x"), std::string("raise_limit x"),
        std::string("map_executable x")}) {
    const JobEnd end = run("try " + denied + "\n");
    EXPECT_EQ(end.kind, JobEnd::Kind::WorkerFailed) << denied << ": " << end.status.to_string();
    EXPECT_NE(end.status.message().find("forbidden system call"), std::string::npos)
        << denied << ": " << end.status.to_string();
  }
  EXPECT_FALSE(std::filesystem::exists(target));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "kept"));
  expect_healthy();
}

TEST_F(ScriptedWorkers, AreReplacedWhenTheyCrash) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) {
    const JobEnd end = run("run m 0\nsignal " + std::to_string(signal) + "\n");
    EXPECT_EQ(end.kind, JobEnd::Kind::WorkerFailed);
    EXPECT_NE(end.status.message().find("signal " + std::to_string(signal)), std::string::npos)
        << end.status.to_string();
    expect_healthy();
  }
}

TEST_F(ScriptedWorkers, AreStoppedWhenTheyHang) {
  RecordedReply reply;
  const JobEnd end = run("run m 0\nspin\n", reply, 1);
  EXPECT_EQ(end.kind, JobEnd::Kind::WorkerFailed);
  EXPECT_NE(end.status.message().find("no progress for 1 s"), std::string::npos) << end.status.to_string();
  expect_healthy();
}

TEST_F(ScriptedWorkers, AreStoppedWhenTheyUseTooMuchProcessor) {
  RecordedReply reply;
  const JobEnd end = run("spin\n", reply, 60, 1);
  EXPECT_EQ(end.kind, JobEnd::Kind::WorkerFailed);
  EXPECT_NE(end.status.message().find("CPU"), std::string::npos) << end.status.to_string();
  expect_healthy();
}

TEST_F(ScriptedWorkers, MayNotWrite) {
  if (kSanitizerBuild) GTEST_SKIP() << "sanitizers write into pipes of their own";
  const JobEnd end = run("try write_input x\n");
  EXPECT_EQ(end.kind, JobEnd::Kind::WorkerFailed);
  EXPECT_NE(end.status.message().find("forbidden system call"), std::string::npos) << end.status.to_string();
}

TEST_F(ScriptedWorkers, MayNotUseMoreMemoryThanGiven) {
  if (kSanitizerBuild) GTEST_SKIP() << "sanitizers take terabytes of address space";
  const JobEnd end = run("allocate 8589934592\n");
  EXPECT_EQ(end.kind, JobEnd::Kind::Done);
  EXPECT_EQ(end.status.code(), Code::InvalidArgument) << end.status.to_string();
  EXPECT_NE(end.status.message().find("memory"), std::string::npos);
}

TEST_F(ScriptedWorkers, AreStoppedWhenTheyBreakTheProtocol) {
  for (const char* evil : {"packet 00", "packet ff000000ffffffff", "piece 18446744073709551000 64",
                           "piece 0 4194304", "piece 4194304 64"}) {
    const JobEnd end = run(std::string(evil) + "\n");
    EXPECT_EQ(end.kind, JobEnd::Kind::WorkerFailed) << evil;
    EXPECT_NE(end.status.message().find("reply of the decoder"), std::string::npos) << end.status.to_string();
    expect_healthy();
  }
}

TEST_F(ScriptedWorkers, AreReplacedAfterAHundredFiles) {
  expect_healthy();
  const pid_t first = pid_;
  for (int i = 1; i < 100; ++i) {
    expect_healthy();
    ASSERT_EQ(pid_, first) << i;
  }
  expect_healthy();
  EXPECT_NE(pid_, first);
}

TEST_F(ScriptedWorkers, SeeACleanEnvironment) {
  ASSERT_EQ(::setenv("NVMDB_TEST_SECRET", "hidden", 1), 0);
  expect_healthy();
  auto worker = WorkerProcess::spawn(options());
  ASSERT_TRUE(worker.is_ok());
  ASSERT_TRUE((*worker)->await_greeting().is_ok());
  std::ifstream environment("/proc/" + std::to_string((*worker)->pid()) + "/environ");
  const std::string text((std::istreambuf_iterator<char>(environment)), {});
  if (text.empty()) GTEST_SKIP() << "only root may look at a worker";
  EXPECT_EQ(text.find("NVMDB_TEST_SECRET"), std::string::npos);
  ::unsetenv("NVMDB_TEST_SECRET");
}

TEST(WorkerProcess, SaysWhyItDoesNotStart) {
  WorkerOptions wrong = options();
  wrong.binary = "/nonexistent/worker";
  EXPECT_EQ(WorkerPool::start(wrong, 1).status().code(), Code::IoError);
  wrong.binary = "/bin/true";
  const Status status = WorkerPool::start(wrong, 1).status();
  EXPECT_EQ(status.code(), Code::IoError);
  EXPECT_NE(status.message().find("does not start"), std::string::npos) << status.to_string();
}

}  // namespace
}  // namespace nvmdb::ingest
