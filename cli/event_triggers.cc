#include "cli/event_triggers.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cli/listings.h"
#include "cli/messages.h"
#include "cli/number_text.h"
#include "engine/met/time.h"

namespace nvmdb::cli {
namespace {

constexpr long kPostSeconds = 30;
constexpr std::chrono::milliseconds kDelayMin{1000};
constexpr std::chrono::milliseconds kDelayMax{60000};

Status failure(const std::string& what) {
  const std::string text = what + ": " + std::strerror(errno);
  return errno == ENOSPC || errno == EDQUOT ? Status::out_of_space(text) : Status::io_error(text);
}

/// A file in memory that a command reads as its standard input. -1: none could be had.
int file_of(const std::string& text) {
  const int fd = ::memfd_create("nvmdb-event", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::lseek(fd, 0, SEEK_SET) == 0) {
    return fd;
  }
  ::close(fd);
  return -1;
}

std::vector<std::string> environment_of(const engine::Event& event) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  const auto add = [&](const char* name, const std::string& value) {
    // A name from a file may hold a NUL, which would end the value early.
    all.push_back(std::string("NVMDB_EVENT_") + name + "=" + value.substr(0, value.find('\0')));
  };
  add("KIND", std::string(event_name(event.kind)));
  add("SEQUENCE", std::to_string(event.sequence));
  add("MODEL", event.run_key.model);
  add("DOMAIN", event.run_key.domain);
  add("RUN", met::format_run_time(event.run_key.reference_time));
  add("VERSION", event.run_key.version);
  add("STEP_SECONDS", std::to_string(event.step_end_seconds));
  add("VALID_TIME", met::format_time(event.run_key.reference_time + event.step_end_seconds));
  return all;
}

/// Until it succeeds.
void insist(const char* what, const std::function<Status()>& action) {
  for (std::chrono::milliseconds delay = kDelayMin;; delay = std::min(2 * delay, kDelayMax)) {
    const Status status = action();
    if (status.is_ok()) return;
    tell_error(std::string(what) + ": " + status.message() + "; is tried again in " +
               std::to_string(delay.count() / 1000) + " s");
    std::this_thread::sleep_for(delay);
  }
}

std::size_t ignore_reply(char*, std::size_t size, std::size_t count, void*) { return size * count; }

}  // namespace

std::string cloud_event(const engine::Event& event, const std::string& source) {
  std::string type = "io.nvmdb." + std::string(event_name(event.kind));
  std::ranges::replace(type, '_', '.');
  const std::pair<const char*, std::string> members[] = {
      {"specversion", "1.0"},
      {"id", std::to_string(event.sequence)},
      {"source", source},
      {"type", type},
      {"subject", engine::format_run(event.run_key)},
      {"time", met::format_time(event.at)},
      {"datacontenttype", "application/json"},
  };
  std::string text = "{";
  for (const auto& [name, value] : members) {
    append_json(text, name);
    text += ": ";
    append_json(text, value);
    text += ", ";
  }
  std::string data = event_line(event, Format::Json);
  data.pop_back();
  return text + "\"data\": " + data + "}";
}

Result<EventTriggers> EventTriggers::open(TriggerOptions options) {
  const std::string& url = options.post_url;
  if (!url.empty() && !url.starts_with("http://") && !url.starts_with("https://")) {
    return Status::invalid_argument("--post \"" + url + "\" begins with neither http:// nor https://");
  }
  EventTriggers triggers(std::move(options));
  const std::string& state = triggers.options_.state;
  if (state.empty() || !std::filesystem::exists(state)) return triggers;
  std::ifstream file(state);
  std::string text;
  if (!std::getline(file, text)) return Status::invalid_argument("state file " + state + " cannot be read, or is empty");
  std::uint64_t last = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), last);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Status::invalid_argument("state file " + state + " holds no sequence number; remove it, or name another one");
  }
  triggers.last_ = last;
  return triggers;
}

Status EventTriggers::deal_with(const engine::Event& event) {
  if (!options_.command.empty()) insist("--exec", [&] { return run_command(event); });
  if (!options_.post_url.empty()) insist("--post", [&] { return post(event); });
  return options_.state.empty() ? Status::ok() : keep(event.sequence);
}

Status EventTriggers::run_command(const engine::Event& event) const {
  const int input = file_of(event_line(event, Format::Json));
  if (input < 0) return failure("no memory for the command's input");
  std::vector<std::string> words = {"/bin/sh", "-c", options_.command};
  std::vector<std::string> environment = environment_of(event);
  const auto pointers_to = [](std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  // What the command prints must not get between the lines of events.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, words[0].c_str(), &actions, nullptr, pointers_to(words).data(),
                                  pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(input);
  if (error != 0) return Status::io_error(std::string("/bin/sh: ") + std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return failure("waiting for the command");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status::ok();
  return Status::io_error("event " + std::to_string(event.sequence) + ": the command " +
                          (WIFEXITED(status) ? "ended with exit code " + std::to_string(WEXITSTATUS(status))
                                             : "was ended by signal " + std::to_string(WTERMSIG(status))));
}

Status EventTriggers::post(const engine::Event& event) const {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: application/cloudevents+json; charset=utf-8"), &curl_slist_free_all);
  if (curl == nullptr || headers == nullptr) return Status::overloaded("no memory for an HTTP request");
  const std::string body = cloud_event(event, options_.source);
  curl_easy_setopt(curl.get(), CURLOPT_URL, options_.post_url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &ignore_reply);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kPostSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  std::array<char, CURL_ERROR_SIZE> why{};
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why.data());
  const std::string place = "event " + std::to_string(event.sequence) + ": " + options_.post_url + ": ";
  if (const CURLcode code = curl_easy_perform(curl.get()); code != CURLE_OK) {
    return Status::io_error(place + (why[0] != '\0' ? why.data() : curl_easy_strerror(code)));
  }
  long answer = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer);
  if (answer < 200 || answer > 299) return Status::io_error(place + "answered with HTTP " + std::to_string(answer));
  return Status::ok();
}

Status EventTriggers::keep(std::uint64_t sequence) {
  const std::string fresh = options_.state + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failure("state file " + fresh);
  const std::string text = std::to_string(sequence) + "\n";
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fdatasync(fd) == 0;
  const Status status = written ? Status::ok() : failure("state file " + fresh);
  ::close(fd);
  NVMDB_TRY(status);
  if (::rename(fresh.c_str(), options_.state.c_str()) != 0) return failure("state file " + options_.state);
  last_ = sequence;
  return Status::ok();
}

}  // namespace nvmdb::cli
