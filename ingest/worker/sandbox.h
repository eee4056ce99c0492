#pragma once

#include <cstdint>
#include <string>

#include "storage/base/result.h"

namespace nvmdb::ingest {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizerBuild = true;  ///< a build for tests: sanitizers need more than decoders do
#else
constexpr bool kSanitizerBuild = false;
#endif

/// Exit status of a worker that tried a forbidden system call.
constexpr int kForbiddenCallExit = 86;

/// Limits of the process that need no kernel feature: no privileges, no dumps, no new files or processes,
/// memory. The server moves the soft limits of memory and CPU for each job; the worker itself may not, once
/// in the sandbox. Errors: IoError.
[[nodiscard]] Status limit_process(std::uint64_t memory_bytes, std::uint64_t cpu_seconds);

/// Locks the process in: Landlock lets it read beneath `readable_directory` and nothing else, no network;
/// seccomp kills it on any system call that decoding does not need, after a ForbiddenCall message on
/// `channel_descriptor`. Descriptors already open, and those received later, stay usable. Returns what
/// protects, in words. Errors: PermissionDenied (the kernel lacks it: says what).
[[nodiscard]] Result<std::string> enter_sandbox(const std::string& readable_directory,
                                                int channel_descriptor);

}  // namespace nvmdb::ingest
