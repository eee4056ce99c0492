#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "storage/base/bytes.h"
#include "storage/base/status.h"

namespace nvmdb::storage {

/// Memory whose bad places are errors of the reader, not the end of the process: a mapped region says so
/// while it lives. Where there are more regions than places in the table, the rest is not guarded.
class GuardedMemory {
 public:
  GuardedMemory(const std::byte* memory, std::uint64_t bytes, std::string name);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

 private:
  std::size_t place_;
};

namespace internal {
[[nodiscard]] bool run_guarded(void (*body)(void*), void* argument);
}  // namespace internal

/// Runs `body`; false when guarded memory could not be read (SIGBUS: a poisoned line, a file cut off under
/// its mapping). The rest of `body` is then skipped without destructors: it only copies or checks bytes, and
/// neither allocates nor locks. Nothing is guarded but reads of the calling thread; without a fault it costs
/// some nanoseconds and no system call. A SIGBUS elsewhere stops the process as ever. Threads: any number.
/// May be nested.
template <class Body>
[[nodiscard]] bool read_guarded(Body&& body) {
  using Bare = std::remove_reference_t<Body>;
  return internal::run_guarded([](void* argument) { (*static_cast<Bare*>(argument))(); }, &body);
}

/// Reads a word of each line; false when one cannot be read.
[[nodiscard]] bool probe_media(ByteSpan bytes);

/// What the last failed read_guarded() of this thread met: "region.0 offset 4096". Call it before the next
/// one.
[[nodiscard]] std::string last_media_fault();
[[nodiscard]] const std::byte* last_media_fault_address();
/// The same as an error: "<what>: <place> cannot be read: ...".
[[nodiscard]] Status media_fault_status(const std::string& what);

/// Failed reads of this process so far.
[[nodiscard]] std::uint64_t media_fault_count();

}  // namespace nvmdb::storage
