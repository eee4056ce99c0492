#include "storage/nvm/media_guard.h"

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <utility>

#include "storage/base/mutex.h"

namespace nvmdb::storage {
namespace {

constexpr std::size_t kRegionsMax = 64;

/// The signal handler looks here, so both ends are atomic: `begin` is stored last (release) and read first
/// (acquire).
struct Guarded {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: the place is free
  std::atomic<std::uintptr_t> end{0};
};
constinit std::array<Guarded, kRegionsMax> regions{};
constinit std::atomic<std::uint64_t> fault_count{0};

struct Names {
  Mutex mutex;
  std::array<std::string, kRegionsMax> text NVMDB_GUARDED_BY(mutex);
};
Names& names() {
  static Names all;
  return all;
}

struct Frame {
  sigjmp_buf back;
  Frame* outer;
};
// Of constant initialisation, so that the handler reaches them without a call.
constinit thread_local Frame* current_frame = nullptr;
constinit thread_local std::uintptr_t fault_address = 0;

bool is_guarded(std::uintptr_t address) {
  for (const Guarded& region : regions) {
    const std::uintptr_t begin = region.begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address < region.end.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

/// Ends in the frame of the reader, or lets the instruction fault again without a handler.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (current_frame == nullptr || !is_guarded(address)) {
    (void)::signal(signal, SIG_DFL);
    // Sent by somebody, not by an instruction: nothing would fault again.
    if (info->si_code <= 0) (void)::raise(signal);
    return;
  }
  fault_address = address;
  fault_count.fetch_add(1, std::memory_order_relaxed);
  siglongjmp(current_frame->back, 1);
}

void install_handler() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    // The signal stays unblocked in its handler, so leaving it needs no system call to unblock it.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return ::sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  (void)installed;
}

}  // namespace

GuardedMemory::GuardedMemory(const std::byte* memory, std::uint64_t bytes, std::string name)
    : place_(kRegionsMax) {
  install_handler();
  const MutexLock lock(names().mutex);
  for (std::size_t i = 0; i < kRegionsMax; ++i) {
    if (regions[i].begin.load(std::memory_order_relaxed) != 0) continue;
    place_ = i;
    names().text[i] = std::move(name);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    regions[i].end.store(begin + bytes, std::memory_order_relaxed);
    regions[i].begin.store(begin, std::memory_order_release);
    return;
  }
}

GuardedMemory::~GuardedMemory() {
  if (place_ == kRegionsMax) return;
  const MutexLock lock(names().mutex);
  regions[place_].begin.store(0, std::memory_order_release);
}

bool internal::run_guarded(void (*body)(void*), void* argument) {
  Frame frame;
  frame.outer = current_frame;
  // Without the signal mask: saving it would be a system call.
  if (sigsetjmp(frame.back, 0) != 0) {
    current_frame = frame.outer;
    return false;
  }
  current_frame = &frame;
  body(argument);
  current_frame = frame.outer;
  return true;
}

bool probe_media(ByteSpan bytes) {
  constexpr std::uintptr_t kLine = 64;
  return read_guarded([bytes] {
    if (bytes.empty()) return;
    // One addition a line: all of a checkpoint is probed at recovery.
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(bytes.data());
    const volatile std::byte* at = bytes.data() - first % kLine;
    const volatile std::byte* const end = bytes.data() + bytes.size();
    (void)*static_cast<const volatile std::byte*>(bytes.data());
    for (at += kLine; at < end; at += kLine) (void)*at;
  });
}

std::string last_media_fault() {
  const MutexLock lock(names().mutex);
  for (std::size_t i = 0; i < kRegionsMax; ++i) {
    const std::uintptr_t begin = regions[i].begin.load(std::memory_order_relaxed);
    if (begin == 0 || fault_address < begin ||
        fault_address >= regions[i].end.load(std::memory_order_relaxed))
      continue;
    return names().text[i] + " offset " + std::to_string(fault_address - begin);
  }
  return "a region that is closed";
}

const std::byte* last_media_fault_address() {
  return reinterpret_cast<const std::byte*>(fault_address);
}

Status media_fault_status(const std::string& what) {
  return Status::corruption(what + ": " + last_media_fault() +
                            " cannot be read: the medium is damaged, or its file was cut off");
}

std::uint64_t media_fault_count() {
  return fault_count.load(std::memory_order_relaxed);
}

}  // namespace nvmdb::storage
