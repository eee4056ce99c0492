#include "ingest/worker/worker.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string_view>

#include "ingest/protocol/channel.h"
#include "ingest/protocol/ring.h"
#include "ingest/worker/ring_sink.h"
#include "ingest/worker/sandbox.h"

namespace nvmdb::ingest {
namespace {

constexpr int kUsageExit = 2;
constexpr int kNoSandboxExit = 85;
constexpr int kBrokenChannelExit = 84;

struct Arguments {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_seconds = 0;
  bool allow_without_sandbox = false;
  std::string definitions;
};

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// MEMORY CPU DEFINITIONS [--allow-without-sandbox]; the server is the only caller.
std::optional<Arguments> parse(std::span<char*> words) {
  if (words.size() < 4 || words.size() > 5) return std::nullopt;
  const auto memory = parse_number(words[1]);
  const auto cpu = parse_number(words[2]);
  if (!memory || !cpu) return std::nullopt;
  Arguments arguments{*memory, *cpu, false, words[3]};
  if (words.size() == 5) {
    if (std::string_view(words[4]) != "--allow-without-sandbox") return std::nullopt;
    arguments.allow_without_sandbox = true;
  }
  return arguments;
}

std::span<std::byte> map_ring() {
  struct stat status {};
  if (::fstat(kRingDescriptor, &status) != 0 || status.st_size != static_cast<off_t>(protocol::kRingBytes))
    return {};
  void* memory = ::mmap(nullptr, protocol::kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        kRingDescriptor, 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), protocol::kRingBytes};
}

Status send_message(protocol::Channel& channel, const protocol::Message& message) {
  ByteWriter packet;
  protocol::encode(message, packet);
  return channel.send(packet.bytes(), true);
}

/// Locks the process in and tells the server. False when the worker must not go on.
bool say_hello(protocol::Channel& channel, const Arguments& arguments) {
  protocol::Hello hello;
  Status status = limit_process(arguments.memory_bytes, arguments.cpu_seconds);
  if (status.is_ok()) {
    const Result<std::string> sandbox = enter_sandbox(arguments.definitions, kChannelDescriptor);
    status = sandbox.status();
    if (sandbox.is_ok()) hello.sandbox = *sandbox;
  }
  hello.sandboxed = status.is_ok();
  if (!hello.sandboxed) hello.sandbox = status.message();
  return send_message(channel, hello).is_ok() && (hello.sandboxed || arguments.allow_without_sandbox);
}

Status decode(const Decoders& decoders, int fd, const protocol::Job& job, FieldSink& sink) {
  try {
    switch (job.format) {
      case FileFormat::Unknown:
        return Status::invalid_argument("neither GRIB nor NetCDF");
      case FileFormat::Grib:
        return decoders.grib(fd, job.limits, sink);
      default:
        return decoders.netcdf(fd, job.limits, sink);
    }
  } catch (const std::bad_alloc&) {
    return Status::invalid_argument("decoding needs more memory than a decoder may use");
  } catch (const std::exception& error) {
    return Status::corruption(std::string("the decoder gave up: ") + error.what());
  }
}

/// Serves jobs until the server closes the channel.
int serve(protocol::Channel& channel, std::span<std::byte> ring, const Decoders& decoders) {
  RingSink sink(channel, ring);
  bool is_cold = true;
  for (std::size_t part = 0;;) {
    while (is_cold && !channel.has_packet()) is_cold = decoders.warm_up(part++);
    Result<protocol::Channel::Packet> packet = channel.receive(-1, true);
    if (packet.status().code() == Code::NotFound) return 0;
    if (!packet.is_ok()) return kBrokenChannelExit;
    const Result<std::vector<protocol::Message>> messages = protocol::decode_packet(packet->bytes);
    if (!messages.is_ok() || messages->size() != 1) return kBrokenChannelExit;
    if (std::holds_alternative<protocol::Credit>(messages->front())) {
      sink.take_credit(std::get<protocol::Credit>(messages->front()));
      continue;
    }
    const auto* job = std::get_if<protocol::Job>(&messages->front());
    if (job == nullptr || !packet->descriptor.is_open()) return kBrokenChannelExit;
    sink.start_job();
    const Status outcome = decode(decoders, packet->descriptor.get(), *job, sink);
    if (!sink.finish_job(outcome).is_ok()) return kBrokenChannelExit;
  }
}

}  // namespace

int run_worker(int argument_count, char** arguments, const Decoders& decoders) {
  const std::optional<Arguments> parsed =
      parse(std::span(arguments, static_cast<std::size_t>(argument_count)));
  const std::span<std::byte> ring = map_ring();
  if (!parsed || ring.empty()) {
    std::fputs("nvmdb-ingest-worker decodes files for nvmdb, which starts it. It is not run by hand.\n",
               stderr);
    return kUsageExit;
  }
  ::close(kRingDescriptor);
  protocol::Channel channel{protocol::FileDescriptor(kChannelDescriptor)};
  if (!say_hello(channel, *parsed)) return kNoSandboxExit;
  return serve(channel, ring, decoders);
}

}  // namespace nvmdb::ingest
