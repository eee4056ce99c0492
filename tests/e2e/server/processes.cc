#include "tests/e2e/server/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

namespace nvmdb::e2e {
namespace {

const std::string kProgram = std::string(NVMDB_BINARY_DIR) + "/nvmdb";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

pid_t spawn(std::vector<std::string> words, const std::filesystem::path& out,
            const std::filesystem::path& err) {
  words.insert(words.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  if (out == err) {
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  }
  pid_t pid = -1;
  if (::posix_spawn(&pid, kProgram.c_str(), &actions, nullptr, argv.data(), environ) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Finished run_nvmdb(const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const pid_t pid = spawn(words, folder.path() / "out", folder.path() / "err");
  Finished finished;
  finished.exit_code = wait_for(pid);
  finished.out = text_of(folder.path() / "out");
  finished.err = text_of(folder.path() / "err");
  return finished;
}

BackgroundNvmdb::BackgroundNvmdb(const std::vector<std::string>& words) {
  static int number = 0;
  log_ = std::filesystem::temp_directory_path() /
         ("nvmdb_e2e_" + std::to_string(::getpid()) + "_background_" + std::to_string(++number) + ".log");
  pid_ = spawn(words, log_, log_);
}

BackgroundNvmdb::~BackgroundNvmdb() {
  stop(SIGKILL);
  std::filesystem::remove(log_);
}

std::string BackgroundNvmdb::output() const { return text_of(log_); }

int BackgroundNvmdb::stop(int signal) {
  if (pid_ < 0) return -1;
  ::kill(pid_, signal);
  const int code = wait_for(pid_);
  pid_ = -1;
  return code;
}

ServerProcess::ServerProcess(const std::filesystem::path& pool, const std::vector<std::string>& more) {
  static int number = 0;
  log_ = std::filesystem::temp_directory_path() /
         ("nvmdb_e2e_" + std::to_string(::getpid()) + "_" + std::to_string(++number) + ".log");
  std::vector<std::string> words = {"serve", "--pool", pool.string(), "--nvm", "256MiB"};
  words.insert(words.end(), more.begin(), more.end());
  if (std::ranges::find(more, "--listen") == more.end()) words.insert(words.end(), {"--listen", "127.0.0.1:0"});
  pid_ = spawn(words, log_, log_);
  const std::string mark = "listening on ";
  for (int i = 0; i < 600 && address_.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::string text = output();
    const std::size_t at = text.find(mark);
    const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
    if (end != std::string::npos) address_ = text.substr(at + mark.size(), end - at - mark.size());
    if (::waitid(P_PID, static_cast<id_t>(pid_), nullptr, WEXITED | WNOHANG | WNOWAIT) != 0) break;
  }
}

ServerProcess::~ServerProcess() {
  kill();
  std::filesystem::remove(log_);
}

std::string ServerProcess::output() const {
  return text_of(log_);
}

int ServerProcess::wait() {
  const int code = wait_for(pid_);
  pid_ = -1;
  return code;
}

int ServerProcess::stop() {
  if (pid_ < 0) return -1;
  ::kill(pid_, SIGTERM);
  return wait();
}

void ServerProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "nvmdb_e2e_XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}
TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) std::filesystem::remove_all(path_);
}

std::filesystem::path shared_data() {
  if (const char* folder = std::getenv("NVMDB_SHARED_DATA"); folder != nullptr) return folder;
  for (std::filesystem::path at = NVMDB_SOURCE_DIR; at.has_relative_path(); at = at.parent_path()) {
    if (std::filesystem::is_directory(at.parent_path() / "shared/data/given"))
      return at.parent_path() / "shared/data";
  }
  return {};
}

}  // namespace nvmdb::e2e
