#pragma once

#include <string>

#include "storage/base/result.h"

namespace nvmdb::ingest {

/// Restricts the calling thread and what it starts to reading beneath `readable_directory`; TCP, abstract
/// Unix sockets and signals to others are cut off where the kernel knows how. Works by raw system calls,
/// since libc has no wrappers and the headers of the build machine may be older than the kernel. Returns the
/// ABI found. Errors: PermissionDenied (no Landlock in this kernel, or it refused). Source: linux/landlock.h,
/// man 7 landlock.
[[nodiscard]] Result<int> restrict_files(const std::string& readable_directory);

}  // namespace nvmdb::ingest
