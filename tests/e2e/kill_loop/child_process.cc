#include "tests/e2e/kill_loop/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "storage/base/check.h"

extern char** environ;

namespace nvmdb::test {

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  std::array<int, 2> pipe{};
  NVMDB_CHECK(pipe2(pipe.data(), O_CLOEXEC) == 0, "pipe2 failed");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  const int error = posix_spawn(&pid_, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  NVMDB_CHECK(error == 0, "cannot start " + command[0]);
  output_ = pipe[0];
}

ChildProcess::~ChildProcess() {
  kill_now();
  (void)wait();
  close(output_);
}

bool ChildProcess::read_line(std::string& line) {
  for (;;) {
    if (const std::size_t end = buffered_.find('\n'); end != std::string::npos) {
      line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return true;
    }
    std::array<char, 4096> part{};
    const ssize_t count = read(output_, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    buffered_.append(part.data(), static_cast<std::size_t>(count));
  }
}

void ChildProcess::kill_now() {
  if (status_ == -1) ::kill(pid_, SIGKILL);
}

void ChildProcess::terminate() {
  if (status_ == -1) ::kill(pid_, SIGTERM);
}

int ChildProcess::wait() {
  if (status_ == -1) {
    int raw = 0;
    while (waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
    }
    status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  }
  return status_;
}

}  // namespace nvmdb::test
