#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/e2e/server/processes.h"

namespace nvmdb::e2e {
namespace {

const std::string kFile = std::string(NVMDB_SOURCE_DIR) + "/tests/data/wrf_cropped.nc";  // 4 steps

bool comes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 300; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Takes HTTP requests one after another and answers each with the next code (the last one from then on).
class HttpSink {
 public:
  explicit HttpSink(std::vector<int> codes) : codes_(std::move(codes)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~HttpSink() {
    ending_ = true;
    thread_.join();
    ::close(socket_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/events"; }
  std::vector<std::string> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  void run() {
    std::size_t number = 0;
    while (!ending_) {
      pollfd waiting{socket_, POLLIN, 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      const int peer = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      std::string text;
      std::size_t wanted = std::string::npos;
      char buffer[4096];
      while (wanted == std::string::npos || text.size() < wanted) {
        const ssize_t got = ::read(peer, buffer, sizeof(buffer));
        if (got <= 0) break;
        text.append(buffer, static_cast<std::size_t>(got));
        const std::size_t head = text.find("\r\n\r\n");
        const std::size_t length = text.find("Content-Length: ");
        if (head != std::string::npos && length < head) wanted = head + 4 + std::stoul(text.substr(length + 16));
      }
      {
        const std::lock_guard lock(mutex_);
        bodies_.push_back(text.substr(std::min(text.size(), text.find("\r\n\r\n") + 4)));
      }
      const int code = codes_[std::min(number++, codes_.size() - 1)];
      const std::string reply = "HTTP/1.1 " + std::to_string(code) + " x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      EXPECT_EQ(::write(peer, reply.data(), reply.size()), static_cast<ssize_t>(reply.size()));
      ::close(peer);
    }
  }

  const std::vector<int> codes_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> bodies_;
  std::thread thread_;
};

class Events : public testing::Test {
 protected:
  std::filesystem::path pool() const { return folder_.path() / "pool"; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  TemporaryFolder folder_;
};

TEST_F(Events, RunACommandForEachThatKnowsWhichItIs) {
  ServerProcess server(pool());
  ASSERT_EQ(run_nvmdb({"ingest", kFile, "--server", server.address()}).exit_code, 0);
  const std::string command = "cat >> " + path("input") + "; echo $NVMDB_EVENT_KIND $NVMDB_EVENT_MODEL $NVMDB_EVENT_RUN" +
                              " $NVMDB_EVENT_STEP_SECONDS $NVMDB_EVENT_VALID_TIME >> " + path("output");
  const Finished done = run_nvmdb({"events", "--server", server.address(), "--after", "0", "--exec", command});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const std::vector<std::string> told = lines_of(path("output"));
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0], "step_visible wrf 2008-10-26T12Z 0 2008-10-26T12:00:00Z");
  EXPECT_EQ(told[3], "step_visible wrf 2008-10-26T12Z 32400 2008-10-26T21:00:00Z");
  const std::vector<std::string> input = lines_of(path("input"));
  ASSERT_EQ(input.size(), 4U);
  EXPECT_EQ(nlohmann::json::parse(input[1]).at("step_seconds"), 10800);
}

TEST_F(Events, ArePostedAsCloudEventsUntilTheyAreAccepted) {
  ServerProcess server(pool());
  ASSERT_EQ(run_nvmdb({"ingest", kFile, "--server", server.address()}).exit_code, 0);
  HttpSink sink({503, 204});
  const Finished done = run_nvmdb({"events", "--server", server.address(), "--after", "0", "--post", sink.url()});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.err.find("HTTP 503"), std::string::npos) << done.err;
  const std::vector<std::string> bodies = sink.bodies();
  ASSERT_EQ(bodies.size(), 5U);
  EXPECT_EQ(bodies[0], bodies[1]);
  const nlohmann::json event = nlohmann::json::parse(bodies[4]);
  EXPECT_EQ(event.at("specversion"), "1.0");
  EXPECT_EQ(event.at("type"), "io.nvmdb.step.visible");
  EXPECT_EQ(event.at("id"), "4");
  EXPECT_EQ(event.at("subject"), "wrf d01 2008-10-26T12Z");
  EXPECT_EQ(event.at("data").at("step_seconds"), 32400);
}

TEST_F(Events, GoOnAfterTheLastOneThatWasDealtWith) {
  ServerProcess server(pool());
  ASSERT_EQ(run_nvmdb({"ingest", kFile, "--server", server.address()}).exit_code, 0);
  const std::vector<std::string> words = {"events", "--server", server.address(), "--after", "0", "--state", path("state"),
                                          "--count", "3", "--format", "csv"};
  EXPECT_EQ(run_nvmdb(words).exit_code, 0);
  EXPECT_EQ(lines_of(path("state")), std::vector<std::string>{"3"});
  const Finished rest = run_nvmdb({"events", "--server", server.address(), "--state", path("state"), "--count", "1",
                                   "--format", "csv"});
  EXPECT_NE(rest.out.find("\n4,step_visible"), std::string::npos) << rest.out;
  std::ofstream(path("state")) << "no number\n";
  EXPECT_EQ(run_nvmdb(words).exit_code, 6);
}

TEST_F(Events, AreFollowedOverARestartOfTheServer) {
  std::string address;
  std::unique_ptr<BackgroundNvmdb> follower;
  {
    ServerProcess server(pool());
    address = server.address();
    ASSERT_EQ(run_nvmdb({"ingest", kFile, "--server", address}).exit_code, 0);
    follower = std::make_unique<BackgroundNvmdb>(
        std::vector<std::string>{"events", "--server", address, "--after", "0", "--follow", "--format", "csv"});
    ASSERT_TRUE(comes_true([&] { return follower->output().find("\n4,") != std::string::npos; })) << follower->output();
    server.kill();
  }
  ASSERT_TRUE(comes_true([&] { return follower->output().find("waiting for it") != std::string::npos; }));
  ServerProcess server(pool(), {"--listen", address});
  ASSERT_EQ(server.address(), address);
  ASSERT_EQ(run_nvmdb({"drop", "wrf/d01/2008-10-26T12Z", "--yes", "--server", address}).exit_code, 0);
  EXPECT_TRUE(comes_true([&] { return follower->output().find("\n5,run_dropped") != std::string::npos; }))
      << follower->output();
}

TEST(EventsArguments, RefuseAnUrlOfAnotherKind) {
  EXPECT_EQ(run_nvmdb({"events", "--server", "127.0.0.1:1", "--after", "0", "--post", "file:///etc/passwd"}).exit_code, 6);
}

}  // namespace
}  // namespace nvmdb::e2e
