#include "scripted_decoder.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "ingest/protocol/message.h"
#include "ingest/worker/worker.h"

namespace nvmdb::ingest {
namespace {

std::string read_all(int fd) {
  std::string text(64U << 10U, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

met::Grid regular_grid(std::uint32_t columns, std::uint32_t rows) {
  met::Grid grid;
  grid.type = met::GridType::RegularLatLon;
  grid.columns = columns;
  grid.rows = rows;
  grid.points = std::uint64_t{columns} * rows;
  grid.first_latitude = 60;
  grid.last_latitude = 50;
  grid.last_longitude = 10;
  grid.column_step = 1;
  grid.row_step = 1;
  return grid;
}

int connect_to_loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(80);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(kChannelDescriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

int raise_memory_limit() {
  const rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  return ::setrlimit(RLIMIT_AS, &limit);
}

int map_executable() {
  void* memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? -1 : 0;
}

/// Tries something that a decoder must not be able to do; returns errno, 0 when it could.
int attempt(const std::string& what, const char* path) {
  errno = 0;
  long result = -1;
  if (what == "open") result = ::open(path, O_RDONLY);
  if (what == "open_directory") result = ::open(path, O_RDONLY | O_DIRECTORY);
  if (what == "open_for_writing") result = ::open(path, O_WRONLY | O_CREAT, 0600);
  if (what == "write_input") result = ::write(kRingDescriptor, "x", 1);
  if (what == "unlink") result = ::unlink(path);
  if (what == "socket") result = ::socket(AF_INET, SOCK_STREAM, 0);
  if (what == "connect") result = connect_to_loopback();
  if (what == "exec") result = ::execl(path, path, nullptr);
  if (what == "fork") result = ::fork();
  if (what == "kill") result = ::kill(::getppid(), 0);
  if (what == "ptrace") result = ::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr);
  if (what == "raise_limit") result = raise_memory_limit();
  if (what == "map_executable") result = map_executable();
  return result >= 0 ? 0 : errno;
}

void send_bytes(ByteSpan bytes) {
  ::send(kChannelDescriptor, bytes.data(), bytes.size(), 0);
}

void send_hex(const std::string& hex) {
  ByteWriter bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.put(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  send_bytes(bytes.bytes());
}

void send_piece(std::uint64_t position, std::uint64_t bytes) {
  ByteWriter packet;
  protocol::encode(protocol::BlobPiece{position, bytes}, packet);
  send_bytes(packet.bytes());
}

void touch_memory(std::uint64_t bytes) {
  std::vector<char> memory(bytes);
  for (std::uint64_t i = 0; i < bytes; i += 4096) memory[i] = 1;
}

void wait_until_empty(const char* path) {
  struct stat status {};
  while (::stat(path, &status) == 0 && status.st_size > 0) ::sched_yield();
}

void spin() {
  for (volatile bool forever = true; forever;) continue;
}

/// Runs the commands of one file.
class Script {
 public:
  explicit Script(FieldSink& sink) : sink_(sink) {}

  Status run(std::istringstream& line) {
    std::string command;
    line >> command;
    if (command == "run") return announce_run(line);
    if (command == "grid") return announce_grid(line);
    if (command == "field") return put_field(line);
    std::string first;
    std::string second;
    line >> first >> second;
    if (command == "step") return sink_.step_done(run_, std::stoll(first));
    if (command == "reject") return sink_.rejected("line", Status::corruption(first));
    if (command == "fail") return Status::corruption(first);
    if (command == "signal") ::raise(std::stoi(first));
    if (command == "spin") spin();
    if (command == "allocate") touch_memory(std::stoull(first));
    if (command == "wait") wait_until_empty(first.c_str());
    if (command == "packet") send_hex(first);
    if (command == "piece") send_piece(std::stoull(first), std::stoull(second));
    if (command != "try") return Status::ok();
    const int error = attempt(first, second.c_str());
    return sink_.rejected(first, Status::io_error(error == 0 ? "allowed" : std::strerror(error)));
  }

 private:
  Status announce_run(std::istringstream& line) {
    DecodedRun run;
    run.format = "grib";
    run.domain = "test";
    line >> run.model >> run.reference_time;
    NVMDB_ASSIGN(run_, sink_.run(run));
    return Status::ok();
  }

  Status announce_grid(std::istringstream& line) {
    std::uint32_t columns = 0;
    std::uint32_t rows = 0;
    line >> columns >> rows;
    points_ = std::uint64_t{columns} * rows;
    NVMDB_ASSIGN(grid_, sink_.grid(regular_grid(columns, rows)));
    return Status::ok();
  }

  Status put_field(std::istringstream& line) {
    DecodedField field;
    field.run = run_;
    field.grid = grid_;
    field.points = points_;
    field.parameter.origin = "grib";
    field.where = "a field of a script";
    std::int64_t seconds = 0;
    float first = 0;
    line >> field.parameter.short_name >> seconds >> first;
    field.step = met::Step::instant(seconds);
    NVMDB_TRY(sink_.begin_field(field));
    for (std::uint64_t at = 0; at < points_;) {
      NVMDB_ASSIGN(const std::span<std::byte> room, sink_.space((points_ - at) * sizeof(float)));
      const std::uint64_t count = std::min<std::uint64_t>(points_ - at, room.size() / sizeof(float));
      for (std::uint64_t i = 0; i < count; ++i) {
        const float value = first + static_cast<float>(at + i);
        std::memcpy(room.data() + i * sizeof(float), &value, sizeof(value));
      }
      NVMDB_TRY(sink_.advance(count * sizeof(float)));
      at += count;
    }
    const double low = static_cast<double>(first);
    const double high = low + static_cast<double>(points_ - 1);
    return sink_.end_field({.minimum = low, .maximum = high, .mean = (low + high) / 2, .missing_count = 0});
  }

  FieldSink& sink_;
  std::uint32_t run_ = 0;
  std::uint32_t grid_ = 0;
  std::uint64_t points_ = 0;
};

}  // namespace

bool is_script(int fd) {
  return read_all(fd).starts_with(kScriptHeader);
}

Status run_script(int fd, FieldSink& sink) {
  std::istringstream lines(read_all(fd));
  Script script(sink);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    NVMDB_TRY(script.run(words));
  }
  return Status::ok();
}

}  // namespace nvmdb::ingest
